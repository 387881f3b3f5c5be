"""Abstainer: the whole flow on scores, from validation data to decisions.

Calibrate on labelled validation data, adapt to the class proportions of a target batch, and
withhold what helps the metric most (the paper's Section 5).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from abstain import baselines, calibration, metrics, shift
from abstain._validation import (
    FloatArray,
    IntArray,
    Scale,
    check_labels,
    check_same_length,
    check_sample_weight,
    check_seed,
)
from abstain.calibration import Calibrator
from abstain.decisions import Decisions, Estimate, EstimatedValue
from abstain.metrics import Choice, Decision, Metric
from abstain.policy import Policy
from abstain.regions import Interval, Region
from abstain.rules import Argmax
from abstain.selection import budget_capacity
from abstain.shift import ShiftEstimator

__all__ = ["Abstainer", "Decisions", "Estimate", "EstimatedValue"]


class Abstainer(BaseEstimator):
    """Decide which predictions go to a person.

    Parameters
    ----------
    metric : Metric or str
        What to make as good as possible on the rows that are kept.
    budget : float
        The largest fraction of a batch that may be withheld, in [0, 1).
    target, cost, confidence : None
        Other ways to say how much to withhold; not supported yet.
    score : str or callable, optional
        Withhold by a metric-agnostic score of uncertainty instead, such as
        ``"max-probability"``; the metric is then only estimated. ``"class-thresholds"`` are
        chosen for the metric on the validation data; ``"dropout-variance"`` needs draws, see
        :meth:`decide`.
    decision : {"argmax", "optimal"}
        Predict the most probable class, or the class that suits the metric best.
    calibration : Calibrator or str
        How scores become calibrated probabilities.
    shift : ShiftEstimator or str
        How the target's class proportions are estimated.
    scale : {"probabilities", "logits"}
        What the scores are; never guessed.
    random_state : int, Generator or None
        Seeds whatever is drawn at random. A fixed number gives the same answer on any
        number of threads.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The label of each column; the last of two is the positive class.
    calibrator_ : Calibrator
        The fitted calibrator.
    metric_ : Metric
        The metric.

    Examples
    --------
    >>> from abstain import Abstainer
    >>> from abstain.datasets import screening_clinic
    >>> clinic = screening_clinic(random_state=0)
    >>> abstainer = Abstainer("sensitivity@specificity=0.9", budget=0.15,
    ...                       calibration="platt", scale="logits", random_state=0)
    >>> abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    <Decisions: 750 of 5000 rows withheld (15.0%), metric sensitivity@specificity=0.9>
    """

    metric_: Metric
    calibrator_: Calibrator
    classes_: NDArray[Any]

    def __init__(
        self,
        metric: Metric | str,
        *,
        budget: float | None = None,
        target: float | dict[str, float] | None = None,
        cost: Any = None,
        confidence: float | None = None,
        score: str | Callable[..., FloatArray] | None = None,
        decision: Decision = "argmax",
        calibration: Calibrator | str = "auto",
        shift: ShiftEstimator | str = "em",
        scale: Scale = "probabilities",
        random_state: Any = None,
    ) -> None:
        self.metric = metric
        self.budget = budget
        self.target = target
        self.cost = cost
        self.confidence = confidence
        self.score = score
        self.decision = decision
        self.calibration = calibration
        self.shift = shift
        self.scale = scale
        self.random_state = random_state

    def fit(
        self,
        scores_val: ArrayLike,
        y_val: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        classes: Sequence[Any] | NDArray[Any] | None = None,
    ) -> Self:
        """Calibrate on labelled validation data.

        Parameters
        ----------
        scores_val : array-like of shape (n,) or (n, n_classes)
            Scores of the classifier on data it was not trained on.
        y_val : array-like of shape (n,)
            True labels.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; a whole number equals repetition.
        classes : sequence, optional
            The label of each column; the sorted distinct labels when not given.

        Returns
        -------
        self
        """
        self._check_parameters()
        metric = metrics.get(self.metric)
        calibrator = clone(calibration.get(self.calibration, scale=self.scale))
        calibrator.fit(scores_val, y_val, sample_weight, classes=classes)
        n_classes = len(calibrator.classes_)
        if metric.binary_only and n_classes != 2:
            raise ValueError(
                f"`metric` {metric.name!r} is for two classes; the scores have {n_classes}. "
                f"Use a metric for many, such as 'kappa:quadratic', or join the classes."
            )
        self.metric_ = metric
        self.calibrator_ = calibrator
        self.classes_ = calibrator.classes_
        self._proba_val: FloatArray = calibrator.predict_proba(scores_val)
        self._codes_val: IntArray = check_labels(y_val, classes=self.classes_, name="y_val")
        self._weight_val = check_sample_weight(sample_weight, n_rows=len(self._codes_val))
        return self

    def decide(
        self,
        scores_target: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        score_samples: Iterable[ArrayLike] | None = None,
    ) -> Decisions:
        """Adapt to an unlabelled batch and choose which of its rows to withhold.

        Parameters
        ----------
        scores_target : array-like of shape (n,) or (n, n_classes)
            Scores of the same classifier on the new rows.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; a whole number equals repetition.
        score_samples : iterable of array-like, each shaped like ``scores_target``, optional
            Draws of test-time dropout for ``score="dropout-variance"``: scores of the same rows
            with dropout left on. Each is calibrated and adapted as ``scores_target`` is.

        Returns
        -------
        Decisions
        """
        check_is_fitted(self, "calibrator_")
        self._check_samples(score_samples)
        proba = self.calibrator_.predict_proba(scores_target)
        weight = check_sample_weight(sample_weight, n_rows=len(proba))
        estimator = clone(shift.get(self.shift)).fit(
            self._proba_val,
            proba,
            self._codes_val,
            sample_weight_source=self._weight_val,
            sample_weight_target=weight,
        )
        seed = check_seed(self.random_state)
        proba = estimator.transform(proba)
        values: FloatArray | None = None
        if score_samples is None:
            choice = self._choose(proba, weight, seed, estimator)
        else:
            adapted = (
                estimator.transform(self.calibrator_.predict_proba(sample))
                for sample in score_samples
            )
            capacity = budget_capacity(float(self.budget or 0), len(proba), weight)
            region, values = baselines.choose_by_samples(adapted, capacity, sample_weight=weight)
            check_same_length(scores_target=proba, score_samples=values)
            choice = Choice(region=region, rule=Argmax())
        policy = Policy(
            classes=self.classes_,
            calibrator=self.calibrator_,
            source_priors=estimator.source_priors_,
            priors=estimator.priors_,
            region=choice.region,
            rule=choice.rule,
            metric=self.metric_,
        )
        if values is None:
            decisions = policy.decide(proba, weight, seed=seed)
        else:
            # A variance over draws is not a function of the probabilities the policy reads.
            nobody = replace(policy, region=Interval.empty()).decide(proba, weight, seed=seed)
            decisions = replace(nobody, abstain=values >= region.threshold)
        # The policy carries what was estimated on the batch it was chosen on.
        return replace(decisions, policy=replace(policy, estimate=decisions.estimate))

    def _choose(
        self,
        proba: FloatArray,
        weight: FloatArray | None,
        seed: int,
        estimator: ShiftEstimator,
    ) -> Choice:
        capacity = budget_capacity(float(self.budget or 0), len(proba), weight)
        if self.score is None:
            return self.metric_.choose(
                proba, capacity, sample_weight=weight, decision=self.decision
            )
        region: Region
        if self.score == "class-thresholds":
            # The validation data as they would look with the target's class proportions.
            moved = estimator.weights_[self._codes_val]
            region = baselines.choose_class_thresholds(
                self.metric_,
                proba,
                capacity,
                y_val=self._codes_val,
                proba_val=estimator.transform(self._proba_val),
                sample_weight=weight,
                sample_weight_val=moved if self._weight_val is None else moved * self._weight_val,
            )
        else:
            region = baselines.choose_by_score(
                self.score, proba, capacity, sample_weight=weight, seed=seed
            )
        return Choice(region=region, rule=Argmax())

    def _check_samples(self, score_samples: Iterable[ArrayLike] | None) -> None:
        if (self.score == "dropout-variance") != (score_samples is not None):
            raise ValueError(
                '`score_samples` and score="dropout-variance" go together: pass the draws of '
                "test-time dropout to decide(), for that score and for no other."
            )

    def _check_parameters(self) -> None:
        given = [name for name in ("budget", "target", "cost") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"Pass exactly one of `budget`, `target`, `cost`; "
                f"got {' and '.join(given) if given else 'none of them'}."
            )
        if given != ["budget"] or self.confidence is not None:
            raise NotImplementedError("Only `budget` is supported yet; pass e.g. budget=0.15.")
        if self.decision not in ("argmax", "optimal"):
            raise ValueError(f'`decision` must be "argmax" or "optimal"; got {self.decision!r}.')
        budget_capacity(self.budget, 1)  # type: ignore[arg-type]
        shift.get(self.shift)
        if self.score is not None:
            baselines.get(self.score)
