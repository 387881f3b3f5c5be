"""Estimates: the metric on all rows and on the kept rows, without labels, with intervals.

What the probabilities say, rectified by the labelled rows (prediction-powered inference): under
label shift the validation rows, counted as rows of the batch, tell how wrong the probabilities are
where rows are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import stdtrit

from abstain import _words as words
from abstain._display import block, intervals
from abstain._inputs import FloatArray, IntArray, Mask
from abstain._numerics import nan_if_none, plain, weighted_quantiles
from abstain._schema import FOUND, Keys, ListOf, Number
from abstain.estimation._replicates import Replicates
from abstain.metrics import Metric
from abstain.regions import Choice
from abstain.summaries import BatchSummary, LabelledReplicates, Moves

LEVEL = 0.9
# Multiples of it fill the unit interval evenly.
_GOLDEN = 0.6180339887498949
# Degrees of freedom of what a metric wanders.
_BLOCKS = 4

_VALUE: Keys = {
    "value": FOUND,
    "interval": ListOf(FOUND, FOUND),
    "level?": Number(0, 1, open=True),
}
#: What a policy file holds of an estimate.
KEYS: Keys = {"before": _VALUE, "after": _VALUE}

#: Predicted columns, and what is withheld.
Marks = tuple[IntArray, Mask]


@dataclass(frozen=True, repr=False)
class EstimatedValue:
    """A metric estimated without labels, and where its realised value is expected to lie.

    Parameters
    ----------
    value : float
        The estimate; NaN where the metric is not defined, as where nothing is kept. It is None in
        plain data, and "not defined" in words.
    interval : tuple of float
        Where the realised value lies as often as ``level`` says. It holds the noise of the
        unknown labels, that of the class proportions and of the calibration, and how far the
        labelled rows contradict the probabilities.
    level : float
        How often.
    """

    value: float
    interval: tuple[float, float]
    level: float = LEVEL

    @classmethod
    def undefined(cls, level: float) -> Self:
        """Return the estimate of what is not defined."""
        return cls(float("nan"), (float("nan"), float("nan")), level)

    def __str__(self) -> str:
        return words.estimate(self.value, self.interval, self.level)

    def __repr__(self) -> str:
        return f"<EstimatedValue {self}>"

    def _repr_html_(self) -> str:
        shown = intervals([("", self.value, self.interval)], self.level)
        return block("Estimate", "without labels", shown)

    def holds(self, value: float) -> bool:
        """Tell whether a realised value lies in the interval."""
        return bool(self.interval[0] <= value <= self.interval[1])


@dataclass(frozen=True, repr=False)
class Estimate:
    """The metric on all rows and on the kept rows, both estimated without labels."""

    before: EstimatedValue
    after: EstimatedValue

    @classmethod
    def undefined(cls, level: float = LEVEL) -> Self:
        """Return the estimate of no rows at all."""
        return cls(EstimatedValue.undefined(level), EstimatedValue.undefined(level))

    def __repr__(self) -> str:
        return f"<Estimate: before abstaining {self.before}, after {self.after}>"

    def _repr_html_(self) -> str:
        return block("Estimate", "of the metric, without labels", self.html())

    def html(self) -> str:
        """Return both as a table for a notebook."""
        rows = [("all rows", self.before), ("kept rows", self.after)]
        return intervals([(name, one.value, one.interval) for name, one in rows], self.after.level)

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain data; what is not defined is None."""
        return {
            moment: plain({"value": part.value, "interval": part.interval, "level": part.level})
            for moment, part in (("before", self.before), ("after", self.after))
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the estimate that ``to_dict`` described."""
        parts = {}
        for moment, part in data.items():
            low, high = part["interval"]
            if (low is None) != (high is None) or (low is not None and low > high):
                raise ValueError(
                    f"`estimate.{moment}.interval` must be two numbers, the lower first, or null"
                )
            if part["value"] is not None and low is None:
                raise ValueError(f"`estimate.{moment}` has a value and no interval")
            interval = nan_if_none(low), nan_if_none(high)
            level = part.get("level", LEVEL)
            parts[moment] = EstimatedValue(nan_if_none(part["value"]), interval, level)
        return cls(**parts)


@dataclass(frozen=True, eq=False)
class Drawn:
    """What the metric might come out as, on all rows and on the kept, many times.

    Parameters
    ----------
    before, after : ndarray of shape (n_draws,)
        Under one assumption that may be right after the other.
    weight : ndarray of shape (n_draws,)
        What each counts.
    rows : (float, float)
        How many rows the metric is of, before and after.
    bounds : (float, float)
        Between which the metric lies.
    unseen : float
        The share of the rows of which any of that may be true.
    wander : float
        The standard deviation of what the metric wanders in time beside.
    """

    before: FloatArray
    after: FloatArray
    weight: FloatArray
    rows: tuple[float, float]
    bounds: tuple[float, float]
    unseen: float = 0.0
    wander: float = 0.0

    def estimate(self, level: float = LEVEL) -> Estimate:
        """Return the middle of the draws, and the interval that holds a share of them."""
        least, most = self.bounds
        bounded = np.isfinite(most - least)
        estimates = []
        for draws, n_rows in zip((self.before, self.after), self.rows, strict=True):
            defined = np.isfinite(draws)
            found, weight = draws[defined], self.weight[defined]
            # Where most draws are not defined, neither is the metric.
            if 2 * weight.sum() < self.weight.sum() or not n_rows:
                estimates.append(EstimatedValue.undefined(level))
                continue
            # What comes true is one draw more: of n draws this level holds it as often as asked.
            n = weight.sum() ** 2 / (weight**2).sum()
            tail = max(((1 - level) / 2 * (n + 1) - 0.5) / n, 0.0)
            low, value, high = weighted_quantiles(found, weight, [tail, 0.5, 1 - tail]).tolist()
            if self.wander or (self.unseen and bounded):
                lower, upper = weighted_quantiles(
                    self._widened(found), weight, [tail, 1 - tail]
                ).tolist()
                low, high = min(low, lower), max(high, upper)
            # As long as there is a row, it may be another than is thought.
            more = max((most - least if bounded else 1.0) / n_rows - (high - low), 0.0)
            # Means of draws that are one and the same may differ in their last digit.
            ends = min(max(low - more, least), value), max(min(high + more, most), value)
            estimates.append(EstimatedValue(value, ends, level))
        return Estimate(*estimates)

    def _widened(self, draws: FloatArray) -> FloatArray:
        """Return draws with what may be beside, in an order that has nothing to do with theirs."""
        evenly, (least, most) = np.arange(1, len(draws) + 1) * _GOLDEN % 1, self.bounds
        if self.wander:
            # By how much is known from a few blocks of time alone, so extremes are likelier.
            draws = np.clip(draws + self.wander * stdtrit(_BLOCKS, evenly), least, most)
        if self.unseen and np.isfinite(most - least):
            # Rows that nobody has seen the like of may be anything: evenly over all there is.
            draws = (1 - self.unseen) * draws + self.unseen * (least + (most - least) * evenly)
        return draws


def drawn_choice(
    metric: Metric,
    summary: BatchSummary,
    choice: Choice,
    *,
    replicates: Sequence[Replicates] = (),
    seed: int = 0,
) -> Drawn:
    """Draw what a choice does to a batch, from its summary."""
    metric, decided = metric.for_choice(choice), metric.applied(choice, summary)
    labelled = [choice.apply(one.labelled.proba) for one in replicates[:1]]
    return drawn_rows(metric, summary, decided, *labelled, replicates=replicates, seed=seed)


def drawn_rows(
    metric: Metric,
    summary: BatchSummary,
    decided: Marks,
    labelled: Marks | None = None,
    *,
    replicates: Sequence[Replicates] = (),
    seed: int = 0,
) -> Drawn:
    """Draw a metric on everything and on what is kept.

    Parameters
    ----------
    metric : Metric
    summary : BatchSummary
        The batch, adapted.
    decided, labelled : (ndarray, ndarray)
        Predicted columns and what is withheld, of the batch and of the labelled rows. Where that
        is not known of labelled rows, nothing is rectified.
    replicates : sequence of Replicates
        What the data leave open, under each assumption that may be right; none for the noise of
        labels alone.
    seed : int
    """
    if replicates:
        before, after = _drawn_under(metric, summary, decided, labelled, replicates, seed)
        sizes = [len(one.noise) for one in replicates]
    else:
        ones = np.ones((metric.n_replicates, summary.proba.shape[1]))
        still = Moves(ones, np.zeros_like(ones), ones, ones[0])
        before, after = metric.moved_draws(summary, *decided, still, seed)
        sizes = [len(before)]
    weight = summary.weight
    counts = ~decided[1] | metric.of_team
    kept = np.count_nonzero(counts) if weight is None else weight[counts].sum()
    each = np.array([one.weight for one in replicates] or [1.0]) / sizes
    return Drawn(
        before,
        after,
        np.repeat(each, sizes),
        (float(summary.total), float(kept)),
        metric.value_range,
        max((one.unseen for one in replicates), default=0.0),
        max((one.drift.spread(metric.name) for one in replicates if one.drift), default=0.0),
    )


def _drawn_under(
    metric: Metric,
    summary: BatchSummary,
    decided: Marks,
    labelled: Marks | None,
    replicates: Sequence[Replicates],
    seed: int,
) -> tuple[FloatArray, FloatArray]:
    """Draw under one assumption after the other, all at once, and rectify by the labelled rows."""
    moves = Moves.joined([one.moves[1:] for one in replicates])
    drawn = metric.moved_draws(summary, *decided, moves, seed)
    if labelled is None:
        return drawn
    column, out = labelled
    if not decided[1].any():
        # Nothing is withheld here, so all labelled rows speak of what is kept.
        out = np.zeros_like(out)
    n, part = len(replicates), replicates[0].part
    observed = LabelledReplicates.joined([one.observed for one in replicates], n)
    # As they are under each, and then drawn again.
    again = [one.again[:1] for one in replicates] + [one.again[1:] for one in replicates]
    owner = np.repeat(np.arange(n), [len(one.noise) for one in replicates])
    of_all, of_kept = metric.misfits(observed, column, out, seed)
    others = metric.misfits(LabelledReplicates.joined(again, n), column[part], out[part], seed)
    # Against the same rows as they are: moved probabilities are less sure on average, which
    # the labelled rows tell as well, and so it goes out of the sum.
    noises = [other[n:] - other[owner] for other in others]
    misfits = of_all, _kept_misfits(of_all, of_kept, noises[1] - noises[0], owner)
    sides = []
    for side, misfit, noise in zip(drawn, misfits, noises, strict=True):
        known = np.isfinite(noise)
        speaks = np.isfinite(misfit) & (np.bincount(owner, known, n) > 0)
        wrong = misfit[owner] + np.where(known, noise, 0.0)
        sides.append(np.clip(side + np.where(speaks[owner], wrong, 0.0), *metric.value_range))
    before, after = sides
    return before, after


def _kept_misfits(
    of_all: FloatArray, of_kept: FloatArray, noise: FloatArray, owner: IntArray
) -> FloatArray:
    """Return by how much to rectify the kept rows: as all rows, and by what is more than noise.

    What withholding does is told by the probabilities far better than by few labelled rows. So
    their word on the difference counts the more the further it exceeds its noise.
    One for each assumption, with the noise of its replicates.
    """
    difference, known, n = of_kept - of_all, np.isfinite(noise), len(of_all)
    told = np.bincount(owner, known, n)
    spread = np.bincount(owner, np.where(known, noise, 0.0) ** 2, n) / np.maximum(told, 1)
    tells = np.isfinite(difference) & (difference != 0) & (told > 0)
    counted = difference**3 / np.where(tells, difference**2 + spread, 1.0)
    return np.where(tells, of_all + counted, of_kept)
