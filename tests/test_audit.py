"""An audit of kept rows: who is drawn, what is stored of it, labels that know their odds."""

import hashlib
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abstain import Abstainer
from abstain.audit import Audit, SelectedLabels
from abstain.datasets import screening_clinic
from abstain.exceptions import AssumptionWarning

KEY = bytes(range(32))


@pytest.fixture(scope="module")
def clinic():
    return screening_clinic(1_000, 3_000, random_state=0)


@pytest.fixture(scope="module")
def abstainer(clinic):
    settings = {"calibration": "platt", "scale": "logits", "random_state": 0}
    return Abstainer("accuracy", budget=0.15, **settings).fit(clinic.scores_val, clinic.y_val)


def test_a_row_is_drawn_by_the_hash_of_its_id():
    # 2 ** 64 times the share is the number below which the keyed hash must be.
    key = hashlib.sha256(KEY).digest()
    made = hashlib.blake2b(b"anna", digest_size=8, key=key, person=b"abstain-audit").digest()
    share = (int.from_bytes(made, "big") + 1) / 2**64
    assert Audit(min(share + 1e-6, 1.0), ["anna"], KEY).drawn(1).all()
    assert not Audit(share - 1e-6, ["anna"], KEY).drawn(1).any()


@settings(max_examples=30, deadline=None)
@given(st.permutations(range(40)), st.floats(0.05, 0.5), st.floats(0.5, 1.0))
def test_who_is_drawn_hangs_on_neither_order_nor_company_and_grows_with_the_share(
    order, few, more
):
    ids = np.array([f"row {k}" for k in range(40)])
    drawn = Audit(few, ids, KEY).drawn(40)
    assert (Audit(few, ids[list(order)], KEY).drawn(40) == drawn[list(order)]).all()
    assert (Audit(few, ids[:7], KEY).drawn(7) == drawn[:7]).all()
    assert not (drawn & ~Audit(more, ids, KEY).drawn(40)).any()


def test_the_share_is_met_and_another_key_draws_others():
    first, second = (Audit(0.1, range(20_000), key).drawn(20_000) for key in (KEY, bytes(16)))
    for drawn in (first, second):
        assert abs(drawn.sum() - 2_000) < 4 * np.sqrt(20_000 * 0.1 * 0.9)
    assert abs((first & second).sum() - 200) < 4 * np.sqrt(200)
    assert Audit(1.0).drawn(50).all()
    assert "key" not in repr(Audit(0.1, key=KEY))


@pytest.mark.parametrize(
    ("audit", "said"),
    [
        (lambda: Audit(0.0), "`audit` must be above 0: with a share of 0 no kept row ever gets"),
        (lambda: Audit(1.5), r"`audit` must be in \[0, 1\]"),
        (lambda: Audit(0.1, key=b"short"), "`key` must have 16 bytes or more; got 5"),
        (lambda: Audit(0.1, ["a", None]).drawn(2), "`ids` must name every row.*first is row 1"),
        (lambda: Audit(0.1, ["a"]).drawn(2), "`ids` 1"),
    ],
)
def test_what_cannot_be_drawn_says_what_to_do(audit, said):
    with pytest.raises(ValueError, match=said):
        audit()


def test_decisions_store_who_is_drawn_and_how_probably(clinic, abstainer):
    ids = [f"patient {k}" for k in range(3_000)]
    plain = abstainer.decide(clinic.scores_target)
    decided = abstainer.decide(clinic.scores_target, audit=Audit(0.02, ids, KEY))
    assert (decided.abstain == plain.abstain).all()
    assert decided.policy == plain.policy
    drawn = Audit(0.02, ids, KEY).drawn(3_000)
    assert (decided.audit == (drawn & ~decided.abstain)).all()
    assert (decided.label_probability == np.where(decided.abstain, 1.0, 0.02)).all()
    assert plain.audit is None
    assert plain.label_probability is None
    frame = decided.to_frame()
    assert [*frame.columns[-2:]] == ["audit", "label_probability"]
    assert not {*plain.to_frame().columns} & {"audit", "label_probability"}
    applied = decided.policy.apply(clinic.scores_target, audit=Audit(0.02, ids, KEY))
    assert (applied.audit == decided.audit).all()
    assert decided.to_dicts()[0]["label_probability"] in (0.02, 1.0)


def test_rows_set_aside_are_not_drawn(clinic, abstainer):
    scores = clinic.scores_target[:500].copy()
    scores[:20] = np.nan
    known = np.full(500, None, dtype=object)
    known[20:60] = clinic.y_target[20:60]
    decided = abstainer.decide(scores, y_target=known, missing="refer", audit=Audit(1.0))
    assert not decided.audit[:60].any()
    assert (decided.label_probability == 1).all()
    dropped = abstainer.decide(scores, missing="drop", audit=Audit(0.3, range(500), KEY))
    drawn = Audit(0.3, range(500), KEY).drawn(500)[dropped.rows]
    assert (dropped.audit == (drawn & ~dropped.abstain)).all()
    few = decided.policy.apply(clinic.scores_target[:500], at_most=3, audit=0.5)
    assert (few.label_probability < 1).sum() == 497


def test_selected_labels_do_not_move_the_proportions(clinic, abstainer):
    """Labels as they came drag the class proportions along; with their odds they do not."""
    decided = abstainer.decide(clinic.scores_target, audit=0.05)
    came = np.array(clinic.y_target, dtype=object)
    came[~(decided.abstain | decided.audit)] = None
    truth = clinic.y_target.mean()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        naive = abstainer.decide(clinic.scores_target, y_target=came)
    selected = SelectedLabels(came, decided.label_probability)
    ours = abstainer.decide(clinic.scores_target, y_target=selected)
    assert abs(naive.priors[1] - truth) > max(0.09, 3 * abs(ours.priors[1] - truth))
    assert abs(ours.priors[1] - truth) < 0.02
    assert not any("picked" in doubt for doubt in ours.assumption.doubts)
    assert any("picked" in doubt for doubt in naive.assumption.doubts)
    rest = ~np.asarray(decided.abstain | decided.audit) & ~ours.abstain
    realised = (ours.prediction == clinic.y_target)[rest].mean()
    assert ours.estimate.after.holds(realised)


def test_labels_of_rows_picked_at_random_may_come_with_their_odds(clinic, abstainer):
    """A constant probability is what labels without one are taken for, nearly."""
    came = np.full(3_000, None, dtype=object)
    some = np.random.default_rng(0).choice(3_000, 300, replace=False)
    came[some] = clinic.y_target[some]
    plain = abstainer.decide(clinic.scores_target, y_target=came)
    ours = abstainer.decide(
        clinic.scores_target, y_target=SelectedLabels(came, np.full(3_000, 0.1))
    )
    assert ours.priors == pytest.approx(plain.priors, abs=0.02)
    assert ours.estimate.after.value == pytest.approx(plain.estimate.after.value, abs=0.01)


def test_labels_of_referred_rows_alone_are_doubted(clinic, abstainer):
    decided = abstainer.decide(clinic.scores_target, audit=0.05)
    came = np.array(clinic.y_target, dtype=object)
    came[~decided.abstain] = None
    with pytest.warns(AssumptionWarning, match="Every row with a label was referred"):
        abstainer.decide(
            clinic.scores_target, y_target=SelectedLabels(came, decided.label_probability)
        )


@pytest.mark.parametrize(
    ("probability", "said"),
    [
        (
            [0.0, 1.0, 1.0, 1.0],
            "`probability` must be above 0.*first is row 0.*can never be spoken",
        ),
        ([1.0, 1.0], "`probability` must have one entry per row; 4 rows"),
        ([np.nan, 1.0, 1.0, 1.0], "of every row that has a label.*first is row 0"),
    ],
)
def test_odds_that_cannot_be_are_refused(abstainer, probability, said):
    with pytest.raises(ValueError, match=said):
        abstainer.decide(
            [0.1, 0.2, 0.3, 2.0], y_target=SelectedLabels([1, None, 0, None], probability)
        )


def test_a_frame_keeps_its_columns_beside_those_of_an_audit(clinic, abstainer):
    frame = pd.DataFrame({"p_1": clinic.scores_target[:50], "audit": "mine"})
    found = abstainer.decide(frame, audit=0.5).to_frame()
    assert (found["audit"] == "mine").all()
    assert found["abstain_audit"].dtype == bool
