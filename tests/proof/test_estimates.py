"""Errors of estimates are judged against what came out, on hand-made batches."""

import numpy as np
import pytest
from benchmarks.honesty.shifts import Split
from benchmarks.proof import estimates


def batch(n=400, cbpe=(0.7, 0.6, 0.8)):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=n)
    y = (rng.uniform(size=n) < p).astype(int)
    half = n // 2
    part = Split(p[:half], y[:half], p[half:], y[half:], "probabilities", 0)
    proba = np.column_stack([1 - p, p])
    prediction = (p >= 0.5).astype(int)
    return estimates.Batch(
        part, prediction[:half], prediction[half:], proba[:half], proba[half:],
        {"accuracy": cbpe},
    )  # fmt: skip


def test_errors_are_distances_from_what_came_out():
    one = batch()
    ((metric, errors),) = estimates.judged(one)
    accuracy = np.mean(one.prediction == one.part.y)
    then = np.mean(one.prediction_val == one.part.y_val)
    assert metric == "accuracy"
    assert errors["CBPE"] == pytest.approx(abs(0.7 - accuracy))
    assert errors["validation"] == pytest.approx(abs(then - accuracy))
    assert errors["CBPE held"] == float(0.6 <= accuracy <= 0.8)
    assert errors["CBPE width"] == pytest.approx(0.2)
    assert {"ours", "ATC", "DoC", "ours held"} <= {*errors}


def test_bounds_that_are_missing_neither_hold_nor_fail():
    ((_, errors),) = estimates.judged(batch(cbpe=(np.nan, np.nan, np.nan)))
    assert np.isnan(errors["CBPE"])
    assert np.isnan(errors["CBPE held"])


def a_line(shift, gap, **more):
    return {
        "shift": shift, "metric": "accuracy", "runs": 10, "ours": 0.02, "CBPE": 0.02 + gap,
        "ATC": 0.5, "DoC": 0.5, "validation": 0.5, "peer": "CBPE", "gap": gap, "gap_error": 0.001,
        "held": 0.9, "bounds held": 0.5, **more,
    }  # fmt: skip


def test_the_verdict_says_where_ours_loses():
    found = {
        "good": [a_line("label", 0.1)],
        "bad": [a_line("label", -0.01), a_line("other", -0.01)],
    }
    text = estimates.verdict(found)
    assert "clearly smaller on bad accuracy (CBPE by 0.0100 ± 0.0010)" in text
    assert "Ours is smallest on 1 of 2 lines" in text
    assert "Our 90 % intervals held 90 % of the time" in text
    assert "drift" not in text
    best, ours, words = estimates.headline(found)
    assert best.startswith("label: CBPE 0.0650; other: CBPE 0.0100")
    assert ours == "label: 0.0200; other: 0.0200"
    assert "other: ours best on 0 of 1 lines, clearly behind on 1" in words


def test_the_verdict_says_where_every_method_is_far_off():
    far = a_line("drift", 0.1, ours=0.2, CBPE=0.3)
    text = estimates.verdict({"far": [far], "near": [a_line("drift", 0.1)]})
    assert "Every method is off by more than 0.1 on far accuracy: what a score means" in text


def test_nannyml_itself_estimates_a_batch_of_its_own():
    pytest.importorskip("nannyml.performance_estimation", reason="NannyML is not installed")
    from benchmarks.honesty.sets import Pool

    rng = np.random.default_rng(0)
    p = rng.uniform(size=2_000)
    y = (rng.uniform(size=2_000) < p).astype(int)
    val, new = (
        Pool("", p[:1_000], y[:1_000], "probabilities"),
        Pool("", p[1_000:], y[1_000:], "probabilities"),
    )
    found = estimates._cbpe_of_one(val, new, val.scores >= 0.5, new.scores >= 0.5)
    value, low, high = found["accuracy"]
    # Calibrated and not shifted: the mean of the larger probability, 0.75.
    assert value == pytest.approx(0.75, abs=0.03)
    assert low < value < high
    assert found["auroc"][0] == pytest.approx(5 / 6, abs=0.03)
