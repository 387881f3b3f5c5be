"""Abstainer: the whole flow on scores, from validation data to decisions.

Calibrate on labelled validation data, adapt to the class proportions of a target batch, and
withhold what helps the metric most (the paper's Section 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain import metrics, scores, shift
from abstain._inputs import (
    FloatArray,
    IntArray,
    Mask,
    Missing,
    RowRoles,
    Scale,
    both_columns,
    check_same_length,
    check_sample_weight,
    check_seed,
    check_time,
    group_codes,
    on_device,
    read_labelled,
    read_scores,
    row_roles,
)
from abstain._kernels.proportions import adapted
from abstain._logs import logger, stopwatch
from abstain._numerics import clone, raise_not_fitted
from abstain._settings import Settings
from abstain._summariser import Summariser
from abstain.audit import Audit, AuditedRows, SelectedLabels
from abstain.calibration import Calibrator
from abstain.certificates import (
    CONFIDENCE,
    rates_of,
    split_for_certificate,
)
from abstain.deciding import (
    Batch,
    Given,
    KnownRows,
    Outcome,
    Proof,
    calibrated,
    calibrated_apart,
    check_order_kept,
    decide,
    estimate_shift,
    known_labels,
    warn_of,
    warn_of_scale,
    with_drift,
)
from abstain.estimation import LEVEL
from abstain.exceptions import ArgumentError, RepairWarning, TargetUnreachable, Way, warn_user
from abstain.metrics import Decision, Metric
from abstain.policy import Decisions, GroupDecisions, Policy, rule_of
from abstain.selection import Cost, Selection
from abstain.shift import ShiftEstimator
from abstain.summaries import LabelledSummary, Summary
from abstain.team import (
    Answer,
    LabelledOpinions,
    Reviewer,
    Team,
    TeamMetric,
    opinions_by_name,
)

__all__ = ["Abstainer"]

_DECIDE = Way("Abstainer.decide", python="decide()")
_logger = logger("abstainer")
# In each of these it is chosen by itself.
_MOST_GROUPS = 1_000


class Abstainer(Settings):
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
        ``budget``, ``target``, ``cost`` and ``arms`` is given; or a target and the budget that
        caps it.
    arms : dict, optional
        Promises to prove: ``npv`` or ``sensitivity`` of those released, ``ppv`` or ``specificity``
        of those acted on, such as ``{"npv": 0.998, "ppv": 0.9}``. As many are released (predicted
        to be negative) and acted on (positive) as the labels prove it for; the others go to a
        person, all where nothing can be promised. Here a sensitivity is of all the positive: the
        share that is not released unseen; a specificity the share of the negative not acted on.
    confidence : float, optional
        Prove it: with a target the smallest abstention is returned that the labels certify with
        this confidence. All labels count for a sensitivity and a specificity; for other targets,
        and to certify a budget, half of them are held out. Arms always are proved, with 0.95
        where it is not given.
    prior_range : pair, optional
        The range of class proportions for what depends on them, as an npv and a ppv do: the
        lowest and the highest of the positive class.
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
        What is taken to have happened to the batch, and how its class proportions are
        estimated. ``"auto"`` weighs four things by how well they explain the batch's scores:
        nothing moved, the class proportions did (label shift), the mix of scores did and each
        means what it meant, or both; figures are pooled over these, and probabilities adapted
        as far as the proportions probably moved. ``"em"`` takes label shift for granted,
        ``"none"`` that scores mean what they meant.
    scale : {"probabilities", "logits"}
        What the scores are; never guessed.
    level : float
        How often the intervals of ``decisions.estimate`` are to hold the realised value, in
        (0, 1). They hold the noise of the unknown labels, of the class proportions, of the
        calibration, and how far the labelled rows contradict the probabilities.
    positive : label, optional
        Which of two classes is the positive one: that of a single score, and of metrics such as
        sensitivity. When not given it is the last of ``classes`` in :meth:`fit`, or the class
        that a single score column is named by (``p_cancer``), or 1 beside 0 or -1. Where none
        of these says so, it is an error to need it.
    random_state : int, Generator or None
        Seeds whatever is drawn at random. A fixed number gives the same answer on any
        number of threads.
    team : {"combine", "replace"}, optional
        Make the metric of the *final answers* as good as possible: the model's on the kept rows,
        and on the referred ones what model and reader say together, by Bayes' rule, or with
        ``"replace"`` what the reader says. Those rows are referred about which an opinion is
        expected to gain most, and none where none does: the budget is the most that may be.
    reviewer : Reviewer or mapping of str to Reviewer, optional
        How often the readers of a team err, where that is known; without it, and without answers
        in :meth:`fit`, they never do. Of several one is asked about a row.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The label of each column of probabilities, of matrices of costs and of class
        proportions: of two classes [negative, positive]; where neither is positive, and of more
        classes, in the order of the score columns.
    positive_ : label or None
        The positive class; None for more than two, or where neither is known to be it.
    calibrator_ : Calibrator
        The fitted calibrator.
    metric_ : Metric
        The metric.
    validation_ : tuple
        The validation scores and labels, as they were given; for ``decisions.report()``.

    Examples
    --------
    >>> from abstain import Abstainer
    >>> from abstain.datasets import screening_clinic
    >>> clinic = screening_clinic(random_state=0)
    >>> abstainer = Abstainer("sensitivity@specificity=0.9", budget=0.15,
    ...                       calibration="platt", scale="logits", random_state=0)
    >>> abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    <Decisions: 750 of 5000 rows withheld (15.0%), metric sensitivity@specificity=0.9,
    positive class 1>
    """

    metric_: Metric
    calibrator_: Calibrator
    classes_: NDArray[Any]
    positive_: Any
    team_: Team | None

    def __init__(
        self,
        metric: Metric | str,
        *,
        budget: float | None = None,
        target: float | dict[str, float] | None = None,
        cost: Cost | None = None,
        arms: dict[str, float] | None = None,
        confidence: float | None = None,
        prior_range: tuple[ArrayLike, ArrayLike] | None = None,
        score: str | Callable[..., FloatArray] | None = None,
        decision: Decision = "auto",
        calibration: Calibrator | str = "auto",
        shift: ShiftEstimator | str = "auto",
        scale: Scale = "probabilities",
        level: float = LEVEL,
        positive: Any = None,
        random_state: Any = None,
        team: Answer | None = None,
        reviewer: Reviewer | Mapping[str, Reviewer] | None = None,
    ) -> None:
        self.metric = metric
        self.budget = budget
        self.target = target
        self.cost = cost
        self.arms = arms
        self.confidence = confidence
        self.prior_range = prior_range
        self.score = score
        self.decision = decision
        self.calibration = calibration
        self.shift = shift
        self.scale = scale
        self.level = level
        self.positive = positive
        self.random_state = random_state
        self.team = team
        self.reviewer = reviewer

    def fit(
        self,
        scores_val: ArrayLike,
        y_val: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        classes: Sequence[Any] | NDArray[Any] | None = None,
        groups: ArrayLike | None = None,
        time: ArrayLike | None = None,
        reviewer: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ) -> Self:
        """Calibrate on labelled validation data.

        Parameters
        ----------
        scores_val : array-like or frame of shape (n,) or (n, n_classes)
            Scores of the classifier on data it was not trained on: of the positive class of two,
            or a column per class. A frame's columns are named by the classes, with or without
            ``p_``.
        y_val : array-like of shape (n,)
            True labels.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; a whole number equals repetition.
        classes : sequence, optional
            The label of each column of an array, of two the positive one last (unless
            ``positive`` is given); the sorted distinct labels when not given.
        groups : array-like of shape (n,), optional
            The group of each row. What ``arms`` promise is then proved in every group, with the
            same thresholds for all, as the group of a new row need not be known.
        time : array-like of shape (n,), optional
            When each row was: datetimes, ISO text or numbers. Later rows are then estimated from
            earlier ones and compared with their labels, and what the metric wanders beyond its
            interval widens the intervals of later batches, the more the later they are.
        reviewer : array-like of shape (n,), or mapping of str to these, or frame, optional
            What a reader answered about these rows, or each of several by name; None, NaN, NA or
            empty text where nothing. For a ``team``: it measures them.

        Returns
        -------
        self
        """
        metric = metrics.get(self.metric)
        self._check_parameters(metric)
        given = read_labelled(
            scores_val, y_val, scale=self.scale, classes=classes, positive=self.positive
        )
        n, columns = len(given.codes), given.order.classes
        weight = check_sample_weight(sample_weight, n_rows=n)
        self._check_classes(metric, len(columns))
        for what in self._of_positive(metric):
            given.order.need_positive(what)
        times = np.zeros(n) if time is None else check_time(time, n)
        rows = KnownRows(given.scores, given.codes, weight, times)
        answers = self._answers(reviewer, columns, n)
        certifying, selection = None, self._selection
        every = selection.arms is not None or bool(rates_of(metric, selection.target))
        if self._proves:
            fitting, held = split_for_certificate(
                rows.scores.logits, rows.codes, classes=columns, weight=weight, apart=not every
            )
            rows, certifying = rows.part(fitting), rows.part(held)
        lap = stopwatch()
        calibrator, labelled = calibrated(
            self.calibration, shift.get(self.shift), rows.scores, rows.codes, rows.weight, columns
        )
        picked = calibrator.picked
        found = len(rows.codes), len(columns), picked.name, lap()
        _logger.info("%d rows of %d classes calibrated by %s in %.2f s", *found)
        self.metric_ = metric
        # As they came, for the report; no copy.
        self.validation_ = scores_val, y_val
        self.calibrator_ = calibrator
        self.classes_ = columns
        self.positive_ = given.order.positive
        self.order_ = given.order
        self._labelled = self._answered(labelled, answers)
        self._certifying: LabelledSummary | None = None
        self._groups = None if groups is None else self._by_group(groups, len(given.codes))
        if time is not None:
            own = self._given(self._selection)
            self._labelled = with_drift(own, calibrator, rows, [metric]).labelled
        self._source = self._labelled.compact()
        if certifying is not None:
            proba = both_columns(picked.compact_checked(certifying.scores))
            self._certifying = LabelledSummary(proba, certifying.codes, None)
            if every:
                check_order_kept(certifying.scores.logits, proba)
        return self

    def decide(
        self,
        scores: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        score_samples: Iterable[ArrayLike] | None = None,
        y_target: ArrayLike | SelectedLabels | None = None,
        missing: Missing = "error",
        audit: float | Audit | None = None,
        time: Any = None,
    ) -> Decisions:
        """Adapt to an unlabelled batch and choose which of its rows to withhold.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores of the same classifier on the new rows. A CUDA tensor of PyTorch or an array of
            CuPy stays on its device; see :mod:`abstain.cuda`.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; a whole number equals repetition.
        score_samples : iterable of array-like, each shaped like ``scores``, optional
            Draws of test-time dropout for ``score="dropout-variance"``: scores of the same rows
            with dropout left on. Each is calibrated and adapted as ``scores`` is.
        y_target : array-like of shape (n,), optional
            Labels of the rows where they are known; None, NaN, NA, empty text or masked where
            not. Such a row needs no person: it is never withheld, its prediction is its label,
            and it uses no budget; a fraction is one of the rows still unknown, and
            ``decisions.estimate`` is about these. The labels tell of the batch's class
            proportions, of how right the adapted probabilities are, and of how wrong the estimate
            would be. They must be of rows picked at random: those of rows that were referred
            because they were uncertain tell of uncertain rows alone. Where labels and
            probabilities contradict each other, or the labelled rows look picked, there is a
            warning, and a doubt in ``decisions.assumption``. Labels of referred rows and of an
            audit are :class:`abstain.audit.SelectedLabels`, which know how probable each was.
        missing : {"error", "refer", "drop"}
            What to do with a row without a score, which is one with NaN, None or null in any of
            its scores: raise an error; give it to a person, which uses up the budget first; or
            leave it out, and then ``decisions.rows`` tells which rows are left. A budget that is
            a fraction is one of all rows that are left. What is decided about the other rows is
            what would be if they had come alone, with the budget that remains.
        audit : float or Audit, optional
            The share of the kept rows that is labelled as well, in (0, 1], or an
            :class:`abstain.audit.Audit`, which draws them by a keyed hash of their ids. They stay
            kept; ``decisions.audit`` says which they are and ``decisions.label_probability`` how
            probably each row was to be labelled, for ``evaluate(..., selected=True)``.
        time : datetime, str or number, or one for each row, optional
            When the batch was, where :meth:`fit` was told the times of validation rows; when not
            given it is taken to follow them.

        Returns
        -------
        Decisions

        Warns
        -----
        RepairWarning
            If more rows are without a score than the budget allows to withhold: all of them are
            withheld all the same, and no other row is.
        AssumptionWarning
            If something speaks against the figures; it says what, and what to do.
        """
        self._check_way(scores, score_samples)
        if on_device(scores):
            from abstain.cuda import decide as decide_there

            for_memory = {"sample_weight": sample_weight, "y_target": y_target, "audit": audit}
            return decide_there(  # type: ignore[return-value]
                self, scores, missing=missing, **for_memory
            )
        read = read_scores(scores, self.order_, scale=self.scale)
        probability = None
        if isinstance(y_target, SelectedLabels):
            probability, y_target = y_target.check(len(read.values)), y_target.y
        values, roles = row_roles(
            read.values, missing=missing, y_target=y_target, classes=self.classes_
        )
        roles.check_left()
        warn_of_scale(values, self.calibrator_.picked, self._labelled)
        proba, apart = calibrated_apart(self.calibrator_.picked, values, roles)
        everyone, weight = roles.weights(sample_weight)
        given = self._given(self._selection if roles.nothing else self._left(roles, everyone))
        given = given.at_time(time)
        chance, known = roles.left(probability), None
        if apart is not None and roles.codes is not None:
            known = known_labels(roles, roles.codes, apart, everyone, chance, len(self.classes_))
        outside = None if score_samples is None else partial(self._variance, score_samples, roles)
        batch = Batch.of_rows(
            proba, weight, given.metric, given.selection, known=known, outside_score=outside
        )
        found = decide(given, batch)
        warn_of(found.assumption)
        policy = self._policy(found)
        return Decisions(
            policy,
            found,
            None if roles.nothing else roles,
            everyone,
            None if apart is None else adapted(apart, policy.ratios),
            scores=values,
            frame=read.source,
            carried=read.others,
            validation=self.validation_,
            audited=AuditedRows.of(audit, roles.n_rows, roles.rows),
        )

    def _check_way(self, scores: ArrayLike, score_samples: Iterable[ArrayLike] | None) -> None:
        """Refuse what does not go together with where the scores are."""
        if not hasattr(self, "calibrator_"):
            raise_not_fitted(self)
        if (self.score == "dropout-variance") != (score_samples is not None):
            raise ValueError(
                '`score_samples` and score="dropout-variance" go together: pass the draws of '
                "test-time dropout to decide(), for that score and for no other."
            )
        if on_device(scores) and self.team is not None:
            raise ArgumentError(
                "`team` is for scores in memory, not on a device; give them as an array of NumPy.",
                "team",
            )

    def decide_groups(
        self,
        scores: ArrayLike,
        groups: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        missing: Missing = "error",
        time: Any = None,
    ) -> GroupDecisions:
        """Adapt to an unlabelled batch and refer the same share, or reach the same, in each group.

        What happened to the batch is estimated once, from all rows. In each group it is then
        chosen by itself whom to withhold: for the same ``budget``, which has to be a fraction, or
        as few as reach the ``target`` there, such as a floor of sensitivity.

        Parameters
        ----------
        scores, sample_weight, missing, time
            As in :meth:`decide`.
        groups : array-like of shape (n,)
            The group of each row: text, numbers, dates or the like. Rows without one are a group
            of their own.

        Returns
        -------
        GroupDecisions

        Warns
        -----
        AssumptionWarning
            If something speaks against the figures, or a share is not the one that was asked for;
            it says what, and what to do.

        Raises
        ------
        TargetUnreachable
            If no abstention reaches the target in a group; it says in which.
        """
        self._check_way(scores, None)
        self._check_equal(scores)
        read = read_scores(scores, self.order_, scale=self.scale)
        values, roles = row_roles(read.values, missing=missing)
        names, codes = group_codes(groups, n_rows=roles.n_rows, most=_MOST_GROUPS)
        warn_of_scale(values, self.calibrator_.picked, self._labelled)
        weight = check_sample_weight(sample_weight, n_rows=roles.n_rows)
        given = self._given(self._selection).at_time(time)
        shift = estimate_shift(given, self._batch(values, roles, weight, given).summary)
        by, places = dict[Any, Decisions](), dict[Any, IntArray]()
        for number, name in enumerate(names):
            at = np.flatnonzero(codes == number)
            part, own = row_roles(values[at], missing=missing)
            if not len(own):
                continue
            heavy = None if weight is None else weight[at]
            everyone, _ = own.weights(heavy)
            here = replace(given, selection=self._left(own, everyone))
            try:
                found = decide(here, self._batch(part, own, heavy, here), shift)
            except TargetUnreachable as error:
                raise TargetUnreachable(f"Group {name}: {error}") from error
            # The report of a group shows what it was fitted on.
            fitted = {"scores": part, "validation": self.validation_}
            aside = None if own.nothing else own
            by[name] = Decisions(self._policy(found), found, aside, everyone, **fitted)
            places[name] = at
        decisions = GroupDecisions(by, places, read.source, read.others)
        warn_of(replace(shift.assumption, doubts=decisions.doubts))
        return decisions

    def _batch(
        self, values: Any, roles: RowRoles, weight: FloatArray | None, given: Given
    ) -> Batch:
        """Return rows of a batch, as they are chosen from."""
        roles.check_left()
        proba, _ = calibrated_apart(self.calibrator_.picked, values, roles)
        return Batch.of_rows(proba, roles.weights(weight)[1], given.metric, given.selection)

    def summariser(self) -> Summariser:
        """Return what summarises rows as this abstainer does, small enough to send to them."""
        if not hasattr(self, "calibrator_"):
            raise_not_fitted(self)
        return Summariser(self.calibrator_.picked, self.order_)

    def summarise(
        self,
        scores: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        missing: Missing = "error",
    ) -> Summary:
        """Return all that is needed of some rows to decide about them, in a few megabytes.

        For rows that do not fit in memory or are on many machines: summarise parts where they
        are, ``merge`` the summaries, :meth:`decide_summary` once, and ``policy.apply`` to parts.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores of the same classifier on some of the new rows.
        sample_weight : array-like of shape (n,), optional
            How much each row counts: 0, or from 0.001 to 1,000,000.
        missing : {"error", "refer", "drop"}
            What to do with a row without a score: raise an error; give it to a person, which uses
            up the budget first; or leave it out.

        Returns
        -------
        Summary
        """
        return self.summariser().summarise(scores, sample_weight, missing=missing)

    def decide_summary(self, summary: Summary) -> Policy:
        """Adapt to the rows of a summary and choose the rule that withholds some of them.

        What :meth:`decide` does, but for the rows themselves, which are elsewhere: the class
        proportions, and the expected metric under the rule, are within 1e-4 of what it finds (of
        more than 524,288 rows of ten classes, 3e-4 after abstaining). The estimate is drawn, as
        its is, and differs from it by chance.

        Parameters
        ----------
        summary : Summary
            Of all rows, merged from what :meth:`summarise` gave for the parts.

        Returns
        -------
        Policy
            To ``apply`` to the rows, part by part.

        Warns
        -----
        RepairWarning
            If more rows are without a score than the budget allows to withhold.
        AssumptionWarning
            If something speaks against the figures; it says what, and what to do.
        """
        self.summariser().check(summary)
        if self.score == "dropout-variance":
            raise ArgumentError(
                '`score` "dropout-variance" is of draws for each row, which a summary does not '
                "hold. Use decide(), or another score.",
                "score",
                ways=[_DECIDE],
            )
        if self.score == "random" and summary.n_classes == 2:
            raise ArgumentError(
                '`score` "random" is a number for each row, and a summary of two classes holds '
                "bins of rows. Use decide(), or another score.",
                "score",
                ways=[_DECIDE],
            )
        n_all = summary.n_rows + summary.n_missing
        selection = self._after_referred(
            summary.n_missing,
            n_all,
            summary.missing_weight,
            summary.missing_weight + summary.total_weight,
            counted=not summary.weighted,
        )
        given = self._given(selection)
        found = decide(given, Batch.of_summary(summary, given.metric))
        warn_of(found.assumption)
        return self._policy(found)

    def _given(self, selection: Selection) -> Given:
        """Return what a decision is made from, for a selection among the rows of a batch."""
        proof = None
        if self._certifying is not None:
            sure = CONFIDENCE if self.confidence is None else self.confidence
            proof = Proof(self._certifying, sure, self.prior_range, self._groups)
        return Given(
            self._labelled,
            shift.get(self.shift),
            self.metric_ if self._team is None else TeamMetric(self.metric_, self._team),
            selection,
            self.classes_,
            check_seed(self.random_state),
            self.level,
            proof,
        )

    def _left(self, roles: RowRoles, weight: FloatArray | None) -> Selection:
        """Return the selection among the rows to be decided about: those without a score count."""
        if not roles.n_referred:
            return self._selection
        open_ = np.ones(len(roles)) if weight is None else weight
        if roles.known is not None:
            open_ = open_[~roles.known]
        used, total = float(_total(roles.referred, weight)), float(open_.sum())
        counted = weight is None
        return self._after_referred(roles.n_referred, len(roles), used, total, counted=counted)

    def _after_referred(
        self, n_referred: int, n_rows: int, used: float, total: float, *, counted: bool
    ) -> Selection:
        """Return the selection after rows without a score used up some of its budget."""
        if not n_referred:
            return self._selection
        allowed = self._selection.allowed(total, counted=counted)
        if allowed is not None and used > allowed:
            warn_user(
                f"{n_referred} of {n_rows} rows have no score, more than the "
                f"budget of {self.budget} allows to withhold ({allowed:g}). All of them are "
                f"withheld, as nothing can be predicted for them, and no other row is.",
                RepairWarning,
            )
        return self._selection.after(used, total, counted=counted)

    def _policy(self, found: Outcome) -> Policy:
        """Return what was found for a batch as a rule that needs neither batch nor fit."""
        return Policy(
            classes=self.classes_,
            calibrator=self.calibrator_.picked,
            **rule_of(found),
            metric=self.metric_,
            selection=self._selection.settled(found.choice),
            # A fitted estimator holds the batch; the policy needs to know only how to estimate.
            shift=clone(shift.get(self.shift)),
            source=self._source,
            certificate=found.certificate,
            positive=self.positive_,
            columns=self.order_.columns,
            team=self._team,
        )

    @property
    def _team(self) -> Team | None:
        """The team as it was measured, with what becomes of its answers by now."""
        if self.team_ is None or self.team is None:
            return None
        return replace(self.team_, answer=self.team)

    def _variance(
        self, score_samples: Iterable[ArrayLike], roles: RowRoles, ratios: FloatArray
    ) -> FloatArray:
        """Return the variance of each row over draws, each calibrated and adapted."""
        calibrator = self.calibrator_.picked
        drawn = (
            adapted(
                calibrator.compact(
                    roles.scored(read_scores(sample, self.order_, scale=self.scale).values)
                ),
                ratios,
            )
            for sample in score_samples
        )
        values = scores.dropout_variance(drawn)
        check_same_length(scores=roles.at, score_samples=values)
        return values

    def __repr__(self) -> str:
        if getattr(self, "positive_", None) is None:
            return super().__repr__()
        told = copy(self)
        told.positive = self.positive_
        return super(Abstainer, told).__repr__()

    def _answers(
        self, reviewer: ArrayLike | Mapping[str, ArrayLike] | None, classes: NDArray[Any], n: int
    ) -> dict[str, IntArray]:
        """Return the columns of what readers answered, by their names."""
        if reviewer is None:
            return {}
        if self.team is None or self.reviewer is not None:
            raise ArgumentError(
                "`reviewer` of fit() measures the readers of a team: pass `team`, and no reviewer "
                "that is known already.",
                "reviewer",
                ways=[Way("Abstainer(team)", python="pass `team`")],
            )
        return opinions_by_name(reviewer, classes, n)

    def _answered(
        self, labelled: LabelledSummary, answers: dict[str, IntArray]
    ) -> LabelledSummary:
        """Know the team, and return labelled rows with what readers answered about them."""
        self.team_ = None
        if self.team is None:
            return labelled
        self.team_ = Team.given(self.reviewer, self.team, self.classes_)
        if answers:
            self.team_ = Team.measured(_with_labels(answers, labelled), self.team, self.classes_)
            # Of several answers the first: one reader is asked.
            every = np.stack([*answers.values()])
            first = every[(every >= 0).argmax(axis=0), np.arange(every.shape[1])]
            labelled = labelled.answered(first)
        TeamMetric(self.metric_, self.team_)
        return labelled


def _with_labels(
    answers: Mapping[str, IntArray], labelled: LabelledSummary
) -> dict[str, LabelledOpinions]:
    """Return what readers answered with the labels, and probabilities that did not see these."""
    rows = labelled.held_out or labelled
    at = slice(None) if rows.numbers is None else rows.numbers
    return {
        name: LabelledOpinions(rows.labels, codes[at], rows.weight, rows.proba)
        for name, codes in answers.items()
    }


def _total(rows: Mask, weight: FloatArray | None) -> float:
    return float(rows.sum() if weight is None else weight[rows].sum())
