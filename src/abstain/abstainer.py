"""Abstainer: the whole flow on scores, from validation data to decisions.

Calibrate on labelled validation data, adapt to the class proportions of a target batch, and
withhold what helps the metric most (the paper's Section 5).
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from abstain import baselines, calibration, metrics, shift
from abstain._inputs import (
    FloatArray,
    Scale,
    check_classes,
    check_labels,
    check_same_length,
    check_sample_weight,
    check_scores,
    check_seed,
    classes_by_name,
    read_scores,
)
from abstain.calibration import Calibrator
from abstain.decisions import Decisions, Estimate, EstimatedValue
from abstain.exceptions import NotIdentifiable, RepairWarning
from abstain.metrics import Choice, Decision, Metric
from abstain.policy import Policy
from abstain.regions import Interval, Mask
from abstain.rules import Argmax
from abstain.selection import (
    Certificate,
    Cost,
    Evidence,
    Selection,
    Source,
    budget_capacity,
    certified_choice,
    certify,
    check_confidence,
    claims_of,
    split_for_certificate,
)
from abstain.selection._rates import RATES
from abstain.shift import ShiftEstimator

__all__ = ["Abstainer", "Decisions", "Estimate", "EstimatedValue"]

Uncertainty = Literal["labels", "labels+priors", "labels+priors+calibration"]

# How many draws of the class proportions an interval is made of.
_PRIOR_DRAWS = 100
_REPLICATES = 25


class Abstainer(BaseEstimator):
    """Decide which predictions go to a person.

    Parameters
    ----------
    metric : Metric or str
        What to make as good as possible on the rows that are kept.
    budget : float or int, optional
        The largest part of a batch that may be withheld: a fraction in [0, 1), or as a whole
        number a count.
    target : float or dict, optional
        Withhold as few as possible for the metric to reach this; or several, such as
        ``{"sensitivity": 0.85, "specificity": 0.80}``, which share one decision threshold.
    cost : Cost, optional
        Withhold where a person is cheaper than the mistake to be expected. Exactly one of
        ``budget``, ``target`` and ``cost`` is given.
    confidence : float, optional
        Prove it: half of the labelled data is held out to certify the rule, and with a target
        the smallest abstention is returned that they certify with this confidence.
    prior_range : pair, optional
        The range of class proportions for a certificate that depends on them.
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
    uncertainty : {"labels", "labels+priors", "labels+priors+calibration"}
        What the intervals of ``decisions.estimate`` hold: the noise of the unknown labels alone,
        also that of the estimated class proportions, or also that of the calibration. The last
        calibrates and adapts again on 25 resamples of the validation data and the batch, and
        keeps as many copies of the probabilities.
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
        cost: Cost | None = None,
        confidence: float | None = None,
        prior_range: tuple[ArrayLike, ArrayLike] | None = None,
        score: str | Callable[..., FloatArray] | None = None,
        decision: Decision = "argmax",
        calibration: Calibrator | str = "auto",
        shift: ShiftEstimator | str = "em",
        scale: Scale = "probabilities",
        uncertainty: Uncertainty = "labels",
        random_state: Any = None,
    ) -> None:
        self.metric = metric
        self.budget = budget
        self.target = target
        self.cost = cost
        self.confidence = confidence
        self.prior_range = prior_range
        self.score = score
        self.decision = decision
        self.calibration = calibration
        self.shift = shift
        self.scale = scale
        self.uncertainty = uncertainty
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
        metric = metrics.get(self.metric)
        self._check_parameters(metric)
        given = read_scores(scores_val, None if classes is None else np.asarray(classes))
        if classes is None:
            classes = classes_by_name(given.names, y_val)
        # What the scores came as tells how precise they are, so the calibrator gets that.
        scores = np.asarray(given.values)
        n, n_classes = check_scores(scores, scale=self.scale, name="scores_val").shape
        columns = check_classes(y_val, n_columns=n_classes, classes=classes, name="y_val")
        codes = check_labels(y_val, classes=columns, n_rows=n, name="y_val")
        weight = check_sample_weight(sample_weight, n_rows=n)
        self._check_classes(metric, n_classes)
        fitting, certifying = np.arange(n), None
        if self.confidence is not None:
            fitting, certifying = split_for_certificate(
                codes, classes=columns, weight=weight, seed=check_seed(self.random_state)
            )
        part = None if weight is None else weight[fitting]
        estimating = shift.get(self.shift).name != "none"
        calibrator = clone(
            calibration.get(self.calibration, scale=self.scale, estimating_shift=estimating)
        )
        calibrator.fit(scores[fitting], columns[codes[fitting]], part, classes=columns)
        self.metric_ = metric
        self.calibrator_ = calibrator
        self.classes_ = calibrator.classes_
        self._fitting = (scores[fitting], columns[codes[fitting]], part)
        self._source = Source(calibrator.predict_proba(scores[fitting]), codes[fitting], part)
        self._certifying: Source | None = None
        if certifying is not None:
            proba = calibrator.predict_proba(scores[certifying])
            self._certifying = Source(proba, codes[certifying])
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
        given = read_scores(scores_target, self.classes_)
        proba = self.calibrator_.predict_proba(given.values)
        weight = check_sample_weight(sample_weight, n_rows=len(proba))
        estimator = self._estimated_shift(proba, weight)
        seed = check_seed(self.random_state)
        proba = estimator.transform(proba)
        values: Mask | None = None
        certificate: Certificate | None = None
        if score_samples is not None:
            choice, values = self._choose_by_samples(score_samples, proba, weight, estimator)
        else:
            choice, certificate = self._choose(proba, weight, seed, estimator)
        policy = Policy(
            classes=self.classes_,
            calibrator=self.calibrator_,
            source_priors=estimator.source_priors_,
            priors=estimator.priors_,
            region=choice.region,
            rule=choice.rule,
            metric=self.metric_,
            selection=self._selection.plain(),
            # A fitted estimator holds the batch; the policy needs to know only how to estimate.
            shift=clone(estimator),
            source=self._source.compact(),
            certificate=certificate,
        )
        if values is None:
            decisions = policy.decide(proba, weight, seed=seed)
        else:
            # A variance over draws is not a function of the probabilities the policy reads.
            nobody = replace(policy, region=Interval.empty()).decide(proba, weight, seed=seed)
            decisions = replace(nobody, abstain=values)
        if self.uncertainty != "labels":
            draws = estimator.prior_draws(_PRIOR_DRAWS, seed=seed)
            decisions = replace(decisions, prior_draws=draws)
        if self.uncertainty == "labels+priors+calibration":
            copies = tuple(self._replicates(given.values, weight, seed))
            decisions = replace(decisions, replicates=copies)
        # The policy carries what was estimated on the batch it was chosen on.
        estimate = decisions.estimate
        decided = replace(
            decisions,
            policy=replace(policy, estimate=estimate),
            frame=given.source,
            carried=given.others,
        )
        vars(decided)["estimate"] = estimate  # a copy would estimate it once more
        return decided

    def _replicates(
        self, scores: ArrayLike, weight: FloatArray | None, seed: int
    ) -> Iterator[FloatArray]:
        """Calibrate and adapt anew on resampled validation data and a resampled batch."""
        rng = np.random.default_rng(seed)
        fitting_scores, labels, fitting_weight = self._fitting
        # Automatic calibration has picked; only what it picked is fitted again.
        picked = getattr(self.calibrator_, "calibrator_", self.calibrator_)
        for _ in range(_REPLICATES):
            source_weight = _resampled(rng, len(labels), fitting_weight)
            with warnings.catch_warnings():
                # A class that the resample misses was there when it was calibrated.
                warnings.simplefilter("ignore", RepairWarning)
                calibrator = clone(picked).fit(
                    fitting_scores, labels, source_weight, classes=self.classes_
                )
            proba = calibrator.predict_proba(scores)
            estimator = clone(shift.get(self.shift)).fit(
                calibrator.predict_proba(fitting_scores),
                proba,
                self._source.codes,
                sample_weight_source=source_weight,
                sample_weight_target=_resampled(rng, len(proba), weight),
            )
            yield estimator.transform(proba)

    def _estimated_shift(self, proba: FloatArray, weight: FloatArray | None) -> ShiftEstimator:
        try:
            estimator: ShiftEstimator = clone(shift.get(self.shift)).fit(
                self._source.proba,
                proba,
                self._source.codes,
                sample_weight_source=self._source.weight,
                sample_weight_target=weight,
            )
        except NotIdentifiable as error:
            names = ", ".join(repr(label) for label in self.classes_[[*error.columns]].tolist())
            raise NotIdentifiable(
                f"{error} These columns are the classes {names}.", error.columns
            ) from error
        return estimator

    @property
    def _selection(self) -> Selection:
        return Selection(
            budget=self.budget,
            target=self.target,
            cost=self.cost,
            score=self.score,
            decision=self.decision,
        )

    def _choose(
        self,
        proba: FloatArray,
        weight: FloatArray | None,
        seed: int,
        estimator: ShiftEstimator,
    ) -> tuple[Choice, Certificate | None]:
        selection, metric = self._selection, self.metric_
        if self._certifying is None or self.confidence is None:
            return selection.choose(
                metric,
                proba,
                sample_weight=weight,
                seed=seed,
                source=self._source,
                weights=estimator.weights_,
            ), None
        certifying, codes = estimator.transform(self._certifying.proba), self._certifying.codes
        family = selection.family(metric, proba, weight, seed, self._source, estimator.weights_)
        if self.target is not None:
            found = certified_choice(
                claims_of(metric, self.target),
                proba,
                fitting=(estimator.transform(self._source.proba), self._source.codes),
                certifying=(certifying, codes),
                confidence=self.confidence,
                family=family,
                sample_weight=weight,
                classes=self.classes_,
                prior_range=self.prior_range,
            )
            return found.choice, found.certificate
        choice = selection.choose(
            metric,
            proba,
            sample_weight=weight,
            seed=seed,
            source=self._source,
            weights=estimator.weights_,
        )
        prediction = choice.rule.predict(certifying)
        abstain = choice.region.contains(certifying, prediction)
        evidence = Evidence.of(certifying, codes, prediction, abstain)
        return choice, certify(evidence, confidence=self.confidence, classes=self.classes_)

    def _choose_by_samples(
        self,
        score_samples: Iterable[ArrayLike],
        proba: FloatArray,
        weight: FloatArray | None,
        estimator: ShiftEstimator,
    ) -> tuple[Choice, Mask]:
        adapted = (
            estimator.transform(self.calibrator_.predict_proba(sample)) for sample in score_samples
        )
        capacity = budget_capacity(self.budget or 0.0, len(proba), weight)
        region, values = baselines.choose_by_samples(adapted, capacity, sample_weight=weight)
        check_same_length(scores_target=proba, score_samples=values)
        return Choice(region=region, rule=Argmax()), values >= region.threshold

    def _check_samples(self, score_samples: Iterable[ArrayLike] | None) -> None:
        if (self.score == "dropout-variance") != (score_samples is not None):
            raise ValueError(
                '`score_samples` and score="dropout-variance" go together: pass the draws of '
                "test-time dropout to decide(), for that score and for no other."
            )

    def _check_classes(self, metric: Metric, n_classes: int) -> None:
        if metric.binary_only and n_classes != 2:
            raise ValueError(
                f"`metric` {metric.name!r} is for two classes; the scores have {n_classes}. "
                f"Use a metric for many, such as 'kappa:quadratic', or join the classes."
            )
        if isinstance(self.target, dict) and n_classes != 2 and {*self.target} & {*RATES}:
            raise ValueError(
                f"`target` names a sensitivity or specificity, which are for two classes; the "
                f"scores have {n_classes}. Use e.g. 'balanced-accuracy' or 'recall:macro'."
            )
        if self.cost is not None:
            self.cost.check_n_classes(n_classes)

    def _check_parameters(self, metric: Metric) -> None:
        self._selection.check(metric)
        if self.confidence is not None:
            check_confidence(self.confidence)
        elif self.prior_range is not None:
            raise ValueError("`prior_range` is for a certificate; pass `confidence` with it.")
        if self.uncertainty not in get_args(Uncertainty):
            raise ValueError(
                f"`uncertainty` must be one of {', '.join(map(repr, get_args(Uncertainty)))}; "
                f"got {self.uncertainty!r}."
            )
        shift.get(self.shift)


def _resampled(rng: np.random.Generator, n: int, weight: FloatArray | None) -> FloatArray:
    """Return the weights of a bootstrap resample of n rows."""
    counts = np.bincount(rng.integers(n, size=n), minlength=n).astype(np.float64)
    return counts if weight is None else counts * weight
