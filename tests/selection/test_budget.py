"""Budgets as fractions and as counts."""

import numpy as np
import pytest

from abstain import Abstainer
from abstain.datasets import screening_clinic
from abstain.summaries import RowSummary, summarise


def test_fractions_and_counts():
    p = np.linspace(0, 1, 101)
    for rows in (RowSummary(np.column_stack([1 - p, p])), summarise(p), summarise(p, bins=16)):
        assert rows.capacity(0.25) == 25
        assert rows.capacity(2) == 2
        assert rows.capacity(0) == 0
        assert rows.capacity(100) == 100
        with pytest.raises(ValueError, match="101 may be withheld, and there are 101 rows"):
            rows.capacity(101)
        assert rows.capacity(7) == 7
    assert summarise(p[1:]).capacity(0.29) == 29
    weight = np.array([1.0, 2.0, 0.0, 3.0])
    for rows in (RowSummary(np.full((4, 2), 0.5), weight), summarise(p[:4], weight)):
        assert rows.capacity(0.5) == 3
        assert rows.capacity(4) == 4
        assert rows.capacity(5) == 5
        with pytest.raises(ValueError, match="6 may be withheld, and there are 6 rows"):
            rows.capacity(6)


@pytest.mark.parametrize(
    ("budget", "error", "message"),
    [
        (True, TypeError, "must be a number"),
        (-1, ValueError, "as a count must not be negative"),
        (200.0, ValueError, "for 200 examples pass 200"),
        (float("nan"), ValueError, "must be a fraction"),
    ],
)
def test_bad_budgets(budget, error, message):
    with pytest.raises(error, match=message):
        Abstainer("accuracy", budget=budget).fit([0.2, 0.7], [0, 1])


@pytest.mark.parametrize("metric", ["auroc", "sensitivity@specificity=0.9", "kappa"])
def test_a_count_is_never_exceeded(metric):
    clinic = screening_clinic(1_000, 1_000, random_state=0)
    for budget in (0, 2, 37, 999):
        decisions = (
            Abstainer(metric, budget=budget, calibration="platt", scale="logits", random_state=0)
            .fit(clinic.scores_val, clinic.y_val)
            .decide(clinic.scores_target)
        )
        assert decisions.abstain.sum() <= min(budget, 999)
        if budget == 37:
            assert decisions.abstain.sum() == budget


def simulated(n, n_classes, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    z = rng.normal(size=(n, n_classes))
    z[np.arange(n), y] += 1.5
    return z, y


FOR_TWO = [
    "auroc", "partial-auroc=0.1", "average-precision", "precision@recall=0.9",
    "recall@precision=0.9", "sensitivity@specificity=0.9", "specificity@sensitivity=0.9",
    "f1", "fbeta:2", "jaccard", "precision", "recall", "net-benefit=0.2",
]  # fmt: skip
FOR_MANY = [
    "accuracy", "error-rate", "balanced-accuracy", "mcc", "kappa", "kappa:linear",
    "kappa:quadratic", "f1:macro", "precision:macro", "recall:macro", "jaccard:macro", "top-k=2",
]  # fmt: skip


@pytest.mark.parametrize(
    ("n_classes", "metric"),
    [(2, name) for name in (*FOR_TWO, *FOR_MANY)] + [(5, name) for name in FOR_MANY],
)
def test_a_count_of_the_batch_or_more_is_refused_by_every_metric(n_classes, metric):
    if (n_classes, metric) == (2, "top-k=2"):
        pytest.skip("of two classes the two best are all")
    abstainer = Abstainer(
        metric, budget=0, calibration="temperature", shift="none", scale="logits", random_state=0
    ).fit(*simulated(200, n_classes, 0))
    batch, _ = simulated(20, n_classes, 1)
    none = abstainer.decide(batch)
    assert not none.abstain.any()
    assert none.estimate.after == none.estimate.before
    for budget in (20, 300):
        abstainer.set_params(budget=budget)
        with pytest.raises(ValueError, match=f"{budget} may be withheld, and there are 20 rows"):
            abstainer.decide(batch)
    policy = abstainer.set_params(budget=5).decide(batch).policy
    assert policy.apply(batch[:3]).abstain.sum() <= 3
    with pytest.raises(ValueError, match="5 may be withheld, and there are 5 rows"):
        policy.adapt(batch[:5])


def test_counts_where_fractions_are():
    from sklearn.linear_model import LogisticRegression

    from abstain.classifier import AbstainingClassifier, abstention_scorer
    from abstain.evaluation import Dataset, compare

    X, y = simulated(120, 2, 0)
    model = LogisticRegression().fit(X, y)
    assert abstention_scorer("accuracy", 12)(model, X, y) == abstention_scorer("accuracy", 0.1)(
        model, X, y
    )
    with pytest.raises(ValueError, match="120 may be withheld, and there are 120 rows"):
        abstention_scorer("accuracy", 120)(model, X, y)
    found = AbstainingClassifier(model, budget=12, random_state=0).fit(X, y)
    assert found.policy_.selection.budget == 12
    data = Dataset(X, y, X, y, scale="logits")
    table = compare(
        ["delta-metric"], data, "accuracy", [12, 0.1], repeats=2, calibration="temperature"
    )
    at = {cell.column[1]: cell.values for cell in table.cells}
    assert at["@12 rows"] == at["@10%"]
