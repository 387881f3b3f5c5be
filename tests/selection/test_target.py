"""The smallest abstention that reaches a target, against trying everything."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abstain import Abstainer
from abstain.datasets import screening_clinic, simulate_four_class_normal
from abstain.exceptions import TargetUnreachable
from abstain.metrics import AUROC, Accuracy, SensitivityAtSpecificity, WeightedKappa
from abstain.selection import _target
from abstain.summaries import RowSummary


def choose_for_target(metric, target, proba, *, sample_weight=None):
    rows = RowSummary(proba, sample_weight)
    return _target.choose_for_target(metric, target, rows, decision="argmax")


probabilities = st.lists(st.integers(1, 19).map(lambda k: k / 20), min_size=3, max_size=12).map(
    lambda p: np.column_stack([1 - np.array(p), p])
)


def withheld(choice, proba):
    return choice.region.contains(proba, choice.rule.predict(proba))


def brute_force_window(metric, proba, target, weight=None):
    """The least weight of a window of distinct probabilities that reaches the target."""
    p = proba[:, 1]
    weight = np.ones(len(p)) if weight is None else weight
    values = np.unique(p)
    least = None
    for i in range(len(values) + 1):
        for j in range(i, len(values) + 1):
            inside = np.isin(p, values[i:j])
            if inside.all():
                continue
            value = metric.expected(proba[~inside], sample_weight=weight[~inside])
            size = weight[inside].sum()
            if value >= target - 1e-12 and (least is None or size < least):
                least = size
    return least


@settings(max_examples=60)
@given(probabilities, st.sampled_from([0.5, 0.7, 0.8, 0.9, 0.97, 1.0]), st.booleans())
def test_no_smaller_window_reaches_the_target(proba, target, weighted):
    weight = (1.0 + np.arange(len(proba)) % 3) if weighted else None
    for metric in (AUROC(), SensitivityAtSpecificity(0.7)):
        least = brute_force_window(metric, proba, target, weight)
        if least is None:
            with pytest.raises(TargetUnreachable):
                choose_for_target(metric, target, proba, sample_weight=weight)
            continue
        mask = withheld(choose_for_target(metric, target, proba, sample_weight=weight), proba)
        kept = None if weight is None else weight[~mask]
        size = mask.sum() if weight is None else weight[mask].sum()
        assert size == pytest.approx(least)
        assert metric.expected(proba[~mask], sample_weight=kept) >= target - 1e-12


def test_a_metric_that_falls_before_it_rises():
    # Withholding one of the tied middle is worse than none, both are needed.
    proba = np.array([[0.9, 0.1], [0.6, 0.4], [0.6, 0.4], [0.4, 0.6], [0.4, 0.6], [0.1, 0.9]])
    base = AUROC().expected(proba)
    for target in np.linspace(base + 0.01, 0.899, 12):
        mask = withheld(choose_for_target(AUROC(), float(target), proba), proba)
        assert mask.sum() == brute_force_window(AUROC(), proba, target)


@settings(max_examples=25)
@given(probabilities, st.sampled_from([0.2, 0.4, 0.6, 0.8]))
def test_no_smaller_choice_of_a_confusion_metric_reaches_the_target(proba, target):
    metric = WeightedKappa("quadratic")
    sizes = []
    for count in range(len(proba)):
        mask = withheld(metric.choose(proba, float(count), decision="argmax"), proba)
        if not mask.all() and metric.expected(proba[~mask]) >= target - 1e-12:
            sizes.append(mask.sum())
    if not sizes:
        with pytest.raises(TargetUnreachable):
            choose_for_target(metric, target, proba)
    else:
        assert withheld(choose_for_target(metric, target, proba), proba).sum() == min(sizes)


def test_many_rows_are_refined_to_the_last_one():
    metric = WeightedKappa("quadratic")
    proba = simulate_four_class_normal(2_000, random_state=0).proba
    target = metric.expected(proba) + 0.05
    count = int(withheld(choose_for_target(metric, target, proba), proba).sum())

    def value(k):
        choice = metric.choose(proba, float(k), decision="argmax")
        return metric.expected(proba[~withheld(choice, proba)])

    assert value(count) >= target > value(count - 1)


def test_more_atoms_than_all_windows_can_be_tried(monkeypatch):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=1_500)
    proba = np.column_stack([1 - p, p])
    for metric, target in ((AUROC(), 0.9), (SensitivityAtSpecificity(0.9), 0.8)):
        exact = withheld(choose_for_target(metric, target, proba), proba).sum()
        with monkeypatch.context() as patch:
            patch.setattr("abstain.selection._window_search.EXACT_ATOMS", 100)
            patch.setattr("abstain.selection._window_search.COARSE_BOUNDARIES", 64)
            mask = withheld(choose_for_target(metric, target, proba), proba)
        assert mask.sum() == exact
        assert metric.expected(proba[~mask]) >= target


def test_sensitivity_and_specificity_together():
    clinic = screening_clinic(2_000, 2_000, random_state=0)
    decisions = (
        Abstainer(
            "auroc",
            target={"sensitivity": 0.95, "specificity": 0.90},
            calibration="platt",
            scale="logits",
            random_state=0,
        )
        .fit(clinic.scores_val, clinic.y_val)
        .decide(clinic.scores_target)
    )
    p, mask = decisions.proba[:, 1], decisions.abstain
    positive = decisions.prediction == 1
    sensitivity = p[~mask & positive].sum() / p[~mask].sum()
    specificity = (1 - p)[~mask & ~positive].sum() / (1 - p)[~mask].sum()
    assert sensitivity >= 0.95 - 1e-9
    assert specificity >= 0.90 - 1e-9
    # What is expected to reach it is not enough to be sure, so more are withheld.
    metric = SensitivityAtSpecificity(0.90)
    assert metric.window_values(decisions.proba, mask.sum()).max() >= 0.95
    assert 0 < decisions.reached <= 1


def test_targets_for_several_metrics():
    proba = np.column_stack([1 - (p := np.linspace(0.02, 0.98, 60)), p])
    targets = {"auroc": 0.9, "kappa": 0.75}
    mask = withheld(choose_for_target(AUROC(), targets, proba), proba)
    assert AUROC().expected(proba[~mask]) >= 0.9
    assert WeightedKappa(None).expected(proba[~mask]) >= 0.75
    alone = withheld(choose_for_target(AUROC(), {"auroc": 0.9}, proba), proba)
    assert alone.sum() <= mask.sum()


def test_a_target_by_a_score_of_uncertainty():
    clinic = screening_clinic(500, 400, random_state=0)
    decisions = (
        Abstainer(
            "auroc",
            target=0.96,
            score="max-probability",
            calibration="platt",
            scale="logits",
            random_state=0,
        )
        .fit(clinic.scores_val, clinic.y_val)
        .decide(clinic.scores_target)
    )
    assert decisions.policy.region.kind == "score-threshold"
    assert AUROC().expected(decisions.proba[~decisions.abstain]) >= 0.96
    assert decisions.reached > 0.5


def test_what_is_reached_already_needs_nobody():
    proba = np.column_stack([1 - (p := np.linspace(0.02, 0.98, 60)), p])
    assert not withheld(choose_for_target(AUROC(), 0.5, proba), proba).any()
    assert not withheld(choose_for_target(WeightedKappa(), -1.0, proba), proba).any()


def test_an_unreachable_target_says_the_best():
    proba = np.array([[0.6, 0.4], [0.5, 0.5], [0.4, 0.6]])
    with pytest.raises(TargetUnreachable, match=r"auroc to 0.99: the best is 0.6\d*, with 33.3%"):
        choose_for_target(AUROC(), 0.99, proba)
    with pytest.raises(TargetUnreachable, match=r"No abstention reaches kappa:quadratic 0.9"):
        choose_for_target(WeightedKappa(), 0.9, proba)


def test_a_target_just_out_of_reach_is_shown_apart_from_the_best():
    proba = np.array([[0.6, 0.4], [0.5, 0.5], [0.4, 0.6]])
    with pytest.raises(TargetUnreachable) as first:
        choose_for_target(AUROC(), 1.0, proba)
    best = float(re.search(r"the best is ([\d.]+)", str(first.value)).group(1))
    for goal in (round(best + 1e-4, 4), round(best + 1e-7, 7)):
        with pytest.raises(TargetUnreachable) as found:
            choose_for_target(AUROC(), goal, proba)
        said = re.search(
            r"to ([\d.]+): the best is ([\d.]+), .* Ask for ([\d.]+) \(([\d.]+) less\)",
            str(found.value),
        )
        asked, shown, instead, less = map(float, said.groups())
        assert asked == goal
        assert shown < goal
        assert instead + less == pytest.approx(goal, abs=1e-12)
        choose_for_target(AUROC(), instead, proba)
    rows = np.column_stack([p := np.linspace(0.3, 0.6, 50), 1 - p])
    with pytest.raises(TargetUnreachable, match=r"Ask for specificity 0\.\d+ \(0\.\d+ less\)"):
        choose_for_target(Accuracy(), {"specificity": 0.999, "accuracy": 0.1}, rows)


def test_an_absent_class_is_said():
    proba = np.array([[1.0, 0.0], [1.0, 0.0]])
    with pytest.raises(TargetUnreachable, match="not defined on these rows"):
        choose_for_target(AUROC(), 0.9, proba)


@pytest.mark.parametrize(
    ("target", "error", "message"),
    [
        (1.5, ValueError, r"`target` for 'auroc' must be in \[0, 1\]"),
        (float("nan"), ValueError, "its range; got nan"),
        (True, TypeError, "must be a number"),
        ({"sensitivity": 1.2}, ValueError, "'sensitivity' must be in"),
        ({"aurok": 0.5}, ValueError, "Did you mean 'auroc'"),
        ({}, ValueError, "names nothing"),
    ],
)
def test_bad_targets(target, error, message):
    with pytest.raises(error, match=message):
        choose_for_target(AUROC(), target, np.array([[0.5, 0.5]]))
