"""Operations that are stated once: what they compute, and that the library does just that."""

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from scipy import special

from abstain import calibration, program, scores
from abstain.regions import (
    Box,
    GainThreshold,
    Interval,
    ProbabilityBoxes,
    ScoreThreshold,
    TopShare,
)
from abstain.rules import Argmax, BestGain, Threshold

SCALINGS = ["bcts", "identity", "nbvs", "temperature", "vector"]
RNG = np.random.default_rng(0)


def of(state, *columns):
    """What is stated of rows of numbers, computed by NumPy."""
    return program.of_rows(state, np.array(columns, dtype=float)).tolist()


def test_by_hand():
    assert of(lambda x: 2.0 * x[0] - x[1] / 4.0, [3.0, 8.0]) == [4.0]
    assert of(lambda x: abs(-x).total(), [1.0, -2.0, 3.0]) == [6.0]
    assert of(lambda x: x @ [[1.0, 2.0], [3.0, 4.0]], [10.0, 1.0]) == [[13.0, 24.0]]
    assert of(lambda x: program.where(x > 1.0, x, [7.0, 8.0]), [0.0, 2.0]) == [[7.0, 2.0]]
    assert of(lambda x: x.top(2), [1.0, 3.0, 2.0]) == [[3.0, 2.0]]
    assert of(lambda x: x[[2, 0]], [1.0, 3.0, 2.0]) == [[2.0, 1.0]]
    assert of(lambda x: program.block(x[1], x[0] + 1.0), [1.0, 3.0]) == [[3.0, 2.0]]
    assert of(lambda x: x.first_highest(), [1.0, 3.0, 3.0]) == [1]
    assert of(lambda x: x.first_highest(apart=0.5), [2.0, 3.0, 3.0]) == [0]
    assert of(lambda x: (x >= 2.0).any() & ~(x <= 2.0).all(), [1.0, 3.0], [1.0, 2.0]) == [1, 0]
    assert of(lambda x: (x < 2.0).first_true().is_any_of([1, 0]), [3.0, 1.0]) == [[True, False]]
    assert of(lambda x: x.pick((x >= 2.0).first_true()), [1.0, 4.0]) == [4.0]
    assert of(lambda x: x[0].interpolated(np.array([0.0, 2.0]), np.array([1.0, 5.0])),
              [-1.0, 0.0], [1.0, 0.0], [9.0, 0.0]) == [1.0, 3.0, 5.0]  # fmt: skip
    assert of(lambda x: program.log(x).largest(), [0.0, 1.0], [0.0, 0.0]) == [0.0, -np.inf]


def test_forms():
    logits = 30 * RNG.normal(size=(50, 4))
    assert program.of_rows(program.softmax, logits) == pytest.approx(special.softmax(logits, 1))
    assert program.of_rows(program.log_softmax, logits) == pytest.approx(
        special.log_softmax(logits, 1), abs=1e-12
    )
    proba = np.array([[0.0, 0.25, 0.75]])
    entropy = program.of_rows(lambda p: -program.weighted_log(p, p), proba)
    assert entropy == pytest.approx(special.entr(proba).sum(axis=1))
    ratios = np.array([2.0, 1.0, 0.0])
    assert program.of_rows(lambda p: program.adapted(p, ratios), proba).tolist() == [[0, 1, 0]]
    # What contradicts the proportions stays.
    certain = np.array([[0.0, 0.0, 1.0]])
    assert program.of_rows(lambda p: program.adapted(p, ratios), certain).tolist() == [[0, 0, 1]]


def test_what_does_not_go_together_is_refused():
    x, y = program.given(3), program.given(2)
    with pytest.raises(ValueError, match="blocks of as many columns"):
        x + y
    with pytest.raises(TypeError, match="`add` is of numbers; got truths"):
        x + (x > 0)
    with pytest.raises(TypeError, match="`both` is of truths; got numbers"):
        (x > 0) & x
    with pytest.raises(TypeError, match="for a block of columns; got one column"):
        x[0].total()
    with pytest.raises(ValueError, match="a matrix of as many rows"):
        x @ np.eye(2)
    with pytest.raises(TypeError, match="Only the place of a column"):
        x[0].is_any_of([1])


@drawn(st.integers(1, 40), st.integers(1, 200), st.integers(0, 2**32 - 1))
def test_a_row_comes_out_the_same_alone_as_in_any_batch(k, n, seed):
    rows = 5 * np.random.default_rng(seed).normal(size=(n, k))
    together = program.of_rows(lambda x: program.softmax(x) @ np.eye(k), rows)
    assert np.array_equal(together[:1], program.of_rows(program.softmax, rows[:1]))
    assert np.array_equal(together[-1:], program.of_rows(program.softmax, rows[-1:]))


def fitted(name, scale, k):
    y = RNG.integers(k, size=500)
    logits = 2 * np.eye(k)[y] + RNG.normal(size=(500, k))
    given = logits if scale == "logits" else special.softmax(logits, 1)
    return calibration.get(name, scale=scale).fit(given, y), given


@pytest.mark.parametrize("k", [2, 3, 12])
@pytest.mark.parametrize("scale", ["logits", "probabilities"])
@pytest.mark.parametrize("name", [*SCALINGS, "beta", "dirichlet", "isotonic", "platt"])
def test_what_a_calibrator_does_is_what_it_states(name, scale, k):
    """To the last bit, also where a loop of its own is faster than the operations."""
    if name in ("beta", "platt") and k > 2:
        pytest.skip("of two classes alone")
    calibrator, given = fitted(name, scale, k)
    smallest = float(np.finfo(np.float64).eps)
    expected = program.of_rows(lambda rows: calibrator.stated(rows, smallest), given)
    if name == "identity" and scale == "probabilities":
        expected = expected if k > 2 else given[:, 1]
    assert np.array_equal(calibrator.compact(given), expected)


@pytest.mark.parametrize("k", [2, 3, 12])
def test_what_a_rule_and_a_region_do_is_what_they_state(k):
    rows = RNG.dirichlet(np.ones(k), size=400)
    gains = RNG.normal(size=(k, k))
    rules = [Argmax(), BestGain(gains), *([Threshold(0.3), Threshold(1.5)] if k == 2 else [])]
    halves = Box.whole(0, k).halved(1, 0.2)
    regions = [
        TopShare(1, 0.4),
        TopShare(2, 0.7),
        ProbabilityBoxes(halves[:1]),
        ProbabilityBoxes(()),
        *(ScoreThreshold(one, 0.5) for one in ("entropy", "margin", "max-probability")),
        ScoreThreshold("js-divergence", 0.8, {"priors": [1 / k] * k}),
        *([Interval(0.2, 0.6), ScoreThreshold("distance-from-half", 0.2)] if k == 2 else []),
    ]
    for rule in rules:
        prediction = program.of_rows(rule.operations, rows)
        assert np.array_equal(rule.predict(rows), prediction)
        block, place = program.given(k), program.given(None, "place")
        for region in [*regions, GainThreshold(gains, 0.2)]:
            stated = region.operations(block, place)
            found = program.on_rows(stated, {block: rows, place: prediction})
            differ = region.contains(rows, prediction) != found
            # An expected gain is one sum in the library and the one that was picked here.
            assert not differ.any(), region


def test_a_score_of_operations_is_a_function_of_arrays_too():
    @scores.of_operations
    def doubt(proba, *, power):
        return (1.0 - proba.largest()) * power

    rows = np.array([[0.5, 0.5], [0.9, 0.1]])
    assert doubt(rows, power=2.0) == pytest.approx([1.0, 0.2])
    assert doubt.__name__ == "doubt"
