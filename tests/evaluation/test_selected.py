"""Labels that came back selectively: by hand, by law, against all labels, and over many runs."""

import json
import warnings

import numpy as np
import pytest
from benchmarks import selective

from abstain import Abstainer
from abstain.audit import Audit
from abstain.datasets import screening_clinic
from abstain.evaluation import evaluate
from abstain.exceptions import AssumptionWarning

METRICS = ("auroc", "f1", "sensitivity@specificity=0.9", "brier")


@pytest.fixture(scope="module")
def clinic():
    return screening_clinic(1_000, 3_000, random_state=0)


@pytest.fixture(scope="module")
def abstainer(clinic):
    settings = {"calibration": "platt", "scale": "logits", "random_state": 0}
    return Abstainer("accuracy", budget=0.15, **settings).fit(clinic.scores_val, clinic.y_val)


def came_back(decisions, y):
    came = np.array(y, dtype=object)
    came[~(decisions.abstain | decisions.audit)] = None
    return came


def test_inverse_probability_by_hand(clinic, abstainer):
    decided = abstainer.decide(clinic.scores_target, audit=Audit(0.1, key=bytes(16)))
    found = evaluate(decided, came_back(decided, clinic.y_target), selected=True)
    right = decided.prediction == clinic.y_target
    kept, out = right[decided.audit], right[decided.abstain]
    assert found.realised["accuracy"].kept == pytest.approx(kept.mean())
    assert found.realised["accuracy"].withheld == pytest.approx(out.mean())
    whole = (10 * kept.sum() + out.sum()) / (10 * len(kept) + len(out))
    assert found.realised["accuracy"].all == pytest.approx(whole)
    assert found.realised["accuracy"].abstention_rate == decided.abstention_rate
    own = found.selected["accuracy"]
    assert own["all"].inverse_probability.value == pytest.approx(whole)
    team = (10 * kept.sum() + len(out)) / (10 * len(kept) + len(out))
    assert own["team"].inverse_probability.value == pytest.approx(team)


def test_doubly_robust_by_hand(clinic, abstainer):
    """What is expected of all kept rows, and the mean residual of the labelled ones."""
    decided = abstainer.decide(clinic.scores_target, audit=Audit(0.1, key=bytes(16)))
    found = evaluate(decided, came_back(decided, clinic.y_target), selected=True)
    kept, drawn = ~decided.abstain, decided.audit
    believed = decided.proba.max(axis=1)
    residual = ((decided.prediction == clinic.y_target) - believed)[drawn].mean()
    own = found.selected["accuracy"]["kept"]
    assert own.expected == pytest.approx(believed[kept].mean())
    assert own.doubly_robust.value == pytest.approx(believed[kept].mean() + residual)


def test_with_every_label_both_are_what_was_realised(clinic, abstainer):
    y = clinic.y_target[:600]
    decided = abstainer.decide(clinic.scores_target[:600], audit=1.0)
    whole = evaluate(decided, y, metrics=METRICS)
    found = evaluate(decided, y, metrics=METRICS, selected=True)
    for name in ("accuracy", *METRICS):
        one, other = found.realised[name], whole.realised[name]
        assert (one.all, one.kept, one.withheld) == pytest.approx(
            (other.all, other.kept, other.withheld)
        )
        for part in ("all", "kept"):
            robust = found.selected[name][part].doubly_robust
            assert robust.value == pytest.approx(getattr(other, part), abs=5e-3)
            assert robust.interval[0] <= getattr(other, part) <= robust.interval[1]
    assert found.at_threshold["missed"].kept == pytest.approx(whole.at_threshold["missed"].kept)


def test_probabilities_may_be_given(clinic, abstainer):
    decided = abstainer.decide(clinic.scores_target, audit=0.1)
    came = came_back(decided, clinic.y_target)
    one = evaluate(decided, came, selected=True)
    other = evaluate(decided, came, selected=decided.label_probability)
    assert one.realised["accuracy"].kept == other.realised["accuracy"].kept
    weighted = evaluate(decided, came, selected=decided.label_probability / 2)
    assert weighted.realised["accuracy"].all == pytest.approx(one.realised["accuracy"].all)


def test_what_nobody_drew_is_left_out_and_what_is_missing_is_said(clinic, abstainer):
    decided = abstainer.decide(clinic.scores_target, audit=0.1)
    came = came_back(decided, clinic.y_target)
    own = evaluate(decided, came, selected=True).realised["accuracy"].kept
    more = came.copy()
    unasked = np.flatnonzero(~decided.abstain & ~decided.audit)[:50]
    more[unasked] = clinic.y_target[unasked]
    with pytest.warns(AssumptionWarning, match="50 kept rows that nobody drew have one, left out"):
        found = evaluate(decided, more, selected=True)
    assert found.realised["accuracy"].kept == own
    lost = came.copy()
    lost[np.flatnonzero(decided.audit)[:3]] = None
    due = int(decided.audit.sum())
    with pytest.warns(AssumptionWarning, match=f"3 of {due} audited rows have no label"):
        found = evaluate(decided, lost, selected=True)
    # Those that came stand for those that did not.
    stands = 10 * due / (due - 3)
    total = found.at_threshold["missed"].all / found.realised["accuracy"].n
    assert 0 <= total < 1
    assert stands > 10
    lost[np.flatnonzero(decided.abstain)[0]] = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert "team" not in evaluate(decided, lost, selected=True).selected["accuracy"]


def test_without_a_label_of_a_kept_row_nothing_can_be_said(clinic, abstainer):
    decided = abstainer.decide(clinic.scores_target, audit=0.1)
    came = came_back(decided, clinic.y_target)
    came[~decided.abstain] = None
    with pytest.raises(ValueError, match=r"`y_true` has no label of a kept row.*audit=0\.02"):
        evaluate(decided, came, selected=True)
    with pytest.raises(ValueError, match="`y_true` has no label at all"):
        evaluate(decided, [None] * 3_000, selected=True)
    plain = abstainer.decide(clinic.scores_target)
    with pytest.raises(ValueError, match="`selected` is True, and these decisions audit no kept"):
        evaluate(plain, came, selected=True)
    with pytest.raises(ValueError, match="`selected` must say of every row that has a label"):
        evaluate(plain, clinic.y_target, selected=np.full(3_000, np.nan))
    with pytest.raises(ValueError, match="can never be spoken for"):
        evaluate(plain, clinic.y_target, selected=np.zeros(3_000))


def test_a_promise_is_called_broken_where_it_is(clinic, abstainer):
    """Labels turned round among the kept are found out, and right ones are not."""
    decided = abstainer.decide(clinic.scores_target, audit=0.1)
    found = evaluate(decided, came_back(decided, clinic.y_target), selected=True)
    assert not any(one.broken for one in found.promises.values())
    found = evaluate(decided, came_back(decided, 1 - clinic.y_target), selected=True)
    broken = {name for name, one in found.promises.items() if one.broken}
    assert broken >= {"sensitivity", "npv"}
    assert "BROKEN" in found.to_text()


def test_the_selective_figures_are_told(clinic, abstainer):
    decided = abstainer.decide(clinic.scores_target, audit=0.1)
    ward = np.arange(3_000) % 2
    found = evaluate(decided, came_back(decided, clinic.y_target), selected=True, groups=ward)
    facts = json.loads(json.dumps(found.to_dict()))
    assert {*facts["selected"]["accuracy"]} == {"all", "kept", "team"}
    assert facts["promises"]["npv"]["broken"] is False
    assert "doubly robust" in found.to_text()
    assert "selectively" in found._repr_html_()
    assert found.groups[0]["accuracy"].n == 1_500
    assert len(found.to_frame()) == 3


@pytest.mark.slow
def test_bias_and_coverage_over_many_runs():
    """Right where the model is and where it is not; the labels as they came are far off."""
    policy, _ = selective.rule()
    for ill, lower in selective.SETTINGS.values():
        scores, y = selective.cases(1_000_000, ill, lower, np.random.default_rng(1))
        truth = (policy.rows(scores).prediction == y).mean()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            runs = [selective.run(policy, ill, lower, seed)["parts"] for seed in range(200)]
        naive, _, weighted, robust = np.array(runs).transpose(1, 2, 0)
        assert abs(naive[0].mean() - truth) > 0.1
        for value, low, high in (weighted, robust):
            noise = value.std() / np.sqrt(len(value))
            assert abs(value.mean() - truth) < 4 * noise
            held = ((low <= truth) & (truth <= high)).mean()
            assert held > 0.9 - 4 * np.sqrt(0.09 / len(value))
