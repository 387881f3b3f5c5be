"""The built-in confusion metrics: scikit-learn's values, slopes, the solvers, brute force."""

import itertools
import json
import warnings

import numpy as np
import pytest
import sklearn.metrics as skm
from hypothesis import given, settings
from hypothesis import strategies as st

from abstain.metrics import (
    F1,
    Accuracy,
    BalancedAccuracy,
    ConfusionMetric,
    ErrorRate,
    ExpectedCost,
    FBeta,
    Jaccard,
    MatthewsCorrelation,
    Precision,
    Recall,
    TopKAccuracy,
    WeightedKappa,
)
from abstain.regions import TopShare

AVERAGES = ["macro", "micro", "weighted"]
COSTS = np.array([[0.0, 1.0, 5.0], [2.0, -1.0, 1.0], [7.0, 3.0, 0.0]])


def matrix_metrics(n_classes):
    metrics = [Accuracy(), ErrorRate(), BalancedAccuracy(), MatthewsCorrelation()]
    metrics += [WeightedKappa(w) for w in ("quadratic", "linear", None)]
    averages = AVERAGES + (["binary"] if n_classes == 2 else [])
    for average in averages:
        metrics += [kind(average=average) for kind in (Precision, Recall, F1, Jaccard)]
        metrics += [FBeta(2, average=average), FBeta(0.5, average=average)]
    metrics.append(ExpectedCost(COSTS[:n_classes, :n_classes]))
    return metrics


def theirs(metric, y, prediction, weight):
    """The value scikit-learn gives."""
    kinds = {
        Accuracy: skm.accuracy_score,
        BalancedAccuracy: skm.balanced_accuracy_score,
        MatthewsCorrelation: skm.matthews_corrcoef,
        Precision: skm.precision_score,
        Recall: skm.recall_score,
        F1: skm.f1_score,
        Jaccard: skm.jaccard_score,
        FBeta: skm.fbeta_score,
        ErrorRate: skm.zero_one_loss,
        WeightedKappa: skm.cohen_kappa_score,
    }
    if isinstance(metric, ExpectedCost):
        return np.average(metric.costs[y, prediction], weights=weight)
    options = {"sample_weight": weight}
    if hasattr(metric, "average"):
        options |= {"average": metric.average, "zero_division": 0}
    if isinstance(metric, FBeta):
        options["beta"] = metric.beta
    if isinstance(metric, WeightedKappa):
        options["weights"] = None if metric.weights == "unweighted" else metric.weights
    return kinds[type(metric)](y, prediction, **options)


def ids(metric):
    return metric.name


def proba_of(seed, n=40, n_classes=3, sharpness=0.7):
    return np.random.default_rng(seed).dirichlet(np.full(n_classes, sharpness), size=n)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_observed_is_scikit_learns(n_classes, seed):
    rng = np.random.default_rng(seed)
    proba, y = proba_of(seed, 80, n_classes), rng.integers(n_classes, size=80)
    for metric, weight in itertools.product(matrix_metrics(n_classes), [None, rng.random(80)]):
        ours = metric.observed(y, proba, sample_weight=weight)
        expected = theirs(metric, y, proba.argmax(1), weight)
        assert ours == pytest.approx(expected, abs=1e-12), metric


@pytest.mark.parametrize(
    ("y", "prediction"),
    [
        ([0, 0, 1, 1], [0, 0, 0, 1]),  # class 2 neither true nor predicted
        ([0, 0, 1, 1], [0, 2, 2, 1]),  # class 2 predicted, never true
        ([0, 2, 1, 2], [0, 0, 1, 1]),  # class 2 true, never predicted
        ([1, 1, 1, 1], [0, 2, 0, 2]),  # nothing right, one class true
    ],
)
def test_absent_classes_count_as_in_scikit_learn(y, prediction):
    proba = np.eye(3)[prediction]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's remarks on undefined ratios
        for metric in matrix_metrics(3):
            ours = metric.observed(y, proba)
            assert ours == pytest.approx(theirs(metric, y, prediction, None)), metric


@pytest.mark.parametrize("k", [1, 2, 3])
def test_top_k_is_scikit_learns_with_ties_too(k):
    rng = np.random.default_rng(k)
    proba = rng.integers(0, 4, size=(60, 4)) + 1.0
    proba /= proba.sum(axis=1, keepdims=True)
    y = np.append(rng.integers(4, size=56), np.arange(4))
    weight = rng.random(60)
    ours = TopKAccuracy(k).observed(y, proba, sample_weight=weight)
    assert ours == pytest.approx(skm.top_k_accuracy_score(y, proba, k=k, sample_weight=weight))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradients_are_the_slopes_of_the_values(n_classes):
    confusion = np.random.default_rng(1).random((n_classes, n_classes)) * 20 + 1
    for metric in matrix_metrics(n_classes):
        numerical = ConfusionMetric(metric.value).gradient(confusion)
        np.testing.assert_allclose(
            metric.gradient(confusion), numerical, atol=1e-8, err_msg=metric.name
        )


@pytest.mark.parametrize("metric", matrix_metrics(3), ids=ids)
def test_gradients_stay_finite_where_classes_are_missing(metric):
    for confusion in (np.zeros((3, 3)), np.diag([4.0, 0.0, 0.0]), np.diag([4.0, 3.0, 0.0])):
        assert np.isfinite(metric.gradient(confusion)).all()


@pytest.mark.parametrize("metric", [*matrix_metrics(3), TopKAccuracy(2)], ids=ids)
def test_laws_of_every_metric(metric):
    proba = proba_of(7)
    weight = np.random.default_rng(2).integers(1, 4, size=40).astype(float)
    repeated = np.repeat(proba, weight.astype(int), axis=0)
    heavy = metric.expected(proba, sample_weight=weight)
    assert heavy == pytest.approx(metric.expected(repeated))
    draws = metric.draws(proba, n_draws=300, seed=0, sample_weight=weight)
    # Means of ratios differ from ratios of means by the curvature, a little.
    assert draws.mean() == pytest.approx(heavy, abs=5 * draws.std() / np.sqrt(300) + 0.02)
    before = proba.copy()
    choice = metric.choose(proba, 10)
    prediction = choice.rule.predict(proba)
    withheld = choice.region.contains(proba, prediction)
    np.testing.assert_array_equal(proba, before)
    assert withheld.sum() <= 10
    sign = 1 if metric.greater_is_better else -1
    after = metric.expected(proba[~withheld], prediction=prediction[~withheld])
    assert sign * after >= sign * metric.expected(proba) - 1e-12


@pytest.mark.parametrize("metric", [*matrix_metrics(3), TopKAccuracy(2)], ids=ids)
def test_degenerate_batches(metric):
    for proba in (np.full((6, 3), 1 / 3), np.eye(3), np.array([[0.2, 0.3, 0.5]])):
        for capacity in (0, 2):
            choice = metric.choose(proba, capacity)
            withheld = choice.region.contains(proba, choice.rule.predict(proba))
            assert withheld.sum() <= capacity


def best_subset(metric, proba, capacity):
    """The best expected value over all sets of at most so many withheld rows."""
    sign = 1 if metric.greater_is_better else -1
    prediction = proba.argmax(axis=1)
    worths = []
    for size in range(capacity + 1):
        for out in itertools.combinations(range(len(proba)), size):
            kept = np.delete(np.arange(len(proba)), out)
            of_kept = np.eye(proba.shape[1])[prediction[kept]]
            worths.append(sign * metric.value(proba[kept].T @ of_kept))
    return np.nanmax(worths)


def worth_of(metric, proba, choice):
    sign = 1 if metric.greater_is_better else -1
    prediction = choice.rule.predict(proba)
    kept = ~choice.region.contains(proba, prediction)
    return sign * metric.expected(proba[kept], prediction=prediction[kept])


@pytest.mark.parametrize(
    "metric",
    [Accuracy(), ErrorRate(), ExpectedCost(COSTS)],
    ids=ids,
)
def test_linear_metrics_reach_the_best_subset(metric):
    for seed in range(5):
        proba = proba_of(seed, n=10)
        choice = metric.choose(proba, 3, decision="argmax")
        assert worth_of(metric, proba, choice) == pytest.approx(best_subset(metric, proba, 3))


def test_joint_is_near_the_best_subset_and_above_marginal():
    shortfalls = {"joint": [], "marginal": []}
    for kind in (WeightedKappa, MatthewsCorrelation, BalancedAccuracy):
        for seed in range(6):
            proba = proba_of(seed, n=11, sharpness=0.5)
            best = best_subset(kind(), proba, 3)
            for solver, found in shortfalls.items():
                metric = kind(solver=solver)
                choice = metric.choose(proba, 3, decision="argmax")
                found.append(best - worth_of(metric, proba, choice))
    assert min(shortfalls["joint"]) >= -1e-12
    assert np.mean(shortfalls["joint"]) < 0.5 * np.mean(shortfalls["marginal"])
    assert np.mean(shortfalls["joint"]) < 0.02


@settings(max_examples=20)
@given(st.integers(0, 1000), st.integers(0, 30), st.sampled_from(matrix_metrics(3)))
def test_joint_is_never_worse_than_marginal_in_expectation(seed, capacity, metric):
    proba = proba_of(seed)
    joint = worth_of(metric, proba, metric.choose(proba, capacity, decision="argmax"))
    metric.solver = "marginal"
    marginal = worth_of(metric, proba, metric.choose(proba, capacity, decision="argmax"))
    metric.solver = "joint"
    assert joint >= marginal - 1e-12 or np.isnan(marginal)


@settings(max_examples=20)
@given(st.integers(0, 1000), st.integers(0, 20), st.sampled_from(matrix_metrics(3)))
def test_optimal_decision_is_never_worse_in_expectation(seed, capacity, metric):
    proba = proba_of(seed)
    argmax = worth_of(metric, proba, metric.choose(proba, capacity, decision="argmax"))
    optimal = metric.choose(proba, capacity, decision="optimal")
    assert worth_of(metric, proba, optimal) >= argmax - 1e-12
    again = [optimal.rule.predict(proba[x : x + 1])[0] for x in range(40)]
    np.testing.assert_array_equal(optimal.rule.predict(proba), again)


def test_optimal_decision_for_a_cost_is_chows_rule():
    proba = proba_of(3)
    choice = ExpectedCost(COSTS).choose(proba, 0, decision="optimal")
    np.testing.assert_array_equal(choice.rule.predict(proba), (proba @ COSTS).argmin(axis=1))


def test_optimal_decision_for_f1_is_the_best_threshold():
    p = np.random.default_rng(0).beta(0.5, 2, size=200)
    proba = np.column_stack([1 - p, p])
    choice = F1().choose(proba, 0, decision="optimal")
    found = F1().expected(proba, prediction=choice.rule.predict(proba))
    best = max(F1().expected(proba, prediction=(p >= t).astype(int)) for t in p)
    assert found == pytest.approx(best, abs=1e-6)


def test_accuracy_withholds_the_least_confident():
    proba = proba_of(9)
    choice = Accuracy().choose(proba, 10)
    withheld = choice.region.contains(proba, proba.argmax(axis=1))
    np.testing.assert_array_equal(
        np.sort(np.flatnonzero(withheld)), np.sort(np.argsort(proba.max(axis=1))[:10])
    )


def test_top_k_withholds_the_least_share_and_survives_json():
    proba = proba_of(9, n_classes=4)
    region = TopKAccuracy(2).choose(proba, 10).region
    share = np.sort(proba, axis=1)[:, -2:].sum(axis=1)
    withheld = region.contains(proba, proba.argmax(axis=1))
    assert share[withheld].max() < share[~withheld].min()
    assert withheld.sum() == 10
    assert TopShare.from_dict(json.loads(json.dumps(region.to_dict()))) == region
    nothing = TopKAccuracy(2).choose(proba, 0).region
    assert TopShare.from_dict(json.loads(json.dumps(nothing.to_dict()))) == nothing


def test_a_users_function_is_solved_as_the_built_in_is():
    proba = proba_of(10, n=300)
    own = ConfusionMetric(MatthewsCorrelation().value, name="own")
    ours = worth_of(own, proba, own.choose(proba, 60))
    assert ours == pytest.approx(
        worth_of(own, proba, MatthewsCorrelation().choose(proba, 60)), abs=1e-4
    )


def test_a_users_gradient_is_used_and_checked():
    proba = proba_of(10)
    given_slope = ConfusionMetric(Accuracy().value, gradient=Accuracy().gradient)
    np.testing.assert_array_equal(
        given_slope.choose(proba, 5).region.gains, Accuracy().choose(proba, 5).region.gains
    )
    wrong = ConfusionMetric(Accuracy().value, gradient=lambda C: C[0])
    with pytest.raises(ValueError, match=r"must return a matrix of shape \(3, 3\)"):
        wrong.choose(proba, 5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Precision(average="mean"), "`average` must be one of"),
        (lambda: FBeta(0), "`beta` must be a positive number"),
        (lambda: TopKAccuracy(0), "`k` must be a whole number"),
        (lambda: ExpectedCost([1, 2]), "`costs` must be a square matrix"),
        (lambda: ExpectedCost(COSTS).expected([0.5]), "for each of the 2 classes; got 3"),
        (lambda: F1().expected(proba_of(0)), '"f1:macro"'),
    ],
)
def test_messages(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_metric_of_nothing_callable():
    with pytest.raises(TypeError, match="`function` must be a function of the confusion matrix"):
        ConfusionMetric("f1")
