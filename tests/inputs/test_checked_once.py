"""Labels and scores are checked once in a fit, however many fits the calibration makes of it."""

import sys
from collections import Counter

import numpy as np
import pytest

import abstain
from abstain import Abstainer, _inputs

N_ROWS = 300


def checks_of(function):
    """How often each function of the door was given all rows."""
    seen = Counter()

    def called(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_inputs.__path__[0]):
            shapes = [getattr(value, "shape", ())[:1] for value in frame.f_locals.values()]
            seen[code.co_name] += (N_ROWS,) in shapes

    function()
    sys.setprofile(called)
    try:
        function()
    finally:
        sys.setprofile(None)
    return seen


@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize("calibration", ["temperature", "auto"])
@pytest.mark.parametrize("options", [{}, {"confidence": 0.9}, {"shift": "none"}])
def test_a_fit_checks_labels_and_scores_once(n_classes, calibration, options):
    rng = np.random.default_rng(0)
    y = np.arange(N_ROWS) % n_classes
    scores = 2 * np.eye(n_classes)[y] + rng.normal(size=(N_ROWS, n_classes))
    fitted = Abstainer(
        "accuracy", budget=0.1, scale="logits", calibration=calibration, random_state=0, **options
    )
    seen = checks_of(lambda: fitted.fit(scores, y))
    assert seen["read_labelled"] == seen["label_array"] == seen["check_scores"] == 1
    assert seen["check_classes"] == seen["codes_of"] == 1


def test_two_columns_in_the_other_order_are_checked_once_too():
    rng = np.random.default_rng(0)
    y = np.arange(N_ROWS) % 2
    positive = rng.uniform(size=N_ROWS)
    both = np.column_stack([positive, 1 - positive])
    turned = Abstainer("accuracy", budget=0.1, calibration="platt", positive="yes")
    seen = checks_of(lambda: turned.fit(both, np.array(["no", "yes"])[y], classes=["yes", "no"]))
    assert seen["check_scores"] == 1
    plain = Abstainer("accuracy", budget=0.1, calibration="platt")
    plain.fit(both[:, ::-1].copy(), y)
    assert (turned.calibrator_.slope_ == plain.calibrator_.slope_).all()


def test_an_estimate_checks_labels_once():
    rng = np.random.default_rng(0)
    y = np.arange(N_ROWS) % 2
    scores, batch = rng.uniform(size=N_ROWS), rng.uniform(size=50)
    seen = checks_of(lambda: abstain.estimate(scores, y, batch, "accuracy", random_state=0))
    assert seen["label_array"] == seen["codes_of"] == 1
