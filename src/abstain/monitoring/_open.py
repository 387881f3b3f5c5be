"""The chunk that is still open: what is kept of its rows until it is complete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from abstain._inputs import FloatArray
from abstain.monitoring._times import seconds_of
from abstain.summaries import Summary


@dataclass(frozen=True, eq=False)
class OpenChunk:
    """Rows of a chunk to which others may come.

    Attributes
    ----------
    summary : Summary
        Of all of them.
    rows : int
        How many came, with a score or without.
    start, end : float or None
        When they begin and end, in seconds.
    labels : dict of int to Summary
        Of those whose label is known, by the column of their class.
    """

    summary: Summary
    rows: int
    start: float | None = None
    end: float | None = None
    labels: Mapping[int, Summary] = field(default_factory=dict)

    def merge(self, other: Self | None) -> Self:
        """Return the chunk with the rows of both."""
        if other is None:
            return self
        ends = [(one.start, one.end) for one in (self, other)]
        known = [(a, b) for a, b in ends if a is not None and b is not None]
        labels = dict(self.labels)
        for column, found in other.labels.items():
            labels[column] = labels[column].merge(found) if column in labels else found
        return type(self)(
            self.summary.merge(other.summary),
            self.rows + other.rows,
            min((start for start, _ in known), default=None),
            max((end for _, end in known), default=None),
            labels,
        )


def part_of(scores: Any, rows: Any) -> Any:
    """Return some rows of scores, which may be a frame."""
    if isinstance(rows, slice) and rows == slice(None):
        return scores
    if hasattr(scores, "iloc"):
        return scores.iloc[rows]
    if hasattr(scores, "columns") or hasattr(scores, "schema"):
        at = np.arange(len(scores))[rows]
        return scores.take(at) if hasattr(scores, "take") else scores[at]
    return np.asarray(scores)[rows]


def span_of(seconds: FloatArray | None, time: Any) -> tuple[float | None, float | None]:
    """Return when rows begin and end; of no rows, the time that was given for them."""
    if seconds is None:
        return None, None
    if not len(seconds):
        if np.ndim(time):
            return None, None
        (at,) = seconds_of(time, 1)
        return float(at), float(at)
    return float(seconds.min()), float(seconds.max())
