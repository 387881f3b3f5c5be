"""The team: whom to refer by what an opinion is worth, and what comes out of it."""

import numpy as np
import pytest

from abstain import Abstainer, Cost, Policy
from abstain.exceptions import ArgumentError
from abstain.team import Reviewer, combined

SETTINGS = {"calibration": "identity", "shift": "none", "random_state": 0}


def cases(n, seed, n_classes=2, right=0.85, sharp=0.7):
    """Rows of a calibrated model with answers of an independent reader."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_classes, sharp), size=n)
    codes = (rng.random((n, 1)) > proba.cumsum(axis=1)[:, :-1]).sum(axis=1)
    wrong = (codes + rng.integers(1, n_classes, size=n)) % n_classes
    return proba, codes, np.where(rng.random(n) < right, codes, wrong)


def gain_by_hand(proba, confusion):
    """Accuracy with an opinion less accuracy without."""
    joint = proba[:, :, None] * confusion
    return joint.max(axis=1).sum(axis=1) - proba.max(axis=1)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_rows_are_referred_by_what_an_opinion_gains(n_classes):
    proba, codes, _ = cases(600, 0, n_classes)
    reader = Reviewer(accuracy=0.8, classes=np.arange(n_classes))
    abstainer = Abstainer("accuracy", budget=0.2, team="combine", reviewer=reader, **SETTINGS)
    decisions = abstainer.fit(proba[:300], codes[:300]).decide(proba[300:])
    gain = gain_by_hand(proba[300:], reader.confusion_)
    expected = gain >= np.sort(gain)[-60]
    np.testing.assert_array_equal(decisions.abstain, expected)
    np.testing.assert_allclose(decisions.gain, gain, atol=1e-12)


def test_the_final_answer_is_that_of_the_posterior():
    proba, codes, answers = cases(500, 1, 3)
    reader = Reviewer(accuracy=0.7, classes=[0, 1, 2])
    abstainer = Abstainer("accuracy", budget=0.3, team="combine", reviewer=reader, **SETTINGS)
    policy = abstainer.fit(proba, codes).decide(proba).policy
    found = policy.combine(proba, answers)
    withheld = policy.apply(proba).abstain
    together = combined(proba, answers, reader).argmax(axis=1)
    np.testing.assert_array_equal(found, np.where(withheld, together, proba.argmax(axis=1)))
    assert withheld.any()
    assert (found != proba.argmax(axis=1)).any()


def test_an_answer_taken_for_the_verdict_is_the_answer():
    proba, codes, answers = cases(400, 2)
    reader = Reviewer(accuracy=0.9)
    abstainer = Abstainer("accuracy", budget=0.3, team="replace", reviewer=reader, **SETTINGS)
    policy = abstainer.fit(proba, codes).decide(proba).policy
    withheld = policy.apply(proba).abstain
    found = policy.combine(proba, answers)
    np.testing.assert_array_equal(found[withheld], answers[withheld])
    # Only where the reader is right more often than the model.
    assert proba[withheld].max() < 0.9


def test_a_reader_worse_than_the_model_is_not_asked_for_a_verdict():
    proba, codes, _ = cases(400, 3)
    proba, codes = proba[proba.max(axis=1) > 0.6], codes[proba.max(axis=1) > 0.6]
    abstainer = Abstainer(
        "accuracy", budget=0.3, team="replace", reviewer=Reviewer(accuracy=0.55), **SETTINGS
    ).fit(proba, codes)
    with pytest.warns(UserWarning, match="Nobody is referred: of no row"):
        decisions = abstainer.decide(proba)
    assert not decisions.abstain.any()
    assert decisions.estimate.before.value == decisions.estimate.after.value


def test_an_answer_that_tells_nothing_is_worth_nobodys_time():
    proba, codes, _ = cases(400, 4)
    toss = Reviewer([[0.3, 0.7], [0.3, 0.7]])
    abstainer = Abstainer("auroc", budget=0.3, team="combine", reviewer=toss, **SETTINGS)
    with pytest.warns(UserWarning, match="Nobody is referred"):
        decisions = abstainer.fit(proba[:, 1], codes).decide(proba[:, 1])
    assert not decisions.abstain.any()


@pytest.mark.parametrize(
    "metric",
    [
        "accuracy",
        "balanced-accuracy",
        "f1",
        "kappa",
        "auroc",
        "average-precision",
        "brier",
        "sensitivity@specificity=0.9",
    ],
)
def test_what_is_expected_comes_true_on_average(metric):
    proba, codes, answers = cases(4000, 5)
    reader = Reviewer(accuracy=0.85)
    abstainer = Abstainer(metric, budget=0.25, team="combine", reviewer=reader, **SETTINGS)
    decisions = abstainer.fit(proba[:2000, 1], codes[:2000]).decide(proba[2000:, 1])
    made = decisions.policy.apply(proba[2000:, 1], opinions=answers[2000:])
    final, columns = made.answers
    realised = decisions.policy.metric.observed(codes[2000:], final, prediction=columns)
    estimate = decisions.estimate
    assert 0 < decisions.abstain.mean() <= 0.25
    assert estimate.after.holds(realised)
    sign = 1 if decisions.policy.metric.greater_is_better else -1
    assert sign * estimate.after.value > sign * estimate.before.value


def test_a_policy_carries_its_team(tmp_path):
    proba, codes, answers = cases(800, 6, 3)
    abstainer = Abstainer("f1:macro", budget=0.2, team="combine", **SETTINGS)
    readers = {"ann": answers, "bob": np.where(np.arange(800) < 30, answers, -1).astype(object)}
    readers["bob"][30:] = None
    policy = abstainer.fit(proba, codes, reviewer=readers).decide(proba).policy
    policy.save(tmp_path / "team.json")
    again = Policy.load(tmp_path / "team.json")
    assert again == policy
    told = {"ann": answers, "bob": answers}
    np.testing.assert_array_equal(again.combine(proba, told), policy.combine(proba, told))
    assert [*again.team.readers] == ["ann", "bob"]
    assert (again.adapt(proba).region.score_label) == policy.region.score_label
    frame = again.apply(proba, opinions=answers).to_frame()
    assert "answer" in frame.columns
    with pytest.raises(ArgumentError, match="no reader of the name 'eve'"):
        again.combine(proba, {"eve": answers})


def test_without_an_answer_a_referred_row_stays_open():
    proba, codes, _ = cases(300, 7)
    policy = Abstainer("accuracy", budget=0.2, **SETTINGS).fit(proba, codes).decide(proba).policy
    withheld = policy.apply(proba).abstain
    found = policy.combine(proba, [None] * 300)
    assert [one is None for one in found] == withheld.tolist()
    # Whoever is asked without a team is taken to know.
    assert (policy.combine(proba, codes)[withheld] == codes[withheld]).all()


def test_a_target_and_a_cost_of_the_final_answers():
    proba, codes, _ = cases(600, 8)
    reader = Reviewer(accuracy=0.9)
    fitted = Abstainer("accuracy", target=0.86, team="combine", reviewer=reader, **SETTINGS)
    found = fitted.fit(proba, codes).decide(proba)
    assert found.estimate.after.value >= 0.86
    dear = Cost(abstain=0.1)
    asked = Abstainer("accuracy", cost=dear, team="combine", reviewer=reader, **SETTINGS)
    gain = gain_by_hand(proba, np.array([[0.9, 0.1], [0.1, 0.9]]))
    decisions = asked.fit(proba, codes).decide(proba)
    np.testing.assert_array_equal(decisions.abstain, gain > 0.1)


def test_a_perfect_reader_gains_what_is_missing():
    proba, codes, _ = cases(500, 9)
    decisions = Abstainer("accuracy", budget=0.2, team="combine", **SETTINGS)
    decisions = decisions.fit(proba, codes).decide(proba)
    plain = Abstainer("accuracy", budget=0.2, **SETTINGS).fit(proba, codes).decide(proba)
    np.testing.assert_array_equal(decisions.abstain, plain.abstain)


def test_codoc_defers_where_readers_do_better():
    proba, codes, answers = cases(3000, 10, right=0.8)
    abstainer = Abstainer("accuracy", budget=0.9, score="codoc", team="replace", **SETTINGS)
    decisions = abstainer.fit(proba, codes, reviewer=answers).decide(proba)
    sure = proba.max(axis=1)
    # The reader is right in 80% of all cases, the model where it is sure of that much.
    assert (decisions.abstain == (sure < 0.8)).mean() > 0.93
    assert np.isfinite(decisions.policy.adapt(proba).region.threshold)


@pytest.mark.parametrize(
    ("arguments", "fitted", "message"),
    [
        ({"team": "both"}, {}, '`team` must be "combine" or "replace"'),
        ({"reviewer": Reviewer()}, {}, "`reviewer` is of a team"),
        ({"score": "codoc"}, {}, "`score` is of a team"),
        ({"team": "combine", "confidence": 0.9}, {}, "`confidence` proves what kept rows do"),
        ({}, {"reviewer": [0, 1, 0, 1]}, "measures the readers of a team"),
        ({"team": "combine"}, {"reviewer": [0, 2, 0, 1]}, "`reviewer`.*2"),
        ({"team": "combine"}, {"reviewer": [None] * 4}, "has no answer on a labelled row"),
        ({"team": "combine", "reviewer": Reviewer(accuracy=0.9, classes=["a", "b"])}, {}, "'a'"),
    ],
)
def test_what_cannot_be_is_refused(arguments, fitted, message):
    with pytest.raises(ValueError, match=message):
        Abstainer("accuracy", budget=0.2, **SETTINGS, **arguments).fit(
            [0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1], **fitted
        )


def test_a_verdict_has_no_place_in_an_order():
    with pytest.raises(ArgumentError, match='"replace" takes an answer for the verdict'):
        Abstainer("auroc", budget=0.2, team="replace").fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])


def test_readers_of_hard_rows_are_told_apart():
    proba, codes, answers = cases(2000, 11)
    hard = proba.max(axis=1) < 0.8
    some = [int(a) if here else None for a, here in zip(answers, hard, strict=True)]
    abstainer = Abstainer("accuracy", budget=0.2, team="combine", **SETTINGS)
    with pytest.warns(UserWarning, match="measured on referred rows alone"):
        abstainer.fit(proba, codes, reviewer=some).decide(proba)
