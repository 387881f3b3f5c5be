"""Logits in an immense unit are calibrated as in any other, and masked classes stay out of it."""

import numpy as np
import pytest

from abstain import calibration


def problem():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=200)
    return rng.normal(size=(200, 3)) + np.eye(3)[y], y


def fitted(name, logits, y):
    return calibration.get(name, scale="logits").fit(logits, y).predict_proba(logits)


@pytest.mark.parametrize("name", ["temperature", "bcts", "nbvs", "vector"])
@pytest.mark.parametrize("unit", [2.0**60, 2.0**300])
def test_the_unit_of_logits_does_not_matter(name, unit):
    logits, y = problem()
    np.testing.assert_allclose(fitted(name, logits * unit, y), fitted(name, logits, y), atol=1e-9)


@pytest.mark.parametrize("name", ["temperature", "bcts", "nbvs", "vector"])
@pytest.mark.filterwarnings("ignore::abstain.exceptions.RepairWarning")
def test_a_class_that_is_masked_changes_nothing(name):
    logits, y = problem()
    masked = np.column_stack([logits, np.full(len(y), np.finfo(np.float32).min)])
    np.testing.assert_allclose(fitted(name, masked, y)[:, :3], fitted(name, logits, y), atol=1e-9)
