"""The same share of each group is referred, chosen in each after one look at the batch."""

import numpy as np
import pandas as pd
import pytest

from abstain import Abstainer, Cost, Policy
from abstain.datasets import screening_clinic
from abstain.exceptions import ArgumentError, AssumptionWarning, TargetUnreachable

CLINIC = screening_clinic(1_000, 1_000, random_state=0)
HOSPITAL = np.repeat(["A", "B", "C"], [600, 300, 100])


def fitted(metric="auroc", budget=0.15, **options):
    told = {"calibration": "platt", "scale": "logits", "random_state": 0, **options}
    return Abstainer(metric, budget=budget, **told).fit(CLINIC.scores_val, CLINIC.y_val)


METRICS = ["auroc", "accuracy", "sensitivity@specificity=0.9", "f1"]


@pytest.mark.parametrize("metric", METRICS)
def test_each_group_gets_its_share(metric):
    decisions = fitted(metric).decide_groups(CLINIC.scores_target, HOSPITAL)
    assert decisions.doubts == ()
    assert [int(one.abstain.sum()) for one in decisions.by.values()] == [90, 45, 15]
    by_hand = pd.Series(decisions.abstain).groupby(HOSPITAL).sum()
    assert by_hand.to_dict() == {"A": 90, "B": 45, "C": 15}
    np.testing.assert_array_equal(decisions.groups, HOSPITAL)


@pytest.mark.parametrize("metric", METRICS)
def test_one_group_is_the_batch(metric):
    abstainer = fitted(metric)
    whole = abstainer.decide(CLINIC.scores_target)
    alone = abstainer.decide_groups(CLINIC.scores_target, np.zeros(1_000, dtype=int))
    np.testing.assert_array_equal(alone.abstain, whole.abstain)
    np.testing.assert_array_equal(alone.prediction, whole.prediction)
    assert alone.policies[0] == whole.policy


def test_what_happened_is_estimated_from_all_rows():
    abstainer = fitted(shift="em")
    whole = abstainer.decide(CLINIC.scores_target)
    decisions = abstainer.decide_groups(CLINIC.scores_target, HOSPITAL)
    for one in decisions.by.values():
        np.testing.assert_array_equal(one.priors, whole.priors)
    np.testing.assert_allclose(decisions.proba, whole.proba, rtol=1e-12)


def test_rows_of_a_group_are_those_that_gain_most():
    decisions = fitted("accuracy").decide_groups(CLINIC.scores_target, HOSPITAL)
    doubtful = -np.abs(decisions.proba[:, 1] - 0.5)
    for name in "ABC":
        here = name == HOSPITAL
        kept, sent = doubtful[here & ~decisions.abstain], doubtful[here & decisions.abstain]
        assert sent.min() >= kept.max()


def test_the_order_of_rows_does_not_count():
    order = np.random.default_rng(0).permutation(1_000)
    abstainer = fitted()
    plain = abstainer.decide_groups(CLINIC.scores_target, HOSPITAL)
    mixed = abstainer.decide_groups(CLINIC.scores_target[order], HOSPITAL[order])
    np.testing.assert_array_equal(mixed.abstain, plain.abstain[order])


def test_the_rule_of_a_group_is_saved_by_itself(tmp_path):
    decisions = fitted().decide_groups(CLINIC.scores_target, HOSPITAL)
    assert [*decisions.policies] == ["A", "B", "C"]
    for name, policy in decisions.policies.items():
        policy.save(tmp_path / f"{name}.json")
        again = Policy.load(tmp_path / f"{name}.json").apply(CLINIC.scores_target)
        here = name == HOSPITAL
        np.testing.assert_array_equal(again.abstain[here], decisions.abstain[here])


def test_a_group_too_small_for_its_share_is_told():
    hospital = np.where(np.arange(1_000) < 5, "tiny", HOSPITAL)
    with pytest.warns(AssumptionWarning, match=r"group tiny \(5\)\. Join them with other groups"):
        decisions = fitted().decide_groups(CLINIC.scores_target, hospital)
    assert not decisions.by["tiny"].abstain.any()
    assert decisions.by["C"].abstention_rate == 0.15


def test_a_share_that_is_not_reached_is_told():
    scores = np.where(HOSPITAL == "C", CLINIC.scores_target[0], CLINIC.scores_target)
    with pytest.warns(AssumptionWarning, match="Of group C 0.0% are referred and not 15.0%"):
        decisions = fitted("accuracy").decide_groups(scores, HOSPITAL)
    assert "Group C: Nobody is withheld: rows that tie" in " ".join(decisions.doubts)
    assert decisions.by["B"].abstention_rate == 0.15


def test_rows_without_a_group_are_one():
    hospital = HOSPITAL.astype(object)
    hospital[900:] = None
    decisions = fitted().decide_groups(CLINIC.scores_target, hospital)
    assert [*decisions.by] == ["A", "B", "(missing)"]
    assert decisions.by["(missing)"].abstain.sum() == 15


def test_rows_without_a_score_use_the_share_of_their_group():
    scores = CLINIC.scores_target.copy()
    scores[600:620] = np.nan
    decisions = fitted().decide_groups(scores, HOSPITAL, missing="refer")
    assert decisions.abstain[600:620].all()
    assert decisions.by["B"].abstain.sum() == 45
    assert decisions.prediction[600] is None
    frame = decisions.to_frame()
    assert frame["reason"][600] == "no score"
    left = fitted().decide_groups(scores, HOSPITAL, missing="drop")
    np.testing.assert_array_equal(left.rows, np.flatnonzero(~np.isnan(scores)))
    assert len(left) == len(left.to_frame()) == 980
    assert left.by["B"].abstain.sum() == 42


def test_a_group_none_of_whose_rows_is_left():
    scores = np.where(HOSPITAL == "C", np.nan, CLINIC.scores_target)
    assert [*fitted().decide_groups(scores, HOSPITAL, missing="drop").by] == ["A", "B"]


def test_weights_count_as_repetition():
    weight = np.where(HOSPITAL == "B", 2.0, 1.0)
    decisions = fitted("accuracy").decide_groups(CLINIC.scores_target, HOSPITAL, weight)
    again = np.repeat(np.arange(1_000), weight.astype(int))
    repeated = fitted("accuracy").decide_groups(CLINIC.scores_target[again], HOSPITAL[again])
    assert decisions.by["B"].abstention_rate == pytest.approx(0.15, abs=0.01)
    assert decisions.by["A"].abstain.sum() == repeated.by["A"].abstain.sum() == 90


def test_a_frame_keeps_its_rows_and_columns():
    index = [f"case {k}" for k in range(1_000)]
    frame = pd.DataFrame({"group": HOSPITAL, "p_1": CLINIC.scores_target}, index=index)
    found = fitted().decide_groups(frame, frame["group"]).to_frame()
    assert [*found.columns[:3]] == ["group", "abstain_group", "abstain"]
    assert (found["group"] == found["abstain_group"]).all()
    assert [*found.index] == index


def test_it_says_what_it_decided():
    decisions = fitted().decide_groups(CLINIC.scores_target, HOSPITAL)
    assert repr(decisions) == (
        "<GroupDecisions: 150 of 1000 rows withheld; A 90 of 600 (15.0%), B 45 of 300 (15.0%), "
        "C 15 of 100 (15.0%)>"
    )
    many = fitted().decide_groups(CLINIC.scores_target, np.arange(1_000) // 100)
    assert repr(many).endswith("4 15 of 100 (15.0%) and 5 more>")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"budget": 40}, r"`budget` of groups must be a fraction.* got 40"),
        ({"budget": None, "cost": Cost(0.1)}, "`cost` is of all rows together"),
        ({"budget": None, "arms": {"sensitivity": 0.9}}, "`arms` is of all rows together"),
        ({"confidence": 0.9}, "`confidence` is of all rows together"),
        ({"team": "combine"}, "`team` is of all rows together"),
    ],
)
def test_what_is_no_equal_share_is_refused(options, said):
    with pytest.raises(ArgumentError, match=said):
        fitted(**options).decide_groups(CLINIC.scores_target, HOSPITAL)


def test_groups_of_other_rows_are_refused():
    with pytest.raises(ValueError, match="same number of rows"):
        fitted().decide_groups(CLINIC.scores_target, HOSPITAL[:-1])
    with pytest.raises(TypeError, match="`groups` must be text, numbers, dates"):
        fitted().decide_groups(CLINIC.scores_target, [{"a": 1}] * 1_000)
    scores = np.repeat(CLINIC.scores_target, 2)
    with pytest.raises(ValueError, match="at most 1,000 groups; got 2,000"):
        fitted().decide_groups(scores, np.arange(2_000))


def test_a_group_has_a_page_of_its_own():
    page = fitted().decide_groups(CLINIC.scores_target, HOSPITAL).by["B"].report(random_state=0)
    assert "45 of 300" in page.headline


FLOOR = {"sensitivity": 0.85, "specificity": 0.8}


def test_each_group_reaches_a_floor():
    decisions = fitted(budget=None, target=FLOOR).decide_groups(CLINIC.scores_target, HOSPITAL)
    for name, one in decisions.by.items():
        kept = ~one.abstain
        p, positive = one.proba[kept, 1], one.prediction[kept] == 1
        assert p[positive].sum() / p.sum() >= FLOOR["sensitivity"], name
        assert (1 - p)[~positive].sum() / (1 - p).sum() >= FLOOR["specificity"], name
    assert "are referred and not" not in " ".join(decisions.doubts)


def test_a_floor_is_capped_by_a_budget():
    decisions = fitted(target=FLOOR).decide_groups(CLINIC.scores_target, HOSPITAL)
    assert max(one.abstention_rate for one in decisions.by.values()) <= 0.15
    assert all(0 <= one.reached <= 1 for one in decisions.by.values())


def test_a_floor_out_of_reach_says_in_which_group():
    scores = np.where(HOSPITAL == "C", CLINIC.scores_target[0], CLINIC.scores_target)
    with pytest.raises(TargetUnreachable, match=r"^Group C: "):
        fitted(budget=None, target=FLOOR).decide_groups(scores, HOSPITAL)
