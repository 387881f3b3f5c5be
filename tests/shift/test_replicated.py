"""Proportions of many resamples at once are those of each."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from abstain import Abstainer
from abstain.shift._replicated import replicated_priors


def test_proportions_of_two_classes_are_the_likeliest():
    rng = np.random.default_rng(1)
    p, weight = rng.random((5, 300)), rng.standard_gamma(1.0, (5, 300))
    source, pseudo = np.tile([0.6, 0.4], (5, 1)), rng.standard_gamma(2.0, (5, 2))
    found = replicated_priors(p, weight, source, pseudo, np.array([0.5, 0.5]))
    for r in range(5):

        def loss(q, r=r):
            mixed = (1 - p[r]) * (1 - q) / 0.6 + p[r] * q / 0.4
            return -(weight[r] @ np.log(mixed)) - pseudo[r] @ np.log([1 - q, q])

        best = minimize_scalar(loss, bounds=(1e-6, 1 - 1e-6), method="bounded").x
        assert found[r, 1] == pytest.approx(best, abs=1e-3)


def test_two_classes_as_many():
    rng = np.random.default_rng(2)
    p, weight = rng.random((4, 200)), rng.standard_gamma(1.0, (4, 200))
    source, pseudo = np.tile([0.3, 0.7], (4, 1)), np.full((4, 2), 3.0)
    start = np.array([0.3, 0.7])
    both = np.stack([1 - p, p], axis=2)
    np.testing.assert_allclose(
        replicated_priors(p, weight, source, pseudo, start),
        replicated_priors(both, weight, source, pseudo, start),
        atol=2e-3,
    )


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_step_of_next_to_nothing_is_no_overflow():
    """One row of next to no weight, of a model that is certain and wrong, as fuzzing found it."""
    for seed in (10, 21, 22):
        rng = np.random.default_rng(seed)
        y, scores = np.r_[np.arange(5), rng.integers(5, size=53)], rng.integers(5, size=58)
        abstainer = Abstainer("accuracy", budget=0.0, calibration="temperature", random_state=0)
        with np.errstate(over="raise"):
            found = abstainer.fit(np.eye(5)[scores], y).decide(np.eye(5)[4:], np.array([0.001]))
        assert np.isfinite(found.estimate.before.value)
