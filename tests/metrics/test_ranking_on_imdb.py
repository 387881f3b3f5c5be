"""The paper's IMDB rows of Table 1, by its protocol: 10 models, 3 resamplings each."""

import os
from pathlib import Path

import numpy as np
import pytest

from abstain.calibration import PlattScaling
from abstain.metrics import SensitivityAtSpecificity
from abstain.shift import MaximumLikelihoodShift, adapt_proba

DATA = os.environ.get("ABSTAIN_DATA")
pytestmark = pytest.mark.skipif(
    DATA is None, reason="set ABSTAIN_DATA to the folder with paper/imdb.npz to run this"
)

# Table 1, "Est dMetric (Ours)", adapted: share withheld -> mean and standard error.
PAPER = {0.30: (0.7067, 0.0067), 0.15: (0.5243, 0.0059)}
PAPER_BASE = 0.3571


def runs():
    """Yield adapted probabilities and labels of each of the 30 target sets."""
    with np.load(Path(DATA) / "paper" / "imdb.npz") as data:
        valid_logits, valid_labels = data["valid_logits"], data["valid_labels"].astype(int)
        test_logits, test_labels = data["test_logits"], data["test_labels"].astype(int)
    n = len(valid_labels)
    positives, negatives = np.flatnonzero(test_labels == 1), np.flatnonzero(test_labels == 0)
    for model in range(len(valid_logits)):
        for trial in range(3):
            rng = np.random.RandomState(trial * 100 + model * 10)
            valid = rng.choice(n, size=n, replace=True)
            drawn_positives = rng.choice(positives, size=n // 3, replace=True)
            drawn_negatives = rng.choice(negatives, size=n - n // 3, replace=True)
            test = np.concatenate([drawn_negatives, drawn_positives])
            platt = PlattScaling(scale="logits")
            platt.fit(valid_logits[model, valid], valid_labels[valid])
            source = platt.predict_proba(valid_logits[model, valid])
            target = platt.predict_proba(test_logits[model, test])
            shift = MaximumLikelihoodShift().fit(source, target)
            yield adapt_proba(target, shift.weights_), test_labels[test]


@pytest.mark.parametrize("method", ["deterministic", "sampled"])
def test_sensitivity_after_abstention_is_the_papers(method):
    metric = SensitivityAtSpecificity(0.99, method=method)
    after = {budget: [] for budget in PAPER}
    before = []
    for proba, y in runs():
        before.append(metric.observed(y, proba))
        for budget in PAPER:
            region = metric.choose(proba, budget * len(y)).region
            withheld = region.contains(proba, np.zeros(len(y), dtype=np.intp))
            assert withheld.sum() <= budget * len(y)
            after[budget].append(metric.observed(y[~withheld], proba[~withheld]))
    assert np.mean(before) == pytest.approx(PAPER_BASE, abs=0.0005)
    for budget, (mean, error) in PAPER.items():
        assert np.mean(after[budget]) == pytest.approx(mean, abs=error)
