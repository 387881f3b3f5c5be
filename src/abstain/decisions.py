"""Decisions: what was decided about each row of a batch, and what it is expected to do."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray, Mask, both_columns, to_native_frame
from abstain.certificates import Certificate
from abstain.estimation import LEVEL, Decided, Drawn, Estimate, Replicates, drawn_rows
from abstain.metrics import Metric
from abstain.regions import Choice
from abstain.shift import Assumption
from abstain.summaries import Summary, summarise

__all__ = ["Decisions"]

P = TypeVar("P")


@dataclass(frozen=True, eq=False)
class Decisions(Generic[P]):
    """What to do with each row of a batch.

    Attributes
    ----------
    abstain : ndarray of bool, shape (n,)
        True where the row goes to a person.
    proba : ndarray of shape (n, n_classes)
        Calibrated, adapted probabilities.
    prediction : ndarray of shape (n,)
        The predicted class label, also where abstaining.
    priors, source_priors : ndarray of shape (n_classes,)
        Estimated class proportions of the batch, and those of the validation data.
    classes : ndarray of shape (n_classes,)
        The label of each column.
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
    frame: Any = None
    carried: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.abstain)

    @cached_property
    def proba(self) -> FloatArray:
        """Calibrated, adapted probabilities, a column per class."""
        return both_columns(self.compact)

    @property
    def columns(self) -> IntArray:
        """The predicted column of each row."""
        return self.choice.rule.predict(self.compact)

    @cached_property
    def prediction(self) -> NDArray[Any]:
        """The predicted class label of each row, also where abstaining."""
        return self.classes[self.columns]

    @property
    def abstention_rate(self) -> float:
        """The fraction of the (weighted) rows that is withheld."""
        return float(np.average(self.abstain, weights=self.sample_weight))

    @cached_property
    def estimate(self) -> Estimate:
        """The metric before and after abstaining, estimated on these rows without labels."""
        if self.known_estimate is not None:
            return self.known_estimate
        return self._drawn(self.replicates).estimate(self.level)

    @cached_property
    def alternative(self) -> Estimate | None:
        """The same under the other assumption, where one was chosen of two; see ``assumption``."""
        if self.other is None:
            return None
        return self._drawn((self.other(),)).estimate(self.level)

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
        summary: Summary,
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
        how: dict[str, Any] = {"replicates": replicates, "seed": self.seed}
        return drawn_rows(self.metric, summary, decided, labelled, **how)

    @property
    def gain(self) -> FloatArray:
        """What withholding each row is worth.

        The score that ordered the rows, where there is one: an expected gain in the metric, or
        a score of uncertainty. Where a window of rows is withheld as a whole, its rows share the
        estimated improvement of the metric and the others have 0.
        """
        if self.values is not None:
            return self.values
        score = self.choice.region.score(self.compact, self.columns)
        if score is not None:
            return score
        sign = 1.0 if self.metric.greater_is_better else -1.0
        bins = self.metric.bins_for(len(self))
        summary = self.metric._summarised(self.compact, self.sample_weight, bins)
        decided = self.metric._applied(self.choice, summary)
        before, after = self.metric._before_and_after(summary, *decided)
        each = np.nan_to_num(sign * (after - before)) / max(int(self.abstain.sum()), 1)
        return np.where(self.abstain, each, 0.0)

    @property
    def priority(self) -> FloatArray:
        """How pressing each row is: higher comes first, and what is withheld before the rest."""
        if self.values is not None:
            return self.values
        return self.choice.region.priority(self.compact, self.columns, self.choice.rule)

    def to_frame(self) -> Any:
        """Return one row per decision, in the kind of frame that the scores came in.

        The frame's index and its columns that are no scores come first, then ``abstain``,
        ``reason`` (the region that withholds the row, or nothing), ``prediction``, ``threshold``
        (the probability from which on the positive class is predicted, the same in every row;
        only where the rule is a threshold), ``gain`` and the probability of each class as ``p_``
        and its name. Scores that came as an array
        give a frame of pandas, Polars or PyArrow, the first of them that is installed.
        """
        columns: dict[str, Any] = {
            "abstain": self.abstain,
            "reason": np.where(self.abstain, self.choice.region.describe(), ""),
            "prediction": self.prediction,
        }
        threshold = self.choice.rule.threshold
        if threshold is not None:
            columns["threshold"] = np.full(len(self), threshold)
        columns["gain"] = self.gain
        for name, values in zip(self.classes.tolist(), self.proba.T, strict=True):
            columns[f"p_{name}"] = values
        return to_native_frame(columns, like=self.frame, carried=self.carried)

    def __repr__(self) -> str:
        return (
            f"<Decisions: {int(self.abstain.sum())} of {len(self)} rows withheld "
            f"({self.abstention_rate:.1%}), metric {self.metric.name}>"
        )
