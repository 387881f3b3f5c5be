"""Every policy decides about new rows: one, all withheld, none, or of other proportions."""

import numpy as np
import pytest

from abstain.evaluation import evaluate

from .cells import APPLICABLE, BUDGET, CELLS, COUNT, DROPOUT, batch, decided, how_much, pairwise

NEEDS_DRAWS = [cell for cell in CELLS if cell.score == DROPOUT]


def assert_defined_or_not(value):
    """A value and its interval are defined together, and can be printed."""
    ends = np.isnan(numbers(value))
    assert ends.all() or not ends.any(), value
    assert isinstance(str(value), str)
    if not ends.any():
        assert value.interval[0] <= value.value <= value.interval[1]


def numbers(value):
    return [value.value, *value.interval]


@pytest.mark.parametrize("cell", pairwise(APPLICABLE))
def test_its_own_batch_is_decided_again_bit_for_bit(cell):
    decisions = decided(cell)
    again = decisions.policy.apply(batch(cell.classes).scores)
    np.testing.assert_array_equal(again.abstain, decisions.abstain)
    np.testing.assert_array_equal(again.prediction, decisions.prediction)
    np.testing.assert_array_equal(again.proba, decisions.proba)
    np.testing.assert_array_equal(again.gain, decisions.gain)


@pytest.mark.parametrize("withheld", [True, False], ids=["withheld", "kept"])
@pytest.mark.parametrize("cell", pairwise(APPLICABLE))
def test_one_row_is_decided_as_in_the_batch(cell, withheld):
    decisions, scores = decided(cell), batch(cell.classes).scores
    row = np.flatnonzero(decisions.abstain == withheld)[0]
    one = decisions.policy.apply(scores[row : row + 1])
    assert one.abstain.tolist() == [withheld]
    assert one.prediction[0] == decisions.prediction[row]
    np.testing.assert_array_equal(one.proba[0], decisions.proba[row])
    assert len(one.to_frame()) == 1
    assert "1 rows" in repr(one)
    assert_defined_or_not(one.estimate.before)
    assert_defined_or_not(one.estimate.after)
    if withheld:
        assert np.isnan(one.estimate.after.value)
    else:
        np.testing.assert_equal(numbers(one.estimate.after), numbers(one.estimate.before))


@pytest.mark.parametrize("cell", pairwise(APPLICABLE))
def test_a_batch_of_withheld_rows_keeps_nothing(cell):
    decisions, data = decided(cell), batch(cell.classes)
    rows = decisions.abstain
    applied = decisions.policy.apply(data.scores[rows])
    assert applied.abstain.all()
    assert applied.abstention_rate == 1
    np.testing.assert_array_equal(applied.prediction, decisions.prediction[rows])
    frame = applied.to_frame()
    assert frame["abstain"].all()
    assert (frame["reason"] != "").all()
    assert_defined_or_not(applied.estimate.before)
    assert np.isnan(numbers(applied.estimate.after)).all()
    found = evaluate(applied, data.y[rows]).realised[applied.policy.metric.name]
    assert np.isnan(found.kept)
    assert found.abstention_rate == 1


@pytest.mark.parametrize("cell", pairwise(APPLICABLE))
def test_a_batch_of_kept_rows_withholds_nothing(cell):
    decisions, data = decided(cell), batch(cell.classes)
    rows = ~decisions.abstain
    applied = decisions.policy.apply(data.scores[rows])
    assert not applied.abstain.any()
    assert applied.abstention_rate == 0
    np.testing.assert_array_equal(applied.prediction, decisions.prediction[rows])
    frame = applied.to_frame()
    assert (frame["reason"] == "").all()
    assert not frame.isna().any(axis=None)
    np.testing.assert_equal(numbers(applied.estimate.after), numbers(applied.estimate.before))
    found = evaluate(applied, data.y[rows]).realised[applied.policy.metric.name]
    np.testing.assert_equal(found.kept, found.all)
    assert np.isnan(found.withheld)


@pytest.mark.parametrize("cell", pairwise(APPLICABLE))
def test_it_adapts_to_other_proportions(cell):
    policy, data = decided(cell).policy, batch(cell.classes)
    # At other proportions a target may be out of reach; part of the batch is other rows enough.
    recent = data.scores[:200] if cell.mode == "target" else data.recent
    adapted = policy.adapt(recent)
    assert adapted.priors.sum() == pytest.approx(1)
    assert np.abs(adapted.priors - policy.priors).max() > (0 if cell.mode == "target" else 0.05)
    assert adapted.assumption.fits
    applied = adapted.apply(recent)
    np.testing.assert_array_equal(applied.classes, policy.classes)
    after = applied.estimate.after
    low, high = adapted.estimate.after.interval
    if np.isfinite(low):
        assert abs(adapted.estimate.after.value - after.value) <= max(high - low, 1e-9)
    assert_defined_or_not(after)
    most = {"count": COUNT, "target": len(recent) - 1, "cost": len(recent), "value": len(recent)}
    assert applied.abstain.sum() <= most.get(cell.mode, BUDGET * len(recent))
    # Where all are predicted to be of one class, withholding may help nothing.
    if cell.mode in ("budget", "count", "optimal", "argmax") and len({*applied.prediction}) > 1:
        assert applied.abstain.any()
    if cell.mode == "target":
        sign = 1 if policy.metric.greater_is_better else -1
        kept = ~applied.abstain
        expected = policy.metric.expected(applied.proba[kept], prediction=applied.columns[kept])
        assert sign * expected >= sign * how_much(cell)["target"] - 1e-9


@pytest.mark.parametrize("cell", pairwise([cell for cell in APPLICABLE if cell.mode == "budget"]))
def test_adapting_to_its_own_batch_changes_little(cell):
    decisions, scores = decided(cell), batch(cell.classes).scores
    adapted = decisions.policy.adapt(scores)
    assert adapted.priors == pytest.approx(decisions.priors, abs=1e-4)
    again = adapted.apply(scores).abstain
    if any("so nobody is withheld" in doubt for doubt in adapted.assumption.doubts):
        # From the rows that a policy carries, a gain that is next to nothing may be none.
        low, high = decisions.estimate.after.interval
        gain = abs(decisions.estimate.after.value - decisions.estimate.before.value)
        assert not again.any()
        assert gain < (high - low) / 10
        return
    assert abs(again.mean() - decisions.abstain.mean()) < 0.02
    # By chance other rows are withheld, and other thresholds from a summary of few labels.
    if cell.score not in ("random", "class-thresholds"):
        assert np.mean(again == decisions.abstain) > 0.97


@pytest.mark.parametrize("cell", NEEDS_DRAWS, ids=str)
def test_without_draws_dropout_says_that_it_needs_them(cell):
    policy, data = decided(cell).policy, batch(cell.classes)
    for use in (policy.apply, policy.adapt):
        for scores in (data.scores, data.scores[:1], data.recent):
            with pytest.raises(ValueError, match="dropout"):
                use(scores)
    np.testing.assert_array_equal(policy.predict_proba(data.scores), decided(cell).proba)
