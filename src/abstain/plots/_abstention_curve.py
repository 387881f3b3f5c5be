"""The metric against the budget: what withholding more would buy, estimated and realised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from abstain import metrics as metric_registry
from abstain._inputs import FloatArray, IntArray, check_budget, check_seed, rows_of
from abstain.deciding import Batch
from abstain.decisions import Decisions, check_decisions
from abstain.estimation import LEVEL, Replicates, drawn_choice
from abstain.evaluation import JudgedRows
from abstain.metrics import BudgetCurve, Decision, Metric
from abstain.plots._display import SERIES, BatchDisplay, Classes, Rows, as_label, new_axes
from abstain.selection import Selection
from abstain.shift import ratio_of_priors
from abstain.summaries import LabelledSummary

#: The name of the method that withholds what helps the metric most, as in ``compare``.
DELTA_METRIC = "delta-metric"
METHODS = (DELTA_METRIC, "max-probability")
BUDGETS = (0.0, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)


@dataclass(frozen=True, eq=False)
class AbstentionCurve:
    """One method's curve.

    Attributes
    ----------
    estimated : ndarray of shape (n_budgets,)
        The metric of the kept rows, estimated without labels.
    intervals : ndarray of shape (n_budgets, 2)
        Ends of the interval of each estimate.
    realised : ndarray of shape (n_budgets,) or None
        The metric of the kept rows by their labels, where these are known.
    level : float
        How often the intervals are meant to hold.
    """

    estimated: FloatArray
    intervals: FloatArray
    realised: FloatArray | None
    level: float = LEVEL


class AbstentionCurveDisplay(BatchDisplay):
    """The metric of the kept rows against the budget, for one or several methods.

    Lines are estimated without labels, with their intervals as bands; where labels are given,
    dashed lines show what is realised. Make one with :meth:`from_decisions`,
    :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    budgets : array-like of shape (n_budgets,)
        Largest fractions that may be withheld.
    curves : dict of str to AbstentionCurve
        What each method does at these budgets.
    metric : Metric
        What is drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the curves.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> from abstain.datasets import simulate_binary_normal
    >>> from abstain.plots import AbstentionCurveDisplay
    >>> data = simulate_binary_normal(random_state=0)
    >>> display = AbstentionCurveDisplay.from_predictions(
    ...     data.y, data.proba, metric="auroc", budgets=[0, 0.1, 0.3]
    ... )  # doctest: +SKIP
    >>> sorted(display.curves)  # doctest: +SKIP
    ['delta-metric', 'max-probability']
    """

    def __init__(
        self, budgets: ArrayLike, curves: dict[str, AbstentionCurve], metric: Metric
    ) -> None:
        self.budgets = np.asarray(budgets, dtype=np.float64)
        self.curves = curves
        self.metric = metric

    @classmethod
    def from_decisions(
        cls,
        decisions: Decisions,
        y_true: ArrayLike | None = None,
        *,
        budgets: Sequence[float] = BUDGETS,
        methods: Sequence[str] = METHODS,
        ax: Any = None,
    ) -> Self:
        """Draw what other budgets would do to a batch that was decided about.

        Parameters
        ----------
        decisions : Decisions
            What was decided; its metric is drawn.
        y_true : array-like of shape (n,), optional
            True labels, to show what is realised too.
        budgets : sequence of float or int
            Largest fractions that may be withheld, or as whole numbers counts.
        methods : sequence of str
            Names of scores, and ``"delta-metric"`` for what helps the metric most.
        ax : matplotlib Axes, optional
            Where to draw; new axes when not given.
        """
        check_decisions(decisions)
        policy = decisions.policy
        judge = _Judge(
            decisions.metric,
            (policy.selection or Selection()).decision,
            decisions.seed,
            decisions.replicates,
            decisions.level,
            policy.source,
            ratio_of_priors(policy.priors, policy.source_priors),
        )
        rows = Rows.of_decisions(decisions, y_true)
        return cls._of(rows, judge, budgets, methods).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        proba: ArrayLike,
        *,
        metric: Metric | str,
        budgets: Sequence[float] = BUDGETS,
        methods: Sequence[str] = METHODS,
        decision: Decision = "auto",
        sample_weight: ArrayLike | None = None,
        classes: Classes = None,
        random_state: Any = 0,
        ax: Any = None,
    ) -> Self:
        """Draw the curves of calibrated, adapted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n,) or None
            True labels; None draws the estimates alone.
        proba : array-like of shape (n,) or (n, n_classes)
            Probabilities.
        metric : Metric or str
            What to draw.
        budgets : sequence of float or int
            Largest fractions that may be withheld, or as whole numbers counts.
        methods : sequence of str
            Names of scores, and ``"delta-metric"`` for what helps the metric most.
        decision : {"auto", "argmax", "optimal"}
            How the kept rows are predicted, by ``"delta-metric"``.
        sample_weight : array-like of shape (n,), optional
            How much each row counts.
        classes : sequence, optional
            The label of each column.
        random_state : int, Generator or None
            Seeds the draws that the bands are made of.
        ax : matplotlib Axes, optional
            Where to draw; new axes when not given.
        """
        nobody = np.zeros(len(rows_of(proba, "proba")), dtype=bool)
        rows = Rows.of_predictions(
            y_true, proba, nobody, sample_weight=sample_weight, classes=classes
        )
        judge = _Judge(metric_registry.get(metric), decision, check_seed(random_state))
        return cls._of(rows, judge, budgets, methods).plot(ax=ax)

    @classmethod
    def _of(
        cls, rows: Rows, judge: _Judge, budgets: Sequence[float], methods: Sequence[str]
    ) -> Self:
        allowed = [check_budget(budget, name="budgets") for budget in budgets]
        if not allowed or not methods:
            raise ValueError("`budgets` and `methods` must each have at least one entry.")
        if judge.metric.binary_only:
            rows.check_binary(f"`metric` {judge.metric.name!r} is")
        if judge.metric.of_positive and len(rows.classes) == 2:
            rows.check_positive(f"`metric` {judge.metric.name!r} is")
        curves = {method: judge.curve(rows, method, allowed) for method in methods}
        total = len(rows.proba) if rows.weight is None else float(rows.weight.sum())
        fractions = [one / total if isinstance(one, int) else one for one in allowed]
        return cls(fractions, curves, judge.metric)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the curves."""
        self.figure_, self.ax_ = new_axes(ax)
        percent = 100 * self.budgets
        realised = False
        for number, (name, curve) in enumerate(self.curves.items()):
            color, marker = SERIES[number % len(SERIES)]
            self.ax_.fill_between(
                percent, *curve.intervals.T, color=color, alpha=0.15, linewidth=0
            )
            self.ax_.plot(
                percent, curve.estimated, color=color, marker=marker, label=as_label(name)
            )
            if curve.realised is not None:
                realised = True
                self.ax_.plot(
                    percent, curve.realised, color=color, marker=marker, markersize=4,
                    markerfacecolor="white", linestyle="--", label="_nolegend_",
                )  # fmt: skip
        # What the kinds of line mean, once for all methods.
        levels = {f"{100 * curve.level:g}%" for curve in self.curves.values()}
        label = f"{' and '.join(sorted(levels))} interval of the estimate"
        self.ax_.fill_between(percent[:0], [], [], color="0.5", alpha=0.3, label=label)
        if realised:
            self.ax_.plot([], [], color="0.3", linestyle="-", label="estimated without labels")
            self.ax_.plot([], [], color="0.3", linestyle="--", label="realised")
        better = "" if self.metric.greater_is_better else " (lower is better)"
        self.ax_.set(
            xlabel="budget: largest share withheld, in percent",
            ylabel=f"{as_label(self.metric.name)} of the kept rows{better}",
            title="What abstaining buys",
        )
        self.ax_.grid(color="0.92")
        self.ax_.set_axisbelow(True)
        self.ax_.legend(frameon=False)
        return self


@dataclass(frozen=True, eq=False)
class _Judge:
    """How rows are chosen and judged."""

    metric: Metric
    decision: Decision
    seed: int
    replicates: tuple[Replicates, ...] = ()
    level: float = LEVEL
    source: LabelledSummary | None = None
    weights: FloatArray | None = None

    def curve(self, rows: Rows, method: str, budgets: list[float]) -> AbstentionCurve:
        # What a score that does not know the metric comes with: the most probable class.
        selection = Selection(score=method, decision="argmax")
        if method == DELTA_METRIC:
            selection = Selection(decision=self.decision)
        compact = rows.proba if rows.proba.shape[1] > 2 else np.ascontiguousarray(rows.proba[:, 1])
        summary = Batch.of_rows(compact, rows.weight, self.metric, selection).chosen_from
        found = selection.curve(
            self.metric,
            summary,
            budgets,
            seed=self.seed,
            labelled=self.source,
            weights=self.weights,
        )
        estimates = [
            drawn_choice(
                self.metric, summary, choice, seed=self.seed, replicates=self.replicates
            ).estimate(self.level)
            for choice in found.choices
        ]
        return AbstentionCurve(
            np.array([estimate.after.value for estimate in estimates]),
            np.array([estimate.after.interval for estimate in estimates]),
            None if rows.codes is None else self._realised(rows, rows.codes, found),
            self.level,
        )

    def _realised(self, rows: Rows, codes: IntArray, curve: BudgetCurve) -> FloatArray:
        values = []
        for choice in curve.choices:
            prediction, abstain = choice.apply(rows.proba)
            kept = ~abstain
            weight = None if rows.weight is None else rows.weight[kept]
            part = JudgedRows(codes[kept], rows.proba[kept], prediction[kept], weight)
            values.append(part.value(self.metric) if kept.any() else float("nan"))
        return np.array(values)
