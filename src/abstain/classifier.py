"""AbstainingClassifier: the whole flow around a scikit-learn estimator.

Scores for calibration come from cross-fitting, so no example is scored by a model that saw it;
a model that is fitted already comes in as a ``FrozenEstimator``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain import metrics, shift
from abstain._inputs import (
    ClassOrder,
    FloatArray,
    Mask,
    Scale,
    as_array,
    check_budget,
    check_labels,
    check_proba,
    check_sample_weight,
    label_array,
    read_scores,
    shown,
)
from abstain.abstainer import Abstainer
from abstain.calibration import Calibrator
from abstain.decisions import Decisions
from abstain.estimation import LEVEL
from abstain.exceptions import extra
from abstain.metrics import Decision, Metric
from abstain.policy import Policy
from abstain.shift import ShiftEstimator
from abstain.summaries import RowSummary

with extra("sklearn", "AbstainingClassifier needs scikit-learn"):
    from sklearn import get_config
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.frozen import FrozenEstimator
    from sklearn.model_selection import StratifiedKFold, check_cv
    from sklearn.utils import (
        ClassifierTags,
        Tags,
        _safe_indexing,  # the indexing of rows that scikit-learn itself uses
        get_tags,
        indexable,
    )
    from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import (
        _check_sample_weight,
        check_is_fitted,
        column_or_1d,
        has_fit_parameter,
    )

__all__ = ["AbstainingClassifier", "abstention_scorer"]

# What is withheld where nothing is said about it.
DEFAULT_BUDGET = 0.1
# Models of folds that are kept.
_MOST_MODELS = 10


class AbstainingClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier that knows which of its predictions to give to a person.

    Parameters
    ----------
    estimator : estimator
        A classifier with ``predict_proba`` or ``decision_function``. Wrap a fitted one in
        ``sklearn.frozen.FrozenEstimator``; ``fit`` then only calibrates, on data the model must
        not have seen.
    metric : Metric or str
        What to make as good as possible on the rows that are kept.
    budget, target, cost, confidence : optional
        How much to withhold, as for :class:`abstain.Abstainer`; a budget of 0.1 where none of
        the first three is given.
    prior_range, level, decision : optional
        As for :class:`abstain.Abstainer`.
    calibration : Calibrator or str
        How scores become calibrated probabilities.
    shift : ShiftEstimator or str
        How :meth:`adapt` estimates the class proportions of a batch.
    positive : label, optional
        Which of two classes is the positive one, for metrics such as sensitivity. When not given
        it is 1 beside 0 or -1; other labels do not say so, and it is an error to need it.
    cv : int, splitter or iterable
        The folds of the cross-fitting; an int means that many stratified folds, or fewer where
        a class has fewer examples. Where rows repeat (the same patient, the same image), pass
        folds that keep them together.
    random_state : int, Generator or None
        Seeds whatever is drawn at random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted: the columns of :meth:`predict_proba`, whichever is positive.
    positive_ : label or None
        The positive class; None for more than two, or where neither is known to be it.
    estimator_ : estimator
        The classifier, fitted on all the data.
    estimators_ : list of estimators
        Those of the folds, ten at most: what happened to a batch is told by their scores, as the
        validation rows have theirs by them. ``estimator_`` alone where it was fitted before.
    abstainer_ : Abstainer
        The flow, fitted on the cross-fitted scores.
    policy_ : Policy
        The rule in force: chosen on the training data, then on the last batch adapted to.
    n_features_in_ : int
        How many features ``fit`` saw.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from abstain import AbstainingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> classifier = AbstainingClassifier(model, "accuracy", budget=0.1, random_state=0)
    >>> bool(classifier.fit(X, y).abstains(X).mean() <= 0.15)
    True
    """

    classes_: NDArray[Any]
    positive_: Any
    estimators_: list[Any]
    abstainer_: Abstainer
    policy_: Policy

    def __init__(
        self,
        estimator: Any,
        metric: Metric | str = "accuracy",
        *,
        budget: float | None = None,
        target: float | dict[str, float] | None = None,
        cost: Any = None,
        confidence: float | None = None,
        prior_range: Any = None,
        level: float = LEVEL,
        decision: Decision = "auto",
        calibration: Calibrator | str = "auto",
        shift: ShiftEstimator | str = "auto",
        positive: Any = None,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.budget = budget
        self.target = target
        self.cost = cost
        self.confidence = confidence
        self.prior_range = prior_range
        self.level = level
        self.decision = decision
        self.calibration = calibration
        self.shift = shift
        self.positive = positive
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the estimator, calibrate it on cross-fitted scores, and choose a rule.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Features.
        y : array-like of shape (n,)
            True labels.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; given to the estimator too, where it takes weights. With
            metadata routing, where it requests them, also inside a pipeline.

        Returns
        -------
        self
        """
        if not hasattr(self.estimator, "fit") or not hasattr(self.estimator, "get_params"):
            raise TypeError(
                f"`estimator` must be a classifier of scikit-learn's kind, with fit and "
                f"get_params; got {shown(self.estimator)}."
            )
        y = _all_labelled(y)
        labels: NDArray[Any] = column_or_1d(y, warn=True)
        if labels.dtype.kind == "f" and (labels % 1 != 0).any():
            # The first words are those scikit-learn's checks look for.
            raise ValueError(
                f"Unknown label type: continuous. `y` must be classes; it has fractions such as "
                f"{float(labels[labels % 1 != 0][0]):g}, as of a regression."
            )
        check_classification_targets(y)
        n_rows = getattr(X, "shape", [None])[0]
        if n_rows is not None and n_rows != len(labels):
            raise ValueError(
                f"`X` and `y` must have as many rows; `X` has {n_rows}, `y` {len(labels)}."
            )
        X, labels = indexable(X, labels)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            raise ValueError(
                f"`y` must have at least two classes; got {len(self.classes_)} class in "
                f"{len(labels)} labels."
            )
        self._check_binary()
        self._least = 0.0
        if isinstance(self.estimator, FrozenEstimator):
            self.estimator_, self.estimators_ = self.estimator, [self.estimator]
            scores = self._scores(self.estimator, X)
        else:
            given = weight if self._passes_weight(sample_weight) else None
            scores = self._cross_fitted(X, labels, given)
            self.estimator_ = _fitted(self.estimator, X, labels, given)
        if _scale(self.estimator) == "probabilities":
            self._least = _least(scores)
        scores = _raised(scores, self._least)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        self.abstainer_ = self._abstainer().fit(scores, labels, weight)
        self.positive_ = self.abstainer_.positive_
        # The training data are their own target: no shift, the rule before any adaptation.
        unshifted = copy(self.abstainer_).set_params(shift="none")
        policy = unshifted.decide(scores, weight).policy
        # It adapts by the estimator that was asked for, once there is something to adapt to.
        self.policy_ = replace(policy, shift=clone(shift.get(self.shift)))
        return self

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> Policy:
        """Adapt to the class proportions of an unlabelled batch and choose the rule anew.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Features of the batch.
        sample_weight : array-like of shape (n,), optional
            How much each row counts.

        Returns
        -------
        Policy
            The new rule, which is in force from now on.
        """
        check_is_fitted(self)
        scores, told = self._scores(self.estimator_, X), copy(self.abstainer_)
        told.set_params(shift=self._seen(X, sample_weight))
        policy = told.decide(scores, sample_weight).policy
        self.policy_ = replace(policy, shift=clone(shift.get(self.shift)))
        return self.policy_

    def decide(self, X: Any) -> Decisions:
        """Apply the rule in force to rows, one or many."""
        check_is_fitted(self)
        told = replace(self.policy_, shift=self._seen(X))
        decisions = told.apply(self._scores(self.estimator_, X))
        return replace(decisions, policy=self.policy_, validation=self.abstainer_.validation_)

    def abstains(self, X: Any) -> Mask:
        """Tell for each row whether it goes to a person."""
        return self.decide(X).abstain

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted class label of each row, also where abstaining."""
        check_is_fitted(self)
        return self.policy_.rows(self._scores(self.estimator_, X)).prediction

    def predict_proba(self, X: Any) -> FloatArray:
        """Return calibrated, adapted class probabilities, a column for each of ``classes_``."""
        check_is_fitted(self)
        proba = self.policy_.predict_proba(self._scores(self.estimator_, X))
        same = self.policy_.classes.tolist() == self.policy_.columns.tolist()
        return proba if same else proba[:, ::-1]

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the metric on the rows that the rule in force keeps, higher is better.

        What a search such as ``GridSearchCV`` compares where it is not given a ``scoring``.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Features of rows the classifier was not fitted on.
        y : array-like of shape (n,)
            Their true labels.
        sample_weight : array-like of shape (n,), optional
            How much each row counts.

        Returns
        -------
        float
            The classifier's own metric by the true labels, negated where lower is better; NaN
            where it is not defined, as where nothing is kept.

        Notes
        -----
        What is withheld costs nothing here, so that a larger ``budget`` nearly always scores
        higher: a search over ``budget`` finds the largest. To weigh referrals against mistakes
        fit with a :class:`abstain.Cost` in place of a budget; to compare models at the same
        share withheld, pass ``scoring=abstention_scorer(metric, budget)``.
        """
        check_is_fitted(self)
        metric, policy = self.abstainer_.metric_, self.policy_
        proba = policy.predict_proba(self._scores(self.estimator_, X))
        predicted, withheld = policy.choice.apply(proba)
        kept = ~withheld
        weight = check_sample_weight(sample_weight, n_rows=len(kept))
        codes = check_labels(y, classes=policy.classes, n_rows=len(kept))
        if not kept.any() or (weight is not None and not weight[kept].any()):
            return float("nan")
        part = None if weight is None else weight[kept]
        return _value(
            metric, codes[kept], proba[kept], prediction=predicted[kept], sample_weight=part
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.array_api_support = False
        several = inner.classifier_tags is None or inner.classifier_tags.multi_class
        tags.classifier_tags = ClassifierTags(
            multi_class=several and not metrics.get(self.metric).binary_only
        )
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Return who gets which metadata: this classifier, and the estimator it fits."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if not isinstance(self.estimator, FrozenEstimator):
            mapping = MethodMapping().add(caller="fit", callee="fit")
            router.add(estimator=self.estimator, method_mapping=mapping)
        return router

    def _seen(self, X: Any, sample_weight: ArrayLike | None = None) -> ShiftEstimator:
        """Return what estimates a shift of rows from their scores by the models of the folds.

        Validation rows have theirs by these. Those of the model of all rows are others, where
        features repeat or the model fits its rows closely, and would pass for a shift.
        """
        estimator, models = shift.get(self.shift), self.estimators_
        if len(models) == 1:
            return estimator

        def seen() -> RowSummary:
            scores = np.vstack([self._scores(model, X) for model in models])
            n = len(scores) // len(models)
            weight = check_sample_weight(sample_weight, n_rows=n)
            each = np.tile(np.ones(n) if weight is None else weight, len(models))
            proba = self.abstainer_.calibrator_.predict_proba(scores)
            return RowSummary(proba, each / len(models))

        return shift.SeenOtherwise(estimator, seen)

    def _passes_weight(self, sample_weight: ArrayLike | None) -> bool:
        """Tell whether the estimator is to be fitted with the weights."""
        if sample_weight is None:
            return False
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight)
            return "sample_weight" in routed.estimator.fit
        return bool(has_fit_parameter(self.estimator, "sample_weight"))

    def _check_binary(self) -> None:
        metric = metrics.get(self.metric)
        if metric.binary_only and len(self.classes_) > 2:
            # The first sentence is the one scikit-learn's checks look for.
            raise ValueError(
                f"Only binary classification is supported. The type of the target is multiclass: "
                f"`y` has {len(self.classes_)} classes, and `metric` {metric.name!r} is for two. "
                f"Use a metric for many, such as 'kappa:quadratic', or join the classes."
            )

    def _abstainer(self) -> Abstainer:
        shared = self.get_params(deep=False)
        del shared["estimator"], shared["cv"]
        if all(shared[mode] is None for mode in ("budget", "target", "cost")):
            shared["budget"] = DEFAULT_BUDGET
        return Abstainer(**shared, scale=_scale(self.estimator))

    def _cross_fitted(self, X: Any, y: NDArray[Any], weight: FloatArray | None) -> FloatArray:
        """Return scores of each row by a model that did not see it."""
        scores: FloatArray | None = None
        covered = np.zeros(len(y), dtype=bool)
        self.estimators_ = []
        for train, test in self._folds(X, y):
            part = None if weight is None else weight[train]
            model = _fitted(self.estimator, _safe_indexing(X, train), y[train], part)
            rows = self._scores(model, _safe_indexing(X, test))
            if scores is None:
                scores = np.zeros((len(y), *rows.shape[1:]))
            scores[test] = rows
            covered[test] = True
            self.estimators_.append(model)
        if scores is None or not covered.all():
            raise ValueError(
                f"`cv` must put every row into a test fold; {int((~covered).sum())} of "
                f"{len(y)} rows are in none."
            )
        self.estimators_ = self.estimators_[:: -(-len(self.estimators_) // _MOST_MODELS)]
        return scores

    def _folds(self, X: Any, y: NDArray[Any]) -> Iterable[tuple[NDArray[Any], NDArray[Any]]]:
        if not isinstance(self.cv, int):
            splits: Iterable[Any] = check_cv(self.cv, y, classifier=True).split(X, y)
            return splits
        if self.cv < 2:
            raise ValueError(
                f"`cv` must be at least 2, as a row is scored by a model that did not see it; "
                f"got {self.cv}."
            )
        fewest = int(np.unique(y, return_counts=True)[1].min())
        if fewest < 2:
            raise ValueError(
                "Cross-fitting needs at least two examples of every class; one class in `y` has "
                "a single example. Add data, or pass a fitted model in a FrozenEstimator."
            )
        splits = StratifiedKFold(min(self.cv, fewest)).split(X, y)
        return splits

    def _scores(self, model: Any, X: Any) -> FloatArray:
        """Return the model's scores with a column for each of ``classes_``."""
        method = "predict_proba" if _scale(model) == "probabilities" else "decision_function"
        scores: FloatArray = np.asarray(getattr(model, method)(X), dtype=np.float64)
        known = getattr(model, "classes_", self.classes_)
        if scores.ndim == 1:
            # Scikit-learn's single score is of the last class, whichever is positive.
            return np.column_stack([np.zeros_like(scores), scores])
        if len(known) == len(self.classes_):
            return _raised(scores, self._least)
        # A fold without some class: what the model never saw is the least likely to it.
        floor = 0.0 if method == "predict_proba" else scores.min(axis=1, keepdims=True)
        everything = np.zeros((len(scores), len(self.classes_))) + floor
        everything[:, np.searchsorted(self.classes_, known)] = scores
        return _raised(everything, self._least)


def abstention_scorer(
    metric: Metric | str, budget: float, *, positive: Any = None
) -> Callable[[Any, Any, ArrayLike], float]:
    """Return a scorer for model selection: the metric after abstaining, higher is better.

    Parameters
    ----------
    metric : Metric or str
        What to measure on the rows that are kept.
    budget : float or int
        The largest fraction of the scored rows that may be withheld, or as a whole number a
        count.
    positive : label, optional
        Which of two classes is the positive one; that of the estimator's ``positive_``, or 1
        beside 0 or -1, when not given.

    Returns
    -------
    callable
        ``scorer(estimator, X, y)``, for ``GridSearchCV(scoring=...)`` and the like. It takes the
        probabilities of any classifier, withholds what helps the metric most, and returns the
        metric of the rest by the true labels, negated where lower is better.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0)
    >>> scores = cross_val_score(forest, X, y, scoring=abstention_scorer("accuracy", 0.2))
    >>> bool(scores.mean() > 0.97)
    True
    """
    chosen = metrics.get(metric)

    def score(estimator: Any, X: Any, y: ArrayLike) -> float:
        known = getattr(estimator, "positive_", None) if positive is None else positive
        order = ClassOrder.of(np.asarray(estimator.classes_), known)
        if chosen.of_positive:
            order.need_positive(f"`metric` {chosen.name!r} is of the positive class")
        proba = check_proba(read_scores(estimator.predict_proba(X), order).values)
        choice = chosen.choose(proba, RowSummary(proba).capacity(check_budget(budget)))
        predicted, withheld = choice.apply(proba)
        kept = ~withheld
        labels, columns = np.asarray(y)[kept], order.classes
        return _value(chosen, labels, proba[kept], prediction=predicted[kept], classes=columns)

    return score


def _value(metric: Metric, y: NDArray[Any], proba: FloatArray, **options: Any) -> float:
    """Return the metric by true labels, higher is better."""
    value = metric.observed(y, proba, **options)
    return value if metric.greater_is_better else -value


def _all_labelled(y: Any) -> Any:
    """Return labels as scikit-learn takes them; raise for what it would make a class of."""
    given = as_array(y)
    several = isinstance(given, list | tuple)
    if several and given and all(isinstance(one, list | tuple | np.ndarray) for one in given):
        return y
    if not several:
        array = np.asarray(given)
        # What scikit-learn knows about, and says in words of its own.
        if array.ndim != 1 or array.dtype.kind == "c":
            return y
    labels = label_array(given, "y")
    if labels.dtype.kind == "O" and len({*map(type, labels.tolist())}) > 1:
        raise TypeError("`y` must have labels of one type: text, numbers or booleans.")
    return labels if np.asarray(given).dtype.kind in "OT" else given


def _least(scores: FloatArray) -> float:
    """Return what a probability of exactly 0 is taken for, as forests have them; 0 for none.

    Half a row of those that were scored, or near the smallest of the others. As next to no number
    at all it would be so sure that no curve fits it and the others.
    """
    if scores.min() > 0:
        return 0.0
    other = scores[scores > 0].min()
    return float(np.clip(1 / (2 * len(scores)), other / 2, other))


def _raised(scores: FloatArray, least: float) -> FloatArray:
    """Return probabilities of which none is less."""
    if not least:
        return scores
    scores = np.maximum(scores, least)
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))


def _fitted(estimator: Any, X: Any, y: NDArray[Any], weight: FloatArray | None) -> Any:
    model = clone(estimator)
    return model.fit(X, y) if weight is None else model.fit(X, y, sample_weight=weight)


def _scale(model: Any) -> Scale:
    return "probabilities" if hasattr(model, "predict_proba") else "logits"
