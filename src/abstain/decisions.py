"""Decisions: what was decided about each row of a batch, and what it is expected to do."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from abstain._display import block, doubts, facts, next_steps, proportions, sentence
from abstain._inputs import Aside, FloatArray, IntArray, Mask, both_columns, to_native_frame
from abstain.certificates import Certificate
from abstain.estimation import LEVEL, Decided, Drawn, Estimate, Replicates, drawn_rows
from abstain.exceptions import RepairWarning, warn_user
from abstain.metrics import Metric
from abstain.regions import Choice
from abstain.shift import Assumption, Proportions, drawn_proportions
from abstain.summaries import BatchSummary, summarise

__all__ = ["Decisions"]

P = TypeVar("P")


def check_decisions(decisions: Any) -> None:
    """Raise if something else came where decisions are due."""
    if not isinstance(decisions, Decisions):
        raise TypeError(
            f"`decisions` must be what Abstainer.decide() or Policy.apply() returned; got "
            f"{type(decisions).__name__}."
        )


@dataclass(frozen=True, eq=False)
class Decisions(Generic[P]):
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
    rows : ndarray of int, shape (n,), or None
        Positions in what came of the rows that are here; None where none was dropped.
    over_capacity : ndarray of bool, shape (n,), or None
        Which rows the rule withholds and are kept all the same, as ``at_most`` is used up; None
        where that was not asked for.
    validation : tuple or None
        The validation scores and labels behind the decisions, as they were given; for
        :meth:`report`.
    """

    # Of two classes the probability of the positive one: half the memory of two columns.
    compact: FloatArray
    abstain: Mask
    choice: Choice
    metric: Metric
    classes: NDArray[Any]
    priors: FloatArray
    source_priors: FloatArray
    policy: P
    certificate: Certificate | None = None
    sample_weight: FloatArray | None = None
    seed: int = 0
    level: float = LEVEL
    assumption: Assumption | None = None
    replicates: tuple[Replicates, ...] = ()
    other: Callable[[], Replicates] | None = None
    reached: float | None = None
    values: FloatArray | None = None
    known_estimate: Estimate | None = None
    # Calibrated as they were, where a class is estimated to be gone: nothing leads back to them.
    unadapted: FloatArray | None = None
    frame: Any = None
    carried: tuple[str, ...] = field(default=())
    positive: Any = None
    missing: Mask | None = None
    known: Mask | None = None
    rows: IntArray | None = None
    over_capacity: Mask | None = None
    # The least priority that is withheld, where a capacity and not the region says so.
    least_pressing: float | None = None
    # Where rows are set aside: which columns the known labels are, and the decisions about the
    # other rows, which everything that is estimated is about.
    codes: IntArray | None = None
    decided: Decisions[P] | None = None
    validation: tuple[Any, Any] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.abstain)

    @cached_property
    def proba(self) -> FloatArray:
        """Calibrated, adapted probabilities, a column per class."""
        return both_columns(self.compact)

    @property
    def scored(self) -> Decisions[P]:
        """The decisions about the rows that have a score and no known label, as if they were all.

        Everything that is estimated is about these.
        """
        return self if self.decided is None else self.decided

    @cached_property
    def scored_at(self) -> IntArray:
        """Positions of the rows that have a score and no known label."""
        out = np.zeros(len(self), dtype=np.bool_)
        for mask in (self.missing, self.known):
            if mask is not None:
                out |= mask
        return np.flatnonzero(~out)

    def _spread(self, values: NDArray[Any], missing: float, known: Any) -> NDArray[Any]:
        """Return values of the scored rows for all rows, with others where rows are set aside."""
        if self.decided is None:
            return values
        spread = np.full(len(self), missing, dtype=values.dtype)
        if self.known is not None:
            spread[self.known] = known
        spread[self.scored_at] = values
        return spread

    @property
    def columns(self) -> IntArray:
        """The predicted column of each row; that of its label where known, -1 without a score."""
        if self.decided is None:
            return self.choice.rule.predict(self.compact)
        labels = -1 if self.codes is None else self.codes[self.codes >= 0]
        return self._spread(self.decided.columns, -1, labels)

    @cached_property
    def prediction(self) -> NDArray[Any]:
        """The predicted class label of each row, also where abstaining; None without a score."""
        columns = self.columns
        predicted = self.classes[columns]
        if (columns < 0).any():
            predicted = predicted.astype(object)
            predicted[columns < 0] = None
        return predicted

    @property
    def abstention_rate(self) -> float:
        """The fraction of the (weighted) rows that is withheld; 0 where there is no row."""
        if not len(self):
            return 0.0
        return float(np.average(self.abstain, weights=self.sample_weight))

    @cached_property
    def estimate(self) -> Estimate:
        """The metric before and after abstaining, estimated on these rows without labels.

        Rows without a score, and rows whose label is known, are no part of it.
        """
        if self.known_estimate is not None:
            return self.known_estimate
        if self.decided is not None:
            return self.decided.estimate
        return self._drawn(self.replicates).estimate(self.level)

    @cached_property
    def alternative(self) -> Estimate | None:
        """The same under the other assumption, where one was chosen of two; see ``assumption``."""
        if self.decided is not None:
            return self.decided.alternative
        if self.other is None:
            return None
        return self._drawn((self.other(),)).estimate(self.level)

    @property
    def current_priors(self) -> Proportions | None:
        """The class proportions of these very rows, as estimated from them, with intervals.

        ``priors`` are those that the probabilities are adapted to: for decisions of a saved
        policy the ones it was made for. None where label shift was not assumed, or where the rows
        are too few to tell.
        """
        assumed = None if self.assumption is None else self.assumption.assumed
        if not self.replicates or assumed != "label-shift":
            return None
        moves = self.replicates[0].moves
        return drawn_proportions(moves.ratios, self.source_priors, moves.used, self.level)

    def _drawn(self, replicates: tuple[Replicates, ...]) -> Drawn:
        by_rule = self.metric.ranks and self.values is None
        if by_rule and (self.choice.withheld(self.compact) == self.abstain).all():
            bins = self.metric.bins_for(len(self))
            atoms = self.metric._summarised(self.compact, self.sample_weight, bins)
            decided = self.metric._applied(self.choice, atoms)
            return self.drawn_on(atoms, self.choice, decided, replicates)
        rows = summarise(self.proba, self.sample_weight)
        return self.drawn_on(rows, self.choice, (self.columns, self.abstain), replicates)

    def drawn_on(
        self,
        summary: BatchSummary,
        choice: Choice,
        decided: Decided,
        replicates: tuple[Replicates, ...] | None = None,
    ) -> Drawn:
        """Draw what a choice would do to these rows, from a summary and what it does to that."""
        replicates = self.replicates if replicates is None else replicates
        labelled = None
        if replicates:
            proba = replicates[0].labelled.proba
            # What a score from outside would do to labelled rows nobody knows.
            labelled = choice.apply(proba) if self.values is None else choice.predicted(proba)
            if self.least_pressing is not None and choice is self.choice:
                pressing = choice.region.priority(proba, labelled[0], choice.rule)
                labelled = labelled[0], labelled[1] & (pressing >= self.least_pressing)
        how: dict[str, Any] = {"replicates": replicates, "seed": self.seed}
        return drawn_rows(self.metric, summary, decided, labelled, **how)

    @property
    def gain(self) -> FloatArray:
        """What withholding each row is worth.

        The score that ordered the rows, where there is one: an expected gain in the metric, or
        a score of uncertainty. Where a window of rows is withheld as a whole, its rows share the
        estimated improvement of the metric and the others have 0. NaN for a row without a score,
        and where the metric is the policy maker's own and not known here; 0 where the label is
        known.
        """
        if self.decided is not None:
            return self._spread(self.decided.gain, np.nan, 0.0)
        if self.values is not None:
            return self.values
        if not len(self):
            return np.empty(0)
        score = self.choice.region.score(self.compact, self.columns)
        if score is not None:
            return score
        if not self.metric.known:
            warn_user(
                f"`gain` is NaN: it is what the metric {self.metric.name!r} gains, which is not "
                f"known here until abstain.metrics.register(metric) is called.",
                RepairWarning,
            )
            return np.full(len(self), np.nan)
        sign = 1.0 if self.metric.greater_is_better else -1.0
        bins = self.metric.bins_for(len(self))
        if self.least_pressing is None:
            summary = self.metric._summarised(self.compact, self.sample_weight, bins)
            decided = self.metric._applied(self.choice, summary)
        else:
            summary = summarise(self.proba, self.sample_weight)
            decided = self.columns, self.abstain
        before, after = self.metric._before_and_after(summary, *decided)
        each = np.nan_to_num(sign * (after - before)) / max(int(self.abstain.sum()), 1)
        return np.where(self.abstain, each, 0.0)

    @property
    def priority(self) -> FloatArray:
        """How pressing each row is: higher comes first, and what is withheld before the rest.

        Infinite for a row without a score, minus infinite where the label is known.
        """
        if self.decided is not None:
            return self._spread(self.decided.priority, np.inf, -np.inf)
        if self.values is not None:
            return self.values
        return self.choice.region.priority(self.compact, self.columns, self.choice.rule)

    @property
    def reason(self) -> NDArray[Any]:
        """Why each row is withheld or not, in words; empty for one that is simply kept."""
        said = np.where(self.abstain, self.choice.region.describe(), "")
        marks = {
            "no score": self.missing,
            "label known": self.known,
            "over capacity": self.over_capacity,
        }
        for words, mask in marks.items():
            if mask is not None:
                said = np.where(mask, words, said)
        return said

    def within(self, at_most: int) -> Self:
        """Return the decisions with no more than so many rows withheld, the most pressing ones.

        Of rows that are as pressing as each other the first come first. The others are kept, and
        the estimate is of what is kept then; nothing is proved of it.
        """
        over = np.zeros(len(self), dtype=np.bool_)
        withheld = np.flatnonzero(self.abstain)
        if len(withheld) <= at_most:
            return replace(self, over_capacity=over)
        pressing = self.priority[withheld]
        order = np.argsort(-pressing, kind="stable")
        over[withheld[order[at_most:]]] = True
        return replace(
            self,
            abstain=self.abstain & ~over,
            over_capacity=over,
            least_pressing=float(pressing[order[at_most - 1]]) if at_most else np.inf,
            known_estimate=None,
            certificate=None,
        )

    def beside(
        self,
        aside: Aside,
        sample_weight: FloatArray | None = None,
        labelled: FloatArray | None = None,
    ) -> Self:
        """Return these decisions together with what becomes of the rows that were set aside.

        Parameters
        ----------
        aside : Aside
            Which rows those are; these decisions are about the others.
        sample_weight : ndarray, optional
            The weight of all rows that are not dropped.
        labelled : ndarray, optional
            Compact adapted probabilities of the rows with both a score and a label.
        """
        if aside.nothing:
            return self
        compact = np.full((len(aside), *self.compact.shape[1:]), np.nan)
        compact[aside.at] = self.compact
        if labelled is not None:
            compact[aside.labelled_at] = labelled
        abstain = aside.referred
        abstain[aside.at] = self.abstain
        everyone = replace(
            self,
            compact=compact,
            abstain=abstain,
            sample_weight=sample_weight,
            missing=aside.missing,
            known=aside.known,
            codes=aside.codes,
            rows=aside.rows,
            decided=replace(self, frame=None, carried=()),
        )
        if self.over_capacity is not None:
            over = np.zeros(len(aside), dtype=np.bool_)
            over[aside.at] = self.over_capacity
            everyone = replace(everyone, over_capacity=over)
        if self.values is not None:
            everyone = replace(everyone, values=everyone._spread(self.values, np.nan, np.nan))
        return everyone

    def to_frame(self) -> Any:
        """Return one row per decision, in the kind of frame that the scores came in.

        The frame's index and its columns that are no scores come first, then ``abstain``,
        ``reason`` (the region that withholds the row, or nothing; "no score", "label known" or
        "over capacity" where that is why), ``prediction``, ``threshold``
        (the probability from which on the positive class is predicted, the same in every row;
        only where the rule is a threshold), ``gain`` and the probability of each class as ``p_``
        and its name. A column of yours that is called as one of ours keeps its name, and ours
        begins with ``abstain_``. Scores that came as an array
        give a frame of pandas, Polars or PyArrow, the first of them that is installed.
        """
        columns: dict[str, Any] = {
            "abstain": self.abstain,
            "reason": self.reason,
            # A list, so that a gap among whole numbers or text is a gap in any kind of frame.
            "prediction": self.prediction if self.missing is None else [*self.prediction],
        }
        threshold = self.choice.rule.threshold
        if threshold is not None:
            columns["threshold"] = np.full(len(self), threshold)
        columns["gain"] = self.gain
        for name, values in zip(self.classes.tolist(), self.proba.T, strict=True):
            columns[f"p_{name}"] = values
        columns = {free_name(name, self.carried): values for name, values in columns.items()}
        return to_native_frame(columns, like=self.frame, carried=self.carried, rows=self.rows)

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
        report = Report(cast(Any, self), **options)
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

    def __repr__(self) -> str:
        return (
            f"<Decisions: {int(self.abstain.sum())} of {len(self)} rows withheld "
            f"({self.abstention_rate:.1%}), metric {self.metric.name}"
            f"{'' if self.positive is None else f', positive class {self.positive}'}>"
        )


def unknown_metric(name: str) -> str:
    """Return, for a notebook, what is missing where a policy's metric is not known."""
    return doubts(
        [
            f"The metric {name} is the policy maker's own and not known here, so nothing is "
            f"estimated. Call abstain.metrics.register(metric), then load the policy again."
        ]
    )


def free_name(name: str, taken: tuple[str, ...]) -> str:
    """Return what a column of ours is called beside columns of the user's."""
    while name in taken:
        name = f"abstain_{name}"
    return name
