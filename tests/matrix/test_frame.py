"""Every way of deciding gives a frame: one row per decision, complete."""

import numpy as np
import pytest

from .cells import CELLS, DROPOUT, OWN, Cell, batch, decided, pairwise

pandas = pytest.importorskip("pandas")


@pytest.mark.parametrize("cell", pairwise(CELLS))
def test_the_frame_says_what_was_decided(cell):
    decisions = decided(cell)
    names = batch(cell.classes).names
    frame = decisions.to_frame()
    probabilities = [f"p_{name}" for name in names]
    threshold = decisions.choice.rule.threshold
    rule = [] if threshold is None else ["threshold"]
    own = ["abstain", "reason", "prediction", *rule, "gain"]
    assert list(frame.columns) == [*own, *probabilities]
    if rule:
        assert (frame["threshold"] == threshold).all()
    assert len(frame) == len(decisions)
    assert frame["abstain"].dtype == bool
    np.testing.assert_array_equal(frame["abstain"], decisions.abstain)
    np.testing.assert_array_equal(frame["prediction"], decisions.prediction)
    np.testing.assert_array_equal(frame["gain"], decisions.gain)
    np.testing.assert_array_equal(frame[probabilities], decisions.proba)
    assert not frame.isna().any(axis=None)
    # A reason where a row is withheld, and nowhere else.
    np.testing.assert_array_equal(frame["reason"] != "", decisions.abstain)
    if cell.score == DROPOUT:
        assert "dropout" in frame["reason"][decisions.abstain].iloc[0]


@pytest.mark.parametrize("cell", pairwise(CELLS))
def test_what_is_withheld_gains_most(cell):
    decisions = decided(cell)
    gain, abstain = decisions.gain, decisions.abstain
    assert gain.shape == abstain.shape
    assert np.isfinite(gain).all()
    if cell.score == "class-thresholds":
        # Chosen on the validation data, so this batch may be estimated to lose by it.
        every, kept = (
            decisions.metric.expected(decisions.proba[rows], prediction=decisions.columns[rows])
            for rows in (slice(None), ~abstain)
        )
        bought = kept - every
        better = 1 if decisions.policy.metric.greater_is_better else -1
        assert gain.sum() == pytest.approx(better * bought)
        assert not gain[~abstain].any()
    else:
        assert gain[abstain].min() >= gain[~abstain].max()


@pytest.mark.parametrize("score", [OWN, "entropy", "random", DROPOUT])
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_the_kind_of_frame_and_its_other_columns_are_kept(kind, score):
    module = pytest.importorskip(kind)
    from abstain import Abstainer

    data = batch("four")
    columns = {"patient": np.arange(len(data.scores))}
    columns |= dict(zip(data.names.tolist(), data.scores.T, strict=True))
    abstainer = Abstainer(
        "accuracy", budget=0.15, score=None if score == OWN else score, calibration="bcts"
    )
    abstainer.set_params(random_state=0).fit(data.scores_val, data.y_val)
    draws = {"score_samples": data.draws} if score == DROPOUT else {}
    frame = abstainer.decide(module.DataFrame(columns), **draws).to_frame()
    assert isinstance(frame, module.DataFrame)
    assert list(frame.columns)[:2] == ["patient", "abstain"]
    expected = decided(Cell("four", "accuracy", score)).abstain
    np.testing.assert_array_equal(frame["abstain"], expected)
