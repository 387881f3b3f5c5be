"""Deciding at least cost: Chow's rule, costs per class, the worth of a metric."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from abstain import Abstainer, Cost
from abstain.datasets import screening_clinic
from abstain.metrics import AUROC, Accuracy, SensitivityAtSpecificity


def decided(choice, proba):
    prediction = choice.rule.predict(proba)
    return prediction, choice.region.contains(proba, prediction)


@st.composite
def batches(draw):
    n_classes = draw(st.integers(2, 4))
    raw = draw(
        arrays(np.float64, (draw(st.integers(1, 8)), n_classes), elements=st.floats(0.01, 1))
    )
    return raw / raw.sum(axis=1, keepdims=True)


@settings(max_examples=150)
@example(np.array([[1.0, 0.0], [0.5, 0.5]]), 1e-30)
@given(batches(), st.one_of(st.floats(1e-30, 1), st.sampled_from([0, 0.1, 0.2, 0.25, 0.5])))
def test_a_constant_cost_and_equal_errors_are_chows_rule(proba, cost):
    for given_cost in (Cost(cost), Cost(cost, errors=1 - np.eye(proba.shape[1]))):
        prediction, abstain = decided(given_cost.choose(proba), proba)
        assert (abstain == (1 - proba.max(axis=1) > cost)).all()
        assert (prediction == proba.argmax(axis=1)).all()


@pytest.mark.parametrize("strange", [3.5e-106, 5e-324, 1e31])
def test_a_cost_in_a_strange_unit_is_refused(strange):
    message = r"must be 0, or from 1e-30 to 1e\+30 in size; got .*\. Take another unit"
    for given_cost in (
        lambda: Cost(strange),
        lambda: Cost([1.0, strange]),
        lambda: Cost(1.0, errors=[[0, 1], [strange, 0]]),
        lambda: Cost(1.0, value_of_metric=strange),
    ):
        with pytest.raises(ValueError, match=message):
            given_cost()


def test_at_equal_cost_the_prediction_stands():
    proba = np.array([[0.75, 0.25], [0.5, 0.5]])
    assert decided(Cost(0.25).choose(proba), proba)[1].tolist() == [False, True]
    assert decided(Cost(0.5).choose(proba), proba)[1].tolist() == [False, False]
    exact = Cost([0.25, 0.25], errors=[[0, 1], [2, 0]])
    assert decided(exact.choose(np.array([[0.875, 0.125]])), np.array([[0.875, 0.125]]))[1] == [
        False
    ]


@settings(max_examples=100)
@given(batches(), st.integers(0, 2**32))
def test_no_other_decision_about_a_row_is_cheaper(proba, seed):
    rng = np.random.default_rng(seed)
    n_classes = proba.shape[1]
    errors = rng.uniform(0, 10, (n_classes, n_classes))
    np.fill_diagonal(errors, 0)
    abstain = rng.uniform(0, 4, n_classes)
    cost = Cost(abstain, errors)
    prediction, withheld = decided(cost.choose(proba), proba)
    of_predicting, of_abstaining = proba @ errors, proba @ abstain
    least = np.minimum(of_predicting.min(axis=1), of_abstaining)
    rows = np.arange(len(proba))
    got = np.where(withheld, of_abstaining, of_predicting[rows, prediction])
    assert got == pytest.approx(least, abs=1e-9)
    assert cost.expected(proba, prediction, withheld) == pytest.approx(least.mean(), abs=1e-9)


def test_a_cost_per_true_class_by_hand():
    # Referring a healthy person costs 40, an ill one nothing; a missed case 1000, an alarm 100.
    cost = Cost([40, 0], errors=[[0, 100], [1000, 0]])
    proba = np.array([[0.97, 0.03], [0.95, 0.05], [0.3, 0.7], [0.0, 1.0]])
    # Expected cost of the best prediction: 30, 50, 30, 0; of referring: 38.8, 38, 12, 0.
    prediction, withheld = decided(cost.choose(proba), proba)
    assert prediction.tolist() == [0, 0, 1, 1]
    assert withheld.tolist() == [False, True, True, False]
    assert cost.expected(proba, prediction, withheld) == pytest.approx((30 + 38 + 12 + 0) / 4)


@settings(max_examples=30)
@given(
    st.lists(st.integers(1, 19), min_size=3, max_size=9),
    st.sampled_from([0.1, 0.5, 1.0, 3.0]),
    st.sampled_from([0.0, 0.3, (0.1, 0.6)]),
)
def test_no_other_window_is_worth_more(grid, value, abstain):
    p = np.array(grid) / 20
    proba = np.column_stack([1 - p, p])
    cost = Cost(abstain, value_of_metric=value)
    for metric in (AUROC(), SensitivityAtSpecificity(0.6)):

        def worth(withheld, metric=metric):
            spent = cost.expected(proba, np.zeros(len(p), dtype=np.intp), withheld)
            return value * metric.expected(proba[~withheld]) - spent

        distinct = np.unique(p)
        best = -np.inf
        for i in range(len(distinct) + 1):
            for j in range(i, len(distinct) + 1):
                inside = np.isin(p, distinct[i:j])
                if not inside.all():
                    best = max(best, np.nan_to_num(worth(inside), nan=-np.inf))
        _, withheld = decided(cost.choose(proba, metric), proba)
        assert worth(withheld) == pytest.approx(best, abs=1e-9)


def test_more_atoms_than_all_windows_can_be_tried(monkeypatch):
    p = np.random.default_rng(0).uniform(size=700)
    proba = np.column_stack([1 - p, p])
    cost = Cost(0.4, value_of_metric=1.0)
    exact = decided(cost.choose(proba, AUROC()), proba)[1]
    monkeypatch.setattr("abstain.selection._window_search.EXACT_ATOMS", 100)
    monkeypatch.setattr("abstain.selection._window_search.COARSE_BOUNDARIES", 64)
    refined = decided(cost.choose(proba, AUROC()), proba)[1]
    assert AUROC().expected(proba[~refined]) - 0.4 * refined.mean() == pytest.approx(
        AUROC().expected(proba[~exact]) - 0.4 * exact.mean(), abs=1e-6
    )


def test_the_worth_of_a_confusion_metric():
    p = np.linspace(0.01, 0.99, 99)
    proba = np.column_stack([1 - p, p])
    cost = Cost(0.3, value_of_metric=1.0)
    _, withheld = decided(cost.choose(proba, Accuracy()), proba)
    worths = []
    for count in range(98):
        _, out = decided(Accuracy().choose(proba, float(count)), proba)
        worths.append(Accuracy().expected(proba[~out]) - 0.3 * out.mean())
    assert Accuracy().expected(proba[~withheld]) - 0.3 * withheld.mean() == pytest.approx(
        max(worths), abs=1e-3
    )


def test_the_flow_decides_at_least_cost():
    clinic = screening_clinic(1_000, 1_000, random_state=0)
    cost = Cost(abstain=40, errors=[[0, 300], [9000, 0]])
    decisions = (
        Abstainer("auroc", cost=cost, calibration="platt", scale="logits", random_state=0)
        .fit(clinic.scores_val, clinic.y_val)
        .decide(clinic.scores_target)
    )
    spent = np.minimum(decisions.proba @ cost.errors @ np.eye(2), 1e9).min(axis=1)
    assert (decisions.abstain == (spent > 40)).all()
    assert 0 < decisions.abstain.sum() < 1_000


def test_costs_round_trip():
    for cost in (Cost(1), Cost([1, 2], [[0, 1], [2, 0]]), Cost(0.1, value_of_metric=3)):
        again = Cost.from_dict(cost.to_dict())
        assert again.to_dict() == cost.to_dict()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"abstain": -1}, ValueError, "`abstain` must be finite and not negative"),
        ({"abstain": float("nan")}, ValueError, "`abstain` must be finite"),
        ({"abstain": "much"}, TypeError, "`abstain` must be numbers"),
        ({"abstain": [[1]]}, ValueError, "one cost, or one for each true class"),
        ({"abstain": 1, "errors": [[0, -1], [1, 0]]}, ValueError, "`errors` must not be negative"),
        ({"abstain": 1, "errors": [[0, 1]]}, ValueError, "`errors` must be a square matrix"),
        ({"abstain": [1, 2, 3], "errors": [[0, 1], [1, 0]]}, ValueError, "the same classes"),
        ({"abstain": 1, "errors": np.eye(2), "value_of_metric": 1}, ValueError, "not both"),
        ({"abstain": 1, "value_of_metric": 0}, ValueError, "must be positive"),
        ({"abstain": 1, "value_of_metric": "a"}, TypeError, "must be a number"),
    ],
)
def test_bad_costs(arguments, error, message):
    with pytest.raises(error, match=message):
        Cost(**arguments)


def test_costs_for_other_classes_are_refused():
    clinic = screening_clinic(200, 200, random_state=0)
    abstainer = Abstainer("auroc", cost=Cost(1, np.eye(3)), calibration="platt", scale="logits")
    with pytest.raises(ValueError, match="each of the 2 classes; got 3"):
        abstainer.fit(clinic.scores_val, clinic.y_val)
    with pytest.raises(TypeError, match="`cost` must be a Cost"):
        Abstainer("auroc", cost=0.2, calibration="platt", scale="logits").fit(
            clinic.scores_val, clinic.y_val
        )
    with pytest.raises(TypeError, match="pass `metric`"):
        Cost(1, value_of_metric=1).choose(np.array([[0.5, 0.5]]))
