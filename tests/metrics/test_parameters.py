"""Metrics follow scikit-learn's parameter contract."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from abstain import AbstainingClassifier, metrics
from abstain.metrics import (
    AUROC,
    F1,
    ConfusionMetric,
    ExpectedCost,
    FBeta,
    NetBenefit,
    SampledMetric,
    SensitivityAtSpecificity,
    TopKAccuracy,
    WeightedKappa,
)


def share(y_true, y_score):
    return float(np.mean(y_true))


METRICS = [
    AUROC(bins=None),
    SensitivityAtSpecificity(0.9, smoothing=[5, 1], n_samples=3),
    NetBenefit(0.2),
    F1(average="macro"),
    FBeta(2, average="micro", solver="marginal"),
    ExpectedCost([[0, 1], [5, 0]]),
    WeightedKappa(np.eye(2)[::-1]),
    WeightedKappa(None),
    TopKAccuracy(2),
    ConfusionMetric(np.trace, name="trace", gradient=np.ones_like),
    SampledMetric(share, n_samples=3),
]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_clone_is_the_same_metric(metric):
    again = clone(metric)
    assert type(again) is type(metric)
    assert again.name == metric.name
    for key, value in metric.get_params().items():
        assert again.get_params()[key] is value or np.array_equal(again.get_params()[key], value)


def test_all_parameters_are_told():
    assert {"specificity", "method", "bins", "smoothing"} <= {
        *SensitivityAtSpecificity(0.9).get_params()
    }
    assert {*FBeta(2).get_params()} == {"beta", "average", "solver"}


def test_what_was_set_is_checked_when_it_is_used():
    metric = SensitivityAtSpecificity(0.9).set_params(specificity=1.5)
    with pytest.raises(ValueError, match=r"`specificity` must be in \[0, 1\]; got 1.5"):
        metrics.get(metric)
    with pytest.raises(ValueError, match=r"must be in \[0, 1\]"):
        metric.expected([0.2, 0.7])


def test_a_search_goes_through_the_parameters_of_the_metric():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    classifier = AbstainingClassifier(
        model, SensitivityAtSpecificity(0.9), budget=0.1, calibration="platt", random_state=0
    )
    search = GridSearchCV(classifier, {"metric__specificity": [0.8, 0.95]}, cv=2).fit(X, y)
    assert search.best_params_["metric__specificity"] in (0.8, 0.95)
    assert search.best_estimator_.metric.specificity == search.best_params_["metric__specificity"]
