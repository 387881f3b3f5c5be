"""A policy whose metric is its maker's own is applied by the command line all the same."""

from pathlib import Path

import pytest

from abstain import Abstainer
from abstain.datasets import screening_clinic
from abstain.metrics import SampledMetric

from .tables import write_columns


def brier(y, p):
    return float(((y - p) ** 2).mean())


def test_apply(abstain):
    clinic = screening_clinic(500, 500, random_state=0)
    metric = SampledMetric(brier, greater_is_better=False, n_samples=5)
    abstainer = Abstainer(
        metric, budget=0.1, calibration="platt", shift="em", scale="logits", random_state=0
    ).fit(clinic.scores_val, clinic.y_val)
    with pytest.warns(UserWarning, match="is your own"):
        abstainer.decide(clinic.scores_target).policy.save("own.json")
    write_columns(Path("batch.csv"), {"logit": clinic.scores_target})
    code, out, err = abstain(
        "apply", "own.json", "batch.csv", "--scores", "logit", "--out", "decisions.csv"
    )
    assert code == 0, err
    assert "Withheld 50 of 500 rows" in out
    assert "Not estimated: brier is the policy maker's own metric" in out
    assert err.splitlines()[0].startswith("Warning: `gain` is NaN")
    assert len(Path("decisions.csv").read_text().splitlines()) == 501
