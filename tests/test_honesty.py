"""The measuring of honesty is itself right: splits, peers and sums, on small cases."""

import numpy as np
import pytest
from benchmarks.honesty import peers, run
from benchmarks.honesty.sets import NAMES, Pool, missing
from benchmarks.honesty.shifts import SHIFTS, split
from benchmarks.honesty.tables import Cell


def numbered(n=3_000):
    """A pool whose scores tell the row."""
    y = (np.arange(n) % 5 == 0).astype(int)
    return Pool("numbered", (np.arange(n) + 0.5) / n, y, "probabilities")


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("n", [100, 3_000])
def test_no_row_is_drawn_twice(shift, n):
    pool = numbered(n)
    for number in range(20):
        part = split(pool, shift, number)
        drawn = np.concatenate([part.scores_val, part.scores])
        assert len(np.unique(drawn)) == len(drawn)
        assert len(part.y) >= n // 20
        rows = (part.scores * n).astype(int)
        np.testing.assert_array_equal(part.y, pool.y[rows])


def test_a_split_is_the_same_every_time():
    once, again = split(numbered(), "label", 3), split(numbered(), "label", 3)
    np.testing.assert_array_equal(once.scores, again.scores)


def test_label_shift_moves_the_proportions_and_nothing_else_does():
    moved = [split(numbered(), "label", number).y.mean() for number in range(30)]
    same = [split(numbered(), "none", number).y.mean() for number in range(30)]
    assert np.std(moved) > 5 * np.std(same)


def test_the_other_shift_takes_four_uncertain_rows_for_each_certain_one():
    scores = [split(numbered(), "other", number).scores for number in range(30)]
    certainty = np.abs(np.concatenate(scores) - 0.5)
    assert np.mean(certainty < 0.25) == pytest.approx(0.8, abs=0.02)


def test_thresholded_confidence_by_hand():
    # One validation row of four is wrong, so the threshold is the second lowest confidence.
    val, batch = np.array([0.5, 0.6, 0.7, 0.8]), np.array([0.55, 0.59, 0.6, 0.9])
    assert peers.thresholded(val, batch, 0.75) == 0.5


def test_expected_value_of_the_raw_predictions():
    from abstain import metrics

    proba = np.array([[0.9, 0.1], [0.2, 0.8]])
    labels = np.array([[0.7, 0.3], [0.4, 0.6]])
    assert peers.expected(metrics.get("accuracy"), proba, labels) == pytest.approx(0.65)


def test_cbpe_is_as_nannyml_has_it():
    pytest.importorskip("nannyml", reason="NannyML is in the dependency group bench")
    from benchmarks.honesty import nanny

    source = nanny.SOURCES["california"]
    reference, analysis = source.parts()
    theirs = nanny.cbpe(source, reference.frame, analysis.frame)["accuracy"].value
    val, batch = (
        np.column_stack([1 - part.scores, part.scores]) for part in (reference, analysis)
    )
    proba = peers.cbpe_proba(val, reference.y, batch)[: source.chunk]
    prediction = analysis.frame[source.prediction].to_numpy()[: source.chunk]
    ours = proba[np.arange(source.chunk), prediction].mean()
    assert ours == pytest.approx(theirs[0], abs=1e-9)


def test_a_cell_sums_up_by_hand():
    about = {"set": "s", "shift": "none", "metric": "accuracy", "withheld": 0.0}
    checks = [
        run.Check(**about, run=0, value=0.8, low=0.7, high=0.9, realised=0.9, seconds=1.0),
        run.Check(**about, run=1, value=0.8, low=0.7, high=0.9, realised=0.5, seconds=3.0),
        run.Check(**about, run=2, value=0.8, low=0.7, high=0.9, realised=np.nan, seconds=2.0),
        run.Check(**about, run=3, realised=0.5, warned=True),
        run.Check(**about, run=4, error="ValueError: no"),
        run.Check(**about, run=5, value=0.5, low=0.5, high=0.5, realised=0.5, seconds=2.0),
    ]
    cell = Cell.of(checks)
    assert (cell.n, cell.undefined, cell.nan, cell.errors) == (4, 1, 1, 1)
    assert (cell.coverage, cell.exact, cell.open) == pytest.approx((2 / 4, 1, 1 / 3))
    assert (cell.bias, cell.mae) == pytest.approx((0.2 / 3, 0.4 / 3))
    assert (cell.seconds, cell.warned) == pytest.approx((2.0, 0.2))


def test_a_set_that_is_not_there_says_why(monkeypatch, tmp_path):
    monkeypatch.setenv("ABSTAIN_DATA", str(tmp_path))
    assert "ABSTAIN_DATA" in missing("hpc_cv")
    assert missing("clinic") is None
    assert len(set(NAMES)) == len(NAMES)
