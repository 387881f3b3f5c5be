"""The meta-estimator: scikit-learn's own checks, and what it adds to them."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from abstain import AbstainingClassifier
from abstain.classifier import abstention_scorer
from abstain.metrics import SensitivityAtSpecificity


@parametrize_with_checks(
    [AbstainingClassifier(LogisticRegression(), "accuracy", calibration="temperature")]
)
@pytest.mark.filterwarnings("ignore")  # the checks feed it data that deserve warnings
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def shifted():
    """Two thirds ill in the target, one third in training; the classes look the same."""
    X, y = make_classification(
        9_000, n_informative=4, class_sep=0.7, weights=[2 / 3], flip_y=0, random_state=0
    )
    train, held = slice(0, 5_000), np.arange(5_000, 9_000)
    rng = np.random.default_rng(0)
    ill, well = held[y[held] == 1], held[y[held] == 0]
    target = np.concatenate([ill, rng.choice(well, len(ill) // 2, replace=False)])
    return X[train], y[train], X[target], y[target]


def test_adapting_finds_the_shift_and_keeps_the_new_rule(shifted):
    X, y, X_target, y_target = shifted
    classifier = AbstainingClassifier(
        LogisticRegression(), "sensitivity@specificity=0.9", budget=0.2, calibration="platt",
        random_state=0,
    ).fit(X, y)  # fmt: skip
    before = classifier.predict_proba(X_target)
    decisions = classifier.adapt(X_target)
    assert decisions.priors[1] == pytest.approx(y_target.mean(), abs=0.05)
    assert (classifier.predict_proba(X_target) == decisions.proba).all()
    assert not np.allclose(before, decisions.proba)
    assert (classifier.abstains(X_target) == decisions.abstain).all()
    assert (classifier.predict(X_target) == decisions.prediction).all()
    metric, kept = SensitivityAtSpecificity(0.9), ~decisions.abstain
    assert metric.observed(y_target[kept], decisions.proba[kept]) > metric.observed(
        y_target, decisions.proba
    )


def test_a_fitted_model_is_only_calibrated():
    X, y = make_classification(600, random_state=0)
    model = LogisticRegression().fit(X[:300], y[:300])
    coefficients = model.coef_.copy()
    classifier = AbstainingClassifier(
        FrozenEstimator(model), "auroc", calibration="platt", random_state=0
    ).fit(X[300:], y[300:])
    assert (model.coef_ == coefficients).all()
    assert classifier.abstains(X[300:]).sum() == 30


def test_decision_functions_are_logits():
    X, y = make_classification(400, random_state=0)
    classifier = AbstainingClassifier(LinearSVC(), "auroc", calibration="platt").fit(X, y)
    assert classifier.abstainer_.scale == "logits"
    assert classifier.predict_proba(X).shape == (400, 2)


def test_it_lives_in_pipelines_and_searches():
    X, y = load_breast_cancer(return_X_y=True)
    classifier = AbstainingClassifier(
        LogisticRegression(), "accuracy", calibration="temperature", random_state=0, cv=3
    )
    pipeline = make_pipeline(StandardScaler(), classifier)
    assert cross_val_score(pipeline, X, y, cv=3).min() > 0.9
    grid = {
        "abstainingclassifier__budget": [0.05, 0.2],
        "abstainingclassifier__calibration": ["platt", "bcts"],
    }
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
    assert set(search.best_params_) == set(grid)
    assert "AbstainingClassifier" in pipeline._repr_html_()


def test_models_are_chosen_by_what_they_do_after_abstaining():
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    scorer = abstention_scorer("accuracy", 0.2)
    forest = RandomForestClassifier(30, random_state=0).fit(X_train, y_train)
    assert scorer(forest, X_test, y_test) >= forest.score(X_test, y_test)
    assert abstention_scorer("error-rate", 0.2)(forest, X_test, y_test) == pytest.approx(
        scorer(forest, X_test, y_test) - 1
    )


def test_labels_may_be_words_and_rare_classes_reduce_the_folds():
    X, y = make_classification(60, n_informative=4, n_classes=3, random_state=0)
    names = np.array(["mild", "none", "severe"])[y]
    rare = np.concatenate([np.flatnonzero(y < 2), np.flatnonzero(y == 2)[:3]])
    classifier = AbstainingClassifier(
        LogisticRegression(), "kappa:quadratic", calibration="bcts", random_state=0
    ).fit(X[rare], names[rare])
    assert set(classifier.predict(X)) <= {"mild", "none", "severe"}


def test_what_cannot_be_cross_fitted_is_explained():
    X, y = make_classification(50, random_state=0)
    classifier = AbstainingClassifier(LogisticRegression(), calibration="platt")
    alone = np.array([1] + [0] * 49)
    with pytest.raises(ValueError, match="at least two examples of every class"):
        classifier.fit(X, alone)
    half = classifier.set_params(cv=[(np.arange(25), np.arange(25, 50))])
    with pytest.raises(ValueError, match="25 of 50 rows are in none"):
        half.fit(X, y)
