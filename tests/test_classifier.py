"""The meta-estimator: scikit-learn's own checks, and what it adds to them."""

from typing import ClassVar

import numpy as np
import pytest
import sklearn
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from abstain import AbstainingClassifier, Cost
from abstain.classifier import abstention_scorer
from abstain.metrics import SensitivityAtSpecificity


@parametrize_with_checks(
    [
        AbstainingClassifier(LogisticRegression(), "accuracy", cv=3),
        AbstainingClassifier(LogisticRegression(), "auroc", calibration="platt", cv=2),
    ]
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
    policy = classifier.adapt(X_target)
    assert classifier.policy_ is policy
    decisions = classifier.decide(X_target)
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


def test_a_metric_for_two_classes_refuses_more():
    X, y = make_classification(60, n_informative=4, n_classes=3, random_state=0)
    with pytest.raises(ValueError, match="`y` has 3 classes, and `metric` 'auroc' is for two"):
        AbstainingClassifier(LogisticRegression(), "auroc").fit(X, y)


class Weighed(LogisticRegression):
    """Remembers the weights of its fits."""

    seen: ClassVar = []

    def fit(self, X, y, sample_weight=None):
        self.seen.append(None if sample_weight is None else np.asarray(sample_weight).sum())
        return super().fit(X, y, sample_weight)


@pytest.fixture
def weighed():
    Weighed.seen.clear()
    X, y = make_classification(120, random_state=0)
    return X, y, np.full(120, 2.0)


def abstaining(model):
    return AbstainingClassifier(model, "accuracy", calibration="temperature", cv=2, random_state=0)


def test_weights_reach_an_estimator_that_takes_them(weighed):
    X, y, weight = weighed
    abstaining(Weighed()).fit(X, y, weight)
    assert Weighed.seen == [120, 120, 240]
    abstaining(KNeighborsClassifier()).fit(X, y, weight)


@pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8),
    reason="before 1.8 scikit-learn does not route weights through the score of a pipeline",
)
def test_weights_are_routed_through_searches_and_pipelines(weighed):
    X, y, weight = weighed
    with config_context(enable_metadata_routing=True):
        inner = make_pipeline(StandardScaler(), Weighed().set_fit_request(sample_weight=True))
        inner.steps[0][1].set_fit_request(sample_weight=False)
        classifier = abstaining(inner).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), classifier)
        classifier.set_score_request(sample_weight=True)
        search = GridSearchCV(pipeline, {"abstainingclassifier__budget": [0.1]}, cv=2)
        search.fit(X, y, sample_weight=weight)
    # Two folds of the search, each cross-fitted in two and fitted whole; then on all the data.
    assert Weighed.seen == [60, 60, 120, 60, 60, 120, 120, 120, 240]


def test_weights_that_nobody_asked_for_are_told(weighed):
    X, y, weight = weighed
    with config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            abstaining(Weighed()).fit(X, y, weight)
        abstaining(Weighed().set_fit_request(sample_weight=False)).fit(X, y, weight)
        assert set(Weighed.seen) == {None}
        frozen = FrozenEstimator(LogisticRegression().fit(X, y))
        abstaining(frozen).fit(X, y, weight)
        abstaining(KNeighborsClassifier()).fit(X, y, weight)


def test_frames_between_the_steps_of_a_pipeline():
    pandas = pytest.importorskip("pandas")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    pipeline = make_pipeline(StandardScaler(), abstaining(LogisticRegression()))
    pipeline.set_output(transform="pandas").fit(X, y)
    assert pipeline[-1].feature_names_in_.tolist() == X.columns.tolist()
    assert pipeline[-1].n_features_in_ == X.shape[1]
    found = pipeline[-1].decide(pipeline[:-1].transform(X)).to_frame()
    assert isinstance(found, pandas.DataFrame)
    assert (found["prediction"] == pipeline.predict(X)).all()


def test_it_shows_itself_in_notebooks():
    html = abstaining(make_pipeline(StandardScaler(), LogisticRegression()))._repr_html_()
    for name in ("AbstainingClassifier", "StandardScaler", "LogisticRegression"):
        assert name in html


@pytest.fixture(scope="module")
def blobs_of_two():
    return make_classification(400, n_informative=4, class_sep=0.6, flip_y=0, random_state=0)


def test_the_score_is_the_metric_of_what_is_kept(blobs_of_two):
    X, y = blobs_of_two
    classifier = AbstainingClassifier(LogisticRegression(), "f1", budget=0.2, random_state=0)
    classifier.fit(X[:200], y[:200])
    decisions = classifier.decide(X[200:])
    kept = ~decisions.abstain
    expected = f1_score(y[200:][kept], decisions.prediction[kept])
    assert classifier.score(X[200:], y[200:]) == pytest.approx(expected)
    weight = np.arange(len(X[200:]))
    expected = f1_score(y[200:][kept], decisions.prediction[kept], sample_weight=weight[kept])
    assert classifier.score(X[200:], y[200:], weight) == pytest.approx(expected)
    # Nothing that counts is kept.
    assert np.isnan(classifier.score(X[200:], y[200:], ~kept * 1.0))


def test_a_score_is_negated_where_lower_is_better(blobs_of_two):
    X, y = blobs_of_two
    lower, higher = (
        AbstainingClassifier(LogisticRegression(), name, budget=0.1, random_state=0).fit(X, y)
        for name in ("error-rate", "accuracy")
    )
    assert lower.score(X, y) == pytest.approx(higher.score(X, y) - 1)


def test_a_search_over_the_budget_responds_to_it(blobs_of_two):
    X, y = blobs_of_two
    how = {"calibration": "platt", "random_state": 0}
    classifier = AbstainingClassifier(LogisticRegression(), "accuracy", **how)
    search = GridSearchCV(classifier, {"budget": [0.0, 0.2, 0.5]}, cv=2).fit(X, y)
    found = search.cv_results_["mean_test_score"]
    assert found[0] < found[1] < found[2]
    assert search.best_params_ == {"budget": 0.5}
    by_cost = GridSearchCV(
        classifier.set_params(cost=Cost(0.4)), {"estimator__C": [0.1, 1.0]}, cv=2
    ).fit(X, y)
    assert np.isfinite(by_cost.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"estimator": "logistic"}, TypeError, "`estimator` must be a classifier"),
        ({"cv": 1}, ValueError, "`cv` must be at least 2"),
        ({"y": np.linspace(0, 1, 200)}, ValueError, "`y` must be classes; it has fractions"),
        ({"y": np.arange(10) % 2}, ValueError, "`X` has 200, `y` 10"),
    ],
)
def test_what_is_wrong_is_said_by_its_name(changes, error, message):
    X = np.random.default_rng(0).normal(size=(200, 2))
    given = {"estimator": LogisticRegression(), "cv": 5, "y": np.arange(200) % 2} | changes
    classifier = AbstainingClassifier(given["estimator"], budget=0.2, cv=given["cv"])
    with pytest.raises(error, match=message):
        classifier.fit(X, given["y"])


def passengers(n, seed):
    """Rows of few kinds, of which many are the same, and their labels."""
    rng = np.random.default_rng(seed)
    deck, woman = rng.choice(3, n, p=[0.25, 0.21, 0.54]), rng.random(n) < 0.36
    age = 10 * np.round(np.clip(rng.normal(30, 13, n), 0, 75) / 10)
    along = np.minimum(rng.poisson(0.4, n), 4)
    logit = -0.6 + 2.6 * woman - 1.1 * (deck - 1) - 0.03 * (age - 30) - 0.3 * along
    y = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)
    return np.column_stack([deck, woman, age, along]).astype(float), y


@pytest.mark.filterwarnings("ignore::abstain.exceptions.AssumptionWarning")
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(max_iter=1_000),
        RandomForestClassifier(20, random_state=0),
        GaussianNB(),
        DecisionTreeClassifier(random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_features_that_repeat_are_no_shift(model):
    """The model of all rows scores them otherwise than those of the folds do."""
    likeliest, better = [], []
    for seed in range(5):
        X, y = passengers(1_300, seed)
        classifier = AbstainingClassifier(model, budget=0.1, random_state=0)
        classifier.fit(X[:650], y[:650])
        adapted = classifier.adapt(X[650:])
        decisions = classifier.decide(X[650:])
        for found in (adapted, decisions):
            likeliest.append(max(found.assumption.worlds, key=found.assumption.worlds.get))
        # Chosen on the scores that are decided by, so within the budget.
        assert decisions.abstain.mean() <= 0.1
        own = (classifier.estimator_.predict(X[650:]) == y[650:]).mean()
        better.append((decisions.prediction == y[650:]).mean() - own)
    assert likeliest.count("nothing") >= 9
    assert np.mean(better) > -0.02


@pytest.mark.filterwarnings("ignore::abstain.exceptions.AssumptionWarning")
def test_a_label_shift_of_features_that_repeat_is_seen():
    X, y = passengers(1_300, 0)
    classifier = AbstainingClassifier(GaussianNB(), random_state=0).fit(X[:650], y[:650])
    fewer = np.r_[np.flatnonzero(y == 1), np.flatnonzero(y == 0)[::3]]
    batch = fewer[fewer >= 650]
    worlds = classifier.adapt(X[batch]).assumption.worlds
    assert max(worlds, key=worlds.get) == "label"
    assert classifier.policy_.priors[1] == pytest.approx(y[batch].mean(), abs=0.06)
    # Whole weights are repetition, for the models of the folds too.
    weight = np.arange(len(batch)) % 3
    weighed = classifier.adapt(X[batch], weight).priors
    repeated = classifier.adapt(np.repeat(X[batch], weight, axis=0)).priors
    assert weighed == pytest.approx(repeated, abs=1e-3)


def test_models_of_the_folds_are_kept_ten_at_most():
    X, y = passengers(200, 0)
    every = AbstainingClassifier(GaussianNB(), cv=KFold(40), random_state=0).fit(X, y)
    assert len(every.estimators_) == 10
    frozen = FrozenEstimator(GaussianNB().fit(X, y))
    alone = AbstainingClassifier(frozen, random_state=0).fit(X, y)
    assert alone.estimators_ == [frozen]


def test_a_forest_that_is_certain_is_no_surer_than_its_rows():
    """Of probabilities of exactly 0 and 1 no curve would fit the others."""
    X, y = passengers(1_300, 4)
    forest = RandomForestClassifier(20, random_state=0)
    classifier = AbstainingClassifier(forest, shift="none", random_state=0).fit(X[:650], y[:650])
    raw, proba = classifier.estimator_.predict_proba(X[650:])[:, 1], classifier.predict_proba(X)
    assert {0.0, 1.0} <= set(raw.tolist())
    middle = classifier.predict_proba(X[650:])[(raw > 0.2) & (raw < 0.8), 1]
    assert middle.max() - middle.min() > 0.2
    assert proba.min() > 0.001
    assert proba.max() < 0.999
