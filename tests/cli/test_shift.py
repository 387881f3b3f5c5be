import json
from pathlib import Path

import numpy as np
import pytest

from abstain.datasets import screening_clinic

from .tables import write_columns

BINARY = (
    "shift", "validation.csv", "target.csv", "--scores", "logit", "--scale", "logits",
    "--label", "ill", "--calibration", "platt",
)  # fmt: skip


@pytest.fixture
def clinic(abstain):
    clinic = screening_clinic(1_000, 1_000, random_state=0)
    write_columns(Path("validation.csv"), {"logit": clinic.scores_val, "ill": clinic.y_val})
    write_columns(Path("target.csv"), {"logit": clinic.scores_target})
    return clinic


def test_shift_says_what_moved_and_how_sure(abstain, clinic):
    code, out, _ = abstain(*BINARY)
    assert code == 0
    assert "1,000 validation and 1,000 batch rows, calibration platt" in out
    assert "90% interval" in out
    assert "Is there a shift? The class proportions moved" in out
    assert "Is it label shift? Label shift explains the batch" in out
    assert "What this means: probabilities should be adapted" in out


def test_json_has_the_same_facts(abstain, clinic):
    code, out, _ = abstain(*BINARY, "--json")
    found = json.loads(out)
    assert code == 0
    low, high = found["priors"]["interval"][1]
    assert low < found["priors"]["target"][1] < high
    assert low < clinic.y_target.mean() < high
    assert found["test"]["shifted"]
    assert found["check"]["fits"]


def test_it_prints_the_proportions_that_a_run_prints(abstain, clinic):
    found = json.loads(abstain(*BINARY, "--json")[1])["priors"]
    for metric in ("accuracy", "auroc"):
        out = abstain("run", *BINARY[1:], "--metric", metric, "--budget", "0.1", "--json")[1]
        same = json.loads(out)["priors"]
        assert found["target"] == pytest.approx(same["estimated"])
        assert np.allclose(found["interval"], same["interval"])


def test_scores_that_no_class_has_are_flagged(abstain, clinic):
    noisy = clinic.scores_target * 3 + np.random.default_rng(0).normal(size=1_000)
    write_columns(Path("target.csv"), {"logit": noisy})
    _, out, _ = abstain(*BINARY)
    assert "Is it label shift? Label shift does not explain the batch" in out
    assert "more than the class proportions changed" in out


def test_unknown_estimator_is_a_usage_error(abstain, clinic):
    code, _, err = abstain(*BINARY, "--shift", "bbse-hrd")
    assert code == 2
    assert "Did you mean 'bbse-hard'?" in err
