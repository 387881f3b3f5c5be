"""Decisions: what was decided about each row of a batch, and what it is expected to do."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from abstain._display import block, doubts, facts, next_steps, proportions, sentence
from abstain._inputs import FloatArray, IntArray, Mask, RowRoles, both_columns, to_native_frame
from abstain._numerics import plain
from abstain.audit import AuditedRows
from abstain.certificates import Certificate
from abstain.deciding import Outcome
from abstain.estimation import Estimate, Replicates
from abstain.metrics import Metric
from abstain.policy._arms import Arm, arms_of
from abstain.regions import Choice
from abstain.shift import Assumption, Proportions, World
from abstain.team import Team

if TYPE_CHECKING:
    from abstain.policy._policy import Policy

#: Why a row without a score goes to a person.
NO_SCORE = "no score"
#: Makes a column of few distinct values, far quicker than one by one: the values, the number of
#: that of each row, and whether there may be gaps, which are -1.
ColumnByNumber = Callable[[NDArray[Any], IntArray, bool], Any]


def check_decisions(decisions: Any) -> None:
    """Raise if something else came where decisions are due."""
    if not isinstance(decisions, Decisions):
        raise TypeError(
            f"`decisions` must be what Abstainer.decide() or Policy.apply() returned; got "
            f"{type(decisions).__name__}."
        )


@dataclass(frozen=True, eq=False)
class Decisions:
    """What to do with each row of a batch.

    Attributes
    ----------
    abstain : ndarray of bool, shape (n,)
        True where the row goes to a person.
    proba : ndarray of shape (n, n_classes)
        Calibrated, adapted probabilities; NaN for a row without a score.
    prediction : ndarray of shape (n,)
        The predicted class label, also where abstaining; the label itself where it was known,
        and None for a row without a score.
    priors, source_priors : ndarray of shape (n_classes,)
        Estimated class proportions of the batch, and those of the validation data.
    classes : ndarray of shape (n_classes,)
        The label of each column of ``proba``; of two, [negative, positive].
    positive : label or None
        The positive class; None for more than two, or where neither is known to be it.
    metric : Metric
        What the rule was chosen for.
    choice : Choice
        What is withheld, and how the rest is predicted.
    policy : Policy
        The rule, as data.
    certificate : Certificate or None
        What held-out labels prove about the rule, where that was asked for.
    sample_weight : ndarray of shape (n,) or None
        How much each row counts.
    level : float
        How often the interval of the estimate is meant to hold.
    assumption : Assumption or None
        What the figures rest on, the evidence, and what speaks against it.
    reached : float or None
        How probably the kept rows reach the target that was asked for.
    values : ndarray of shape (n,) or None
        The score that ordered the rows, where the probabilities do not tell it.
    frame : frame or None
        The frame the scores came in, if they did.
    missing : ndarray of bool, shape (n,), or None
        Which rows have no score; None where all have one.
    known : ndarray of bool, shape (n,), or None
        Which rows had a known label; None where none had.
    arms : tuple of Arm or None
        Where promises were asked for: how many rows are released, seen by a person and acted on,
        how many of them are expected to be positive, and what is proved of them.
    rows : ndarray of int, shape (n,), or None
        Positions in what came of the rows that are here; None where none was dropped.
    over_capacity : ndarray of bool, shape (n,), or None
        Which rows the rule withholds and are kept all the same, as ``at_most`` is used up; None
        where that was not asked for.
    audit : ndarray of bool, shape (n,), or None
        Which kept rows are to be labelled as well; None where no audit was asked for.
    answer : ndarray of shape (n,)
        The final answer: the prediction where a row is kept, and where it is referred what comes
        of the ``opinions`` that were given; None where there is none.
    label_probability : ndarray of shape (n,) or None
        How probably each row was to be labelled: 1 where it is referred or its label was known,
        the share of the audit where it is kept; None where no audit was asked for.
    validation : tuple or None
        The validation scores and labels behind the decisions, as they were given; for
        :meth:`report`.
    """

    policy: Policy
    # What was decided about the rows with a score and no known label, and is estimated of them.
    outcome: Outcome
    # Which rows those are, and what becomes of the others; None where they are all.
    roles: RowRoles | None = None
    sample_weight: FloatArray | None = None
    # Compact adapted probabilities of the rows with both a score and a label.
    labelled: FloatArray | None = None
    # The scores, a column for each class or one of two; no copy.
    scores: Any = None
    frame: Any = None
    carried: tuple[str, ...] = ()
    validation: tuple[Any, Any] | None = None
    # Which rows are labelled if they are kept, and how probable that was.
    audited: AuditedRows | None = None
    # The column of each reader's answer, -1 where there is none; None where nobody was asked.
    opinions: Mapping[str, IntArray] | None = None

    def __len__(self) -> int:
        return len(self.outcome.abstain) if self.roles is None else len(self.roles)

    def __repr__(self) -> str:
        return (
            f"<Decisions: {int(self.abstain.sum())} of {len(self)} rows withheld "
            f"({self.abstention_rate:.1%}), metric {self.metric.name}"
            f"{'' if self.positive is None else f', positive class {self.positive}'}>"
        )

    @property
    def classes(self) -> NDArray[Any]:
        """The label of each column of ``proba``."""
        return self.policy.classes

    @property
    def positive(self) -> Any:
        """The positive class, where there is one."""
        return self.policy.positive

    @property
    def priors(self) -> FloatArray:
        """Class proportions that the probabilities are adapted to."""
        return self.policy.priors

    @property
    def source_priors(self) -> FloatArray:
        """Class proportions of the validation data."""
        return self.policy.source_priors

    @property
    def metric(self) -> Metric:
        """What the rule was chosen for."""
        return self.outcome.metric

    @property
    def choice(self) -> Choice:
        """What is withheld, and how the rest is predicted."""
        return self.outcome.choice

    @property
    def certificate(self) -> Certificate | None:
        """What held-out labels prove about the rule."""
        return self.outcome.certificate

    @property
    def level(self) -> float:
        """How often the interval of the estimate is meant to hold."""
        return self.outcome.level

    @property
    def seed(self) -> int:
        """What seeded the draws."""
        return self.outcome.seed

    @property
    def assumption(self) -> Assumption | None:
        """What the figures rest on."""
        return self.outcome.assumption

    @property
    def replicates(self) -> tuple[Replicates, ...]:
        """What intervals are made of, under each assumption that may be right."""
        return self.outcome.replicates

    @property
    def reached(self) -> float | None:
        """How probably the kept rows reach the target that was asked for."""
        return self.outcome.reached

    @property
    def missing(self) -> Mask | None:
        """Which rows have no score; None where all have one."""
        return None if self.roles is None else self.roles.missing

    @property
    def known(self) -> Mask | None:
        """Which rows had a known label; None where none had."""
        return None if self.roles is None else self.roles.known

    @property
    def codes(self) -> IntArray | None:
        """The column of each known label, -1 where it is not known; None where none is."""
        return None if self.roles is None else self.roles.codes

    @property
    def rows(self) -> IntArray | None:
        """Positions in what came of the rows that are here; None where none was dropped."""
        return None if self.roles is None else self.roles.rows

    @property
    def estimate(self) -> Estimate:
        """The metric before and after abstaining, estimated on these rows without labels.

        Rows without a score, and rows whose label is known, are no part of it.
        """
        return self.outcome.estimate

    @property
    def alternative(self) -> dict[World, Estimate] | None:
        """The same in each world, where several were weighed; see ``assumption``."""
        return self.outcome.alternative

    @cached_property
    def arms(self) -> tuple[Arm, ...] | None:
        """The rows released, seen by a person and acted on, where arms promise something."""
        return arms_of(self)

    @cached_property
    def scored(self) -> Decisions:
        """The decisions about the rows that have a score and no known label, as if they were all.

        Everything that is estimated is about these.
        """
        if self.roles is None:
            return self
        return Decisions(
            self.policy,
            self.outcome,
            sample_weight=self.outcome.weight,
            scores=self.roles.scored(self.scores),
        )

    @cached_property
    def scored_at(self) -> IntArray:
        """Positions of the rows that have a score and no known label."""
        return np.arange(len(self)) if self.roles is None else self.roles.at

    def _spread(self, values: NDArray[Any], missing: Any, known: Any) -> NDArray[Any]:
        """Return values of the scored rows for all rows, with others where rows are set aside."""
        if self.roles is None:
            return values
        spread = np.full((len(self), *values.shape[1:]), missing, dtype=values.dtype)
        if self.roles.codes is not None:
            spread[self.roles.codes >= 0] = known
        spread[self.scored_at] = values
        return spread

    @cached_property
    def abstain(self) -> Mask:
        """True where the row goes to a person."""
        return self._spread(self.outcome.abstain, True, False)

    @cached_property
    def over_capacity(self) -> Mask | None:
        """Which rows the rule withholds and are kept all the same."""
        over = self.outcome.over_capacity
        return None if over is None else self._spread(over, False, False)

    @property
    def audit(self) -> Mask | None:
        """Which kept rows are to be labelled as well; None where no audit was asked for."""
        if self.audited is None:
            return None
        drawn: Mask = self.audited.drawn & ~self.abstain
        return drawn if self.known is None else drawn & ~self.known

    @property
    def label_probability(self) -> FloatArray | None:
        """How probably each row was to be labelled; None where no audit was asked for."""
        if self.audited is None:
            return None
        labelled = self.abstain if self.known is None else self.abstain | self.known
        return np.where(labelled, 1.0, self.audited.share)

    @cached_property
    def values(self) -> FloatArray | None:
        """The score that ordered the rows, where the probabilities do not tell it."""
        values = self.outcome.values
        return None if values is None else self._spread(values, np.nan, np.nan)

    @cached_property
    def compact(self) -> FloatArray:
        """Calibrated, adapted probabilities, of two classes those of the positive one."""
        compact = self._spread(self.outcome.compact, np.nan, np.nan)
        if self.roles is not None and self.labelled is not None:
            compact[self.roles.labelled_at] = self.labelled
        return compact

    @cached_property
    def proba(self) -> FloatArray:
        """Calibrated, adapted probabilities, a column per class."""
        return both_columns(self.compact)

    @property
    def calibrated(self) -> FloatArray | None:
        """The same of the scored rows before they were adapted; None where there are no scores."""
        scores = self.scored.scores
        return None if scores is None else self.policy.calibrator.compact(scores)

    @property
    def columns(self) -> IntArray:
        """The predicted column of each row; that of its label where known, -1 without a score."""
        codes = self.codes
        return self._spread(self.outcome.columns, -1, -1 if codes is None else codes[codes >= 0])

    @cached_property
    def prediction(self) -> NDArray[Any]:
        """The predicted class label of each row, also where abstaining; None without a score."""
        return _labels_of(self.classes, self.columns)

    @cached_property
    def answers(self) -> tuple[FloatArray, IntArray]:
        """What each row comes to: probabilities, and the column of the answer, -1 for none.

        The model's where a row is kept; where it is referred the team's, if somebody answered.
        """
        proba, columns, asked = self.proba.copy(), self.columns.copy(), self.abstain
        team = self.policy.team or Team.given(None, "replace", self.classes)
        # Where the model says nothing, rows are as classes are frequent.
        known = np.where(np.isnan(proba[asked]), self.priors, proba[asked])
        given = {name: codes[asked] for name, codes in (self.opinions or {}).items()}
        proba[asked], columns[asked] = team.final(
            known, given, self.choice.rule, self.policy.ratios
        )
        return proba, columns

    @property
    def answer(self) -> NDArray[Any]:
        """The final answer to each row; None where it is referred and nobody has answered."""
        return _labels_of(self.classes, self.answers[1])

    @property
    def abstention_rate(self) -> float:
        """The fraction of the (weighted) rows that is withheld; 0 where there is no row."""
        if not len(self):
            return 0.0
        return float(np.average(self.abstain, weights=self.sample_weight))

    @property
    def current_priors(self) -> Proportions | None:
        """The class proportions of these very rows, as estimated from them, with intervals.

        ``priors`` are those that the probabilities are adapted to: for decisions of a saved
        policy the ones it was made for. None where they were given or taken to stay as they were,
        or where the rows are too few to tell.
        """
        assumed = None if self.assumption is None else self.assumption.assumed
        if self.outcome.shift is None or assumed not in ("weighed", "label-shift"):
            return None
        return self.outcome.shift.proportions(self.level)

    @property
    def gain(self) -> FloatArray:
        """What withholding each row is worth.

        The score that ordered the rows, where there is one: an expected gain in the metric, or
        a score of uncertainty. Where a window of rows is withheld as a whole, its rows share the
        estimated improvement of the metric and the others have 0. NaN for a row without a score,
        and where the metric is the policy maker's own and not known here; 0 where the label is
        known.
        """
        return self._spread(self.outcome.gain, np.nan, 0.0)

    @property
    def priority(self) -> FloatArray:
        """How pressing each row is: higher comes first, and what is withheld before the rest.

        Infinite for a row without a score, minus infinite where the label is known.
        """
        return self._spread(self.outcome.priority, np.inf, -np.inf)

    @property
    def reason(self) -> NDArray[Any]:
        """Why each row is withheld or not, in words; empty for one that is simply kept."""
        words, numbers = self.reasons
        return words[numbers]

    @property
    def reasons(self) -> tuple[NDArray[Any], IntArray]:
        """The reasons there are, and the number of that of each row."""
        words, numbers = ["", self.choice.region.describe()], self.abstain.astype(np.intp)
        marks = {
            NO_SCORE: self.missing,
            "label known": self.known,
            "over capacity": self.over_capacity,
        }
        for said, mask in marks.items():
            if mask is not None:
                numbers[mask] = len(words)
                words.append(said)
        return np.array(words), numbers

    def judged(self, **changes: Any) -> Self:
        """Return the decisions with another outcome for the scored rows, given what changes.

        Its estimate is drawn anew, unless ``figures`` are given.
        """
        return replace(self, outcome=self.outcome.judged(**changes))

    def to_frame(self) -> Any:
        """Return one row per decision, in the kind of frame that the scores came in.

        The frame's index and its columns that are no scores come first, then ``abstain``,
        ``reason`` (the region that withholds the row, or nothing; "no score", "label known" or
        "over capacity" where that is why), ``prediction``, ``threshold``
        (the probability from which on the positive class is predicted, the same in every row;
        only where the rule is a threshold), ``gain`` and the probability of each class as ``p_``
        and its name; where opinions were given, ``answer``; where an audit was asked for,
        ``audit`` and ``label_probability``. A column
        of yours that is called as one of ours keeps its name, and ours begins with ``abstain_``.
        Scores that came as an array give a frame of pandas, Polars or PyArrow, the first of them
        that is installed.
        """
        columns = decision_columns(self, plain_column, gaps=self.missing is not None)
        columns = {free_name(name, self.carried): values for name, values in columns.items()}
        return to_native_frame(columns, like=self.frame, carried=self.carried, rows=self.rows)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a dictionary per decision, ready for JSON, in the order of the rows.

        It has what :meth:`to_frame` makes, as plain values of Python; None for what there is not.
        """
        return decided_rows(self)

    def report(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """Return the page about these decisions, which shows itself in a notebook.

        Parameters
        ----------
        path : path, optional
            Where to write the page as well.
        **options
            Those of :class:`abstain.report.Report`, such as ``ids``, ``groups`` and ``title``.
            Validation data need not be passed for decisions of :meth:`abstain.Abstainer.decide`.
            Decisions of :meth:`abstain.Policy.apply` have the summary that a policy carries:
            the page then says what moved, and that it cannot show calibration or a back-test
            without ``scores_val`` and ``y_val``.

        Returns
        -------
        Report
        """
        # What stands below all rooms is opened when it is asked for.
        from abstain.report import Report

        if self.validation is not None and "scores_val" not in options:
            options |= dict(zip(("scores_val", "y_val"), self.validation, strict=True))
        report = Report(self, **options)
        if path is not None:
            report.save(path)
        return report

    def _estimated(self) -> str:
        if not self.metric.known:
            return unknown_metric(self.metric.name)
        return sentence(f"Estimated {self.metric.name}, without labels:") + self.estimate.html()

    def _repr_html_(self) -> str:
        count = int(self.abstain.sum())
        without = None if self.missing is None else f"{int(self.missing.sum()):,} rows"
        reached = None if self.reached is None else f"with probability {self.reached:.2f}"
        return block(
            "Decisions",
            f"{count:,} of {len(self):,} rows go to a person ({self.abstention_rate:.1%})",
            self._estimated(),
            facts(
                [
                    ("withheld", self.choice.region.describe()),
                    ("without a score", without),
                    ("predicted", self.choice.rule.describe()),
                    ("positive class", self.positive),
                    ("reaches the target", reached),
                    ("certificate", self.certificate and str(self.certificate)),
                ]
            ),
            proportions(self.classes.tolist(), self.source_priors, self.priors),
            "" if self.assumption is None else self.assumption.html(),
            next_steps(".to_frame()", ".report()", '.policy.save("triage.json")'),
        )


def decision_columns(
    decisions: Decisions,
    by_number: ColumnByNumber,
    *,
    gaps: bool,
    of_part: bool = False,
) -> dict[str, Any]:
    """Return the columns of ``Decisions.to_frame`` by their names, wherever the rows are.

    Parameters
    ----------
    decisions : Decisions
        What was decided.
    by_number : callable
        Makes the columns of few distinct values; the others are arrays of NumPy.
    gaps : bool
        Whether there may be rows without a prediction.
    of_part : bool
        Whether these are a part of many rows, as ``Policy.rows`` decided about them. Where rows
        are withheld as one, their gain is a figure of all rows together, which no part can tell:
        it is NaN.
    """
    compact, choice, n = decisions.compact, decisions.choice, len(decisions)
    own = not of_part or gains_by_row(decisions.policy)
    made = {
        "abstain": decisions.abstain,
        "reason": by_number(*decisions.reasons, False),
        "prediction": by_number(decisions.classes, decisions.columns, gaps),
    }
    if choice.rule.threshold is not None:
        made["threshold"] = np.full(n, choice.rule.threshold)
    made["gain"] = decisions.gain if own else np.full(n, np.nan)
    shares = (
        [1.0 - compact, compact] if compact.ndim == 1 else map(np.ascontiguousarray, compact.T)
    )
    labels = decisions.classes.tolist()
    made |= {f"p_{label}": share for label, share in zip(labels, shares, strict=True)}
    if decisions.opinions is not None:
        made["answer"] = by_number(decisions.classes, decisions.answers[1], True)
    if decisions.audited is not None:
        made |= {"audit": decisions.audit, "label_probability": decisions.label_probability}
    return made


def _labels_of(classes: NDArray[Any], columns: IntArray) -> NDArray[Any]:
    """Return the label of each column; None where there is none."""
    labels = classes[columns]
    if (columns < 0).any():
        labels = labels.astype(object)
        labels[columns < 0] = None
    return labels


def decided_rows(decisions: Decisions, *, of_part: bool = False) -> list[dict[str, Any]]:
    """Return the columns by rows, as plain values; None for what is no number."""
    columns = decision_columns(
        decisions, plain_column, gaps=decisions.missing is not None, of_part=of_part
    )
    by_row = zip(*map(plain, columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in by_row]


def plain_column(values: NDArray[Any], numbers: IntArray, gaps: bool) -> Any:
    """Return a column; a list where a gap among whole numbers or text is to stay one."""
    column = values[numbers]
    return (
        [None if k < 0 else one for k, one in zip(numbers, column, strict=True)]
        if gaps
        else column
    )


def gains_by_row(policy: Policy) -> bool:
    """Tell whether the gain of a row is its own, and not a share of what all rows gain."""
    n_classes = len(policy.classes)
    one = np.full(1 if n_classes == 2 else (1, n_classes), 1 / n_classes)
    return policy.region.score(one, policy.rule.predict(one)) is not None


def unknown_metric(name: str) -> str:
    """Return, for a notebook, what is missing where a policy's metric is not known."""
    return doubts(
        [
            f"The metric {name} is the policy maker's own and not known here, so nothing is "
            f"estimated. Call abstain.metrics.register(metric), then load the policy again."
        ]
    )


def free_name(name: str, taken: Container[str]) -> str:
    """Return what a column of ours is called beside columns of the user's."""
    while name in taken:
        name = f"abstain_{name}"
    return name
