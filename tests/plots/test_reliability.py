import matplotlib
import numpy as np
import pytest

from abstain.calibration import IdentityCalibration
from abstain.plots import ReliabilityDisplay

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    matplotlib.pyplot.close("all")


def test_points_by_hand():
    # Two bins: 0.2 with one hit of four, 0.8 with three of four.
    p = np.repeat([0.2, 0.8], 4)
    y = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    display = ReliabilityDisplay.from_predictions(y, p, n_bins=2)
    np.testing.assert_allclose(display.probability, [0.2, 0.8])
    np.testing.assert_allclose(display.frequency, [0.25, 0.75])
    np.testing.assert_allclose(display.mass, [0.5, 0.5])
    assert (display.intervals[:, 0] < display.frequency).all()
    assert (display.intervals[:, 1] > display.frequency).all()
    assert display.ax_.get_xlabel() == "probability of class 1"


def test_many_classes_show_the_most_likely_one():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), size=200)
    y = np.array([rng.choice(3, p=row) for row in proba])
    figure, ax = matplotlib.pyplot.subplots()
    display = ReliabilityDisplay.from_predictions(y, proba, ax=ax, strategy="mass")
    assert display.figure_ is figure
    assert display.ax_ is ax
    assert display.ax_.get_xlabel() == "probability of the most likely class"
    np.testing.assert_allclose(display.mass.sum(), 1)


def test_from_a_calibrator():
    p, y = np.array([0.1, 0.4, 0.6, 0.9]), np.array([0, 0, 1, 1])
    identity = IdentityCalibration().fit(p, y)
    display = ReliabilityDisplay.from_estimator(identity, p, y)
    assert display.name == "IdentityCalibration"
    assert display.frequency.tolist() == [0, 0, 1, 1]
