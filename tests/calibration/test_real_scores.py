"""On saved scores of real classifiers, if the variable ABSTAIN_DATA says where they are."""

import os
from pathlib import Path

import numpy as np
import pytest

from abstain import calibration
from abstain.calibration import expected_calibration_error, log_loss
from abstain.shift import MaximumLikelihoodShift

DATA = os.environ.get("ABSTAIN_DATA")
pytestmark = pytest.mark.skipif(DATA is None, reason="set ABSTAIN_DATA to the folder of data")


def scores(name):
    with np.load(Path(DATA) / "predictions" / f"{name}.npz") as file:
        return tuple(file[key] for key in ("scores_val", "y_val", "scores_target", "y_target"))


@pytest.mark.parametrize("name", ["cifar10_resnet20", "pathmnist_resnet50"])
def test_over_confident_scores_become_calibrated(name):
    val, y_val, target, y_target = scores(name)
    errors, losses = {}, {}
    for kind in ("identity", "bcts"):
        proba = calibration.get(kind, scale="logits").fit(val, y_val).predict_proba(target)
        errors[kind] = expected_calibration_error(y_target, proba)
        losses[kind] = log_loss(y_target, proba)
    assert errors["bcts"] < errors["identity"]
    assert losses["bcts"] < losses["identity"]


def test_proportions_of_a_shifted_target_are_recovered():
    val, y_val, target, y_target = scores("cifar10_resnet20")
    rng = np.random.default_rng(0)
    wanted = np.arange(1.0, 11.0) / 55
    rows = rng.choice(len(target), size=3_000, p=wanted[y_target] / wanted[y_target].sum())
    calibrator = calibration.get("bcts", scale="logits").fit(val, y_val)
    fitted = MaximumLikelihoodShift().fit(
        calibrator.predict_proba(val), calibrator.predict_proba(target[rows]), y_val
    )
    truth = np.bincount(y_target[rows], minlength=10) / 3_000
    assert np.abs(fitted.priors_ - truth).max() < 0.01
    assert np.abs(fitted.source_priors_ - truth).max() > 0.05
