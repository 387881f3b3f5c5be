"""Confusion metrics of many classes: the same figures, some draws at a time."""

import tracemalloc

import numpy as np
import pytest

from abstain import Abstainer
from abstain.metrics import _confusion_draws

pytestmark = pytest.mark.filterwarnings("ignore::abstain.exceptions.AssumptionWarning")


def simulated(n, k, seed):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return rng.normal(size=(n, k)) + 5 * np.eye(k)[y], y


def figures(metric, k=40, n=400, shift="none"):
    z, y = simulated(n, k, 0)
    who = Abstainer(metric, budget=0.1, calibration="bcts", shift=shift, scale="logits")
    found = who.set_params(random_state=0).fit(z, y).decide(simulated(n, k, 1)[0]).estimate
    return [*found.before.interval, *found.after.interval]


@pytest.mark.parametrize("metric", ["accuracy", "kappa:quadratic"])
def test_parts_of_the_draws_are_all_of_them(monkeypatch, metric):
    in_parts = figures(metric)
    monkeypatch.setattr(_confusion_draws, "_SOME_ENTRIES", 2**30)
    np.testing.assert_array_equal(figures(metric), in_parts)
    # As few classes are done: class by class, all draws at once.
    monkeypatch.setattr(_confusion_draws, "MOST_CLASSES", 1000)
    np.testing.assert_allclose(figures(metric), in_parts, rtol=1e-12)


def test_room_does_not_grow_with_draws_times_classes_squared(monkeypatch):
    peaks = []
    for entries in (2**18, 2**40):
        monkeypatch.setattr(_confusion_draws, "_SOME_ENTRIES", entries)
        tracemalloc.start()
        figures("accuracy", k=60, n=120)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] < peaks[1] / 2
