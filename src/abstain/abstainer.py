"""Abstainer: the whole flow on scores, from validation data to decisions.

Calibrate on labelled validation data, adapt to the class proportions of a target batch, and
withhold what helps the metric most (the paper's Section 5).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain import calibration, metrics, scores, shift
from abstain._flow import Outcome, adapted_in_place, flow, labelled_rows, warn_of
from abstain._inputs import (
    FloatArray,
    Scale,
    both_columns,
    check_classes,
    check_labels,
    check_level,
    check_same_length,
    check_sample_weight,
    check_scores,
    check_seed,
    classes_by_name,
    read_scores,
)
from abstain._numerics import Parameters, clone, raise_not_fitted
from abstain.calibration import Calibrator
from abstain.certificates import (
    Certificate,
    Evidence,
    certified_choice,
    certify,
    check_confidence,
    claims_of,
    split_for_certificate,
)
from abstain.decisions import Decisions
from abstain.estimation import LEVEL
from abstain.metrics import Decision, Metric
from abstain.policy import Policy
from abstain.regions import Choice
from abstain.selection import RATES, Cost, Selection
from abstain.shift import ShiftEstimator
from abstain.summaries import LabelledSummary, Summary

__all__ = ["Abstainer"]


class Abstainer(Parameters):
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
    decision : {"auto", "argmax", "optimal"}
        How rows are predicted. ``"argmax"``: as the most probable class. ``"optimal"``: as suits
        the metric best. ``"auto"``: at the threshold of a metric of an operating point, such as
        sensitivity at a specificity; as the class of least expected cost for a cost; for other
        metrics of a confusion matrix as suits them best where that is expected to help and does
        so on the labelled rows too; by argmax for accuracy, for metrics of the order alone such
        as auROC, and for precision or recall alone, which would be served by next to no
        predictions or by nothing else. With ``score`` the same for the rows that the score
        leaves. A policy keeps argmax, where that was chosen, when it adapts.
    calibration : Calibrator or str
        How scores become calibrated probabilities.
    shift : ShiftEstimator or str
        How the batch's class proportions are estimated. ``"auto"`` adapts by maximum likelihood
        if label shift explains the batch's scores, and leaves the probabilities as they are if
        it does not.
    scale : {"probabilities", "logits"}
        What the scores are; never guessed.
    level : float
        How often the intervals of ``decisions.estimate`` are to hold the realised value, in
        (0, 1). They hold the noise of the unknown labels, of the class proportions, of the
        calibration, and how far the labelled rows contradict the probabilities.
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
        decision: Decision = "auto",
        calibration: Calibrator | str = "auto",
        shift: ShiftEstimator | str = "auto",
        scale: Scale = "probabilities",
        level: float = LEVEL,
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
        self.level = level
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
        values = np.asarray(given.values)
        n, n_classes = check_scores(values, scale=self.scale, name="scores_val").shape
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
        calibrator.fit(values[fitting], columns[codes[fitting]], part, classes=columns)
        self.metric_ = metric
        self.calibrator_ = calibrator
        self.classes_ = calibrator.classes_
        self._labelled = labelled_rows(calibrator.picked, values[fitting], codes[fitting], part)
        self._certifying: LabelledSummary | None = None
        if certifying is not None:
            self._certifying = self._calibrated(values[certifying], codes[certifying], None)
        return self

    def _calibrated(self, values: Any, codes: Any, weight: FloatArray | None) -> LabelledSummary:
        proba = both_columns(self.calibrator_.picked.compact(values))
        return LabelledSummary(proba, codes, weight)

    def decide(
        self,
        scores: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        score_samples: Iterable[ArrayLike] | None = None,
    ) -> Decisions[Policy]:
        """Adapt to an unlabelled batch and choose which of its rows to withhold.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores of the same classifier on the new rows.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; a whole number equals repetition.
        score_samples : iterable of array-like, each shaped like ``scores``, optional
            Draws of test-time dropout for ``score="dropout-variance"``: scores of the same rows
            with dropout left on. Each is calibrated and adapted as ``scores`` is.

        Returns
        -------
        Decisions
        """
        if not hasattr(self, "calibrator_"):
            raise_not_fitted(self)
        self._check_samples(score_samples)
        given = read_scores(scores, self.classes_)
        proba = self.calibrator_.picked.compact(given.values)
        weight = check_sample_weight(sample_weight, n_rows=len(proba))
        seed = check_seed(self.random_state)
        found = flow(
            proba,
            weight,
            labelled=self._labelled,
            shift=shift.get(self.shift),
            metric=self.metric_,
            selection=self._selection,
            seed=seed,
            level=self.level,
            classes=self.classes_.tolist(),
            choose=None if self.confidence is None else self._certified,
            values=None
            if score_samples is None
            else lambda estimator: self._variance(score_samples, estimator, len(proba)),
        )
        warn_of(found.assumption)
        return self._policy(found).decided(
            found.proba,
            abstain=found.abstain,
            sample_weight=weight,
            seed=seed,
            level=self.level,
            assumption=found.assumption,
            replicates=found.replicates,
            other=found.other,
            reached=found.reached,
            values=found.values,
            known_estimate=found.estimate,
            frame=given.source,
            carried=given.others,
        )

    def _policy(self, found: Outcome) -> Policy:
        """Return what was found for a batch as a rule that needs neither batch nor fit."""
        return Policy(
            classes=self.classes_,
            calibrator=self.calibrator_.picked,
            source_priors=found.estimator.source_priors_,
            priors=found.estimator.priors_,
            region=found.choice.region,
            rule=found.choice.rule,
            metric=self.metric_,
            estimate=found.estimate,
            selection=self._selection.plain().settled(found.choice),
            # A fitted estimator holds the batch; the policy needs to know only how to estimate.
            shift=clone(found.estimator),
            source=self._labelled.compact(),
            certificate=found.certificate,
            assumption=found.assumption,
        )

    @property
    def _selection(self) -> Selection:
        return Selection(
            budget=self.budget,
            target=self.target,
            cost=self.cost,
            score=self.score,
            decision=self.decision,
        )

    def _certified(
        self, summary: Summary, estimator: ShiftEstimator
    ) -> tuple[Choice, Certificate | None]:
        """Choose, and say what the held-out labels prove about the choice."""
        if self._certifying is None or self.confidence is None:
            raise TypeError("There are no labels to certify with; pass `confidence` to fit().")
        selection, metric, seed = self._selection, self.metric_, check_seed(self.random_state)
        ratios = estimator.weights_
        certifying = self._certifying.at(ratios)
        if self.target is not None:
            return certified_choice(
                claims_of(metric, self.target),
                summary,
                fitting=self._labelled.at(ratios),
                certifying=certifying,
                confidence=self.confidence,
                family=selection.family(metric, summary, seed, self._labelled, ratios),
                classes=self.classes_,
                prior_range=self.prior_range,
            )
        choice = selection.choose(
            metric, summary, seed=seed, labelled=self._labelled, weights=ratios
        )
        evidence = Evidence.of(certifying, choice)
        return choice, certify(evidence, confidence=self.confidence, classes=self.classes_)

    def _variance(
        self, score_samples: Iterable[ArrayLike], estimator: ShiftEstimator, n_rows: int
    ) -> FloatArray:
        """Return the variance of each row over draws, each calibrated and adapted."""
        calibrator = self.calibrator_.picked
        adapted = (
            adapted_in_place(calibrator.compact(sample), estimator.weights_)
            for sample in score_samples
        )
        values = scores.dropout_variance(adapted)
        check_same_length(scores=range(n_rows), score_samples=values)
        return values

    def _check_samples(self, score_samples: Iterable[ArrayLike] | None) -> None:
        if (self.score == "dropout-variance") != (score_samples is not None):
            raise ValueError(
                '`score_samples` and score="dropout-variance" go together: pass the draws of '
                "test-time dropout to decide(), for that score and for no other."
            )

    def _check_classes(self, metric: Metric, n_classes: int) -> None:
        metric.check_n_classes(n_classes)
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
        check_level(self.level)
        shift.get(self.shift)
