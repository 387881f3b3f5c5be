"""Estimates: the metric on all rows and on the kept rows, without labels, with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask
from abstain._numerics import nan_if_none, plain
from abstain.estimation._moves import Move
from abstain.metrics import Metric
from abstain.regions import Choice
from abstain.summaries import Summary

__all__ = ["Estimate", "EstimatedValue", "estimate_choice", "estimate_rows"]

LEVEL = 0.9
N_DRAWS = 200


@dataclass(frozen=True)
class EstimatedValue:
    """A metric estimated without labels, and where its realised value is expected to lie.

    Parameters
    ----------
    value : float
        The estimate; NaN where the metric is not defined.
    interval : tuple of float
        Ends of the 90% interval. It holds the noise of the unknown labels: how the metric would
        come out over and over if labels were drawn from the probabilities; and, where asked for,
        the uncertainty of the class proportions and of the calibration.
    """

    value: float
    interval: tuple[float, float]

    def __str__(self) -> str:
        return f"{self.value:.4f} (90% interval {self.interval[0]:.4f} to {self.interval[1]:.4f})"


@dataclass(frozen=True)
class Estimate:
    """The metric on all rows and on the kept rows, both estimated without labels."""

    before: EstimatedValue
    after: EstimatedValue

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain data; what is not defined is None."""
        return {
            moment: plain({"value": part.value, "interval": part.interval})
            for moment, part in (("before", self.before), ("after", self.after))
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the estimate that ``to_dict`` described."""
        before, after = (
            EstimatedValue(
                nan_if_none(data[moment]["value"]),
                (
                    nan_if_none(data[moment]["interval"][0]),
                    nan_if_none(data[moment]["interval"][1]),
                ),
            )
            for moment in ("before", "after")
        )
        return cls(before=before, after=after)


def estimate_choice(
    metric: Metric, summary: Summary, choice: Choice, *, seed: int = 0, moves: Sequence[Move] = ()
) -> Estimate:
    """Estimate what a choice does to a batch, from its summary."""
    prediction, withheld = metric._applied(choice, summary)
    return estimate_rows(metric, summary, prediction, withheld, seed=seed, moves=moves)


def estimate_rows(
    metric: Metric,
    summary: Summary,
    prediction: IntArray,
    withheld: Mask,
    *,
    seed: int = 0,
    moves: Sequence[Move] = (),
) -> Estimate:
    """Estimate a metric on everything and on what is kept, with intervals.

    With ``moves`` labels are drawn from the probabilities that might have been, too.
    """
    if not moves:
        (before, after), drawn = metric._estimated(summary, prediction, withheld, N_DRAWS, seed)
    else:
        before, after = metric._before_and_after(summary, prediction, withheld)
        # Draws of labels that share their probabilities tell less, so there are more of them.
        each = -(-2 * N_DRAWS // len(moves))
        parts = [
            _paired(
                metric,
                summary.moved(move.slope, move.bias, move.ratios),
                prediction,
                withheld,
                each,
                seed + number,
            )
            for number, move in enumerate(moves)
        ]
        all_before, all_after = zip(*parts, strict=True)
        drawn = np.concatenate(all_before), np.concatenate(all_after)
    return Estimate(_with_interval(before, drawn[0]), _with_interval(after, drawn[1]))


def _paired(
    metric: Metric, summary: Summary, prediction: IntArray, withheld: Mask, n_draws: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Return draws on everything and on what is kept; the same where nothing is withheld."""
    if withheld.any():
        return metric._paired_draws(summary, prediction, withheld, n_draws, seed)
    draws = metric._draws(summary, prediction, n_draws, seed)
    return draws, draws


def _with_interval(value: float, draws: FloatArray) -> EstimatedValue:
    """Return a value with the central interval of its draws, wide enough to hold itself."""
    finite = draws[np.isfinite(draws)]
    if not finite.size or not np.isfinite(value):
        return EstimatedValue(float("nan"), (float("nan"), float("nan")))
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(finite, [tail, 1 - tail])
    return EstimatedValue(value, (min(float(low), value), max(float(high), value)))
