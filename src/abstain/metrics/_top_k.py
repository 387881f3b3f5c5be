"""Top-k accuracy, the share of examples whose class is among the k most probable.

Not a function of the confusion matrix, but as simple: an example is right with the sum of its k
largest probabilities, so the smallest sums are withheld.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from abstain._inputs import FloatArray, check_whole
from abstain._kernels.confusion import top_share
from abstain.metrics._base import Decision
from abstain.metrics._row_means import RowMean
from abstain.regions import Choice, TopShare, score_threshold
from abstain.rules import Argmax
from abstain.summaries import BatchSummary

_MOST = 1_000_000


class TopKAccuracy(RowMean):
    """Share of examples whose class is among the k most probable.

    Higher is better, in [0, 1].

    Parameters
    ----------
    k : int
        How many classes may be named; from 1 to 1,000,000.

    Notes
    -----
    The expected value is the mean of the sum of the k largest probabilities of each row. The
    metric reads probabilities, not predictions. Where equal probabilities straddle the k-th
    place, the later columns count as the more probable, as in scikit-learn's
    ``top_k_accuracy_score``.

    Examples
    --------
    >>> from abstain.metrics import TopKAccuracy
    >>> TopKAccuracy(2).expected([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    0.85
    """

    value_range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    head: ClassVar[str] = "top-k"
    example: ClassVar[str] = "top-k=3"
    summary: ClassVar[str] = "share whose class is among the k most probable, for many classes"

    def __init__(self, k: int = 3) -> None:
        self.k = k
        self.check_parameters()

    def check_parameters(self) -> None:
        """Raise if a parameter is not what it should be."""
        check_whole(self.k, name="k", most=_MOST)

    @property
    def name(self) -> str:
        """The registered name, such as ``top-k=3``."""
        return f"{self.head}={self.k}"

    @classmethod
    def parse(cls, argument: str | None) -> Self:
        """Return the metric that ``top-k=K`` stands for."""
        if argument is None or not argument.isdecimal() or len(argument) > 20:
            raise ValueError(
                f'`metric` "top-k" needs a whole number, as in "top-k=3"; got {argument!r}.'
            )
        return cls(int(argument))

    def values(self, proba: FloatArray) -> FloatArray:
        """Return 1 for the k most probable classes of each row, and 0 for the others."""
        most = min(self.k, proba.shape[1])
        least = np.partition(proba, -most, axis=1)[:, -most, None]
        above, tied = proba > least, proba == least
        room = most - np.count_nonzero(above, axis=1, keepdims=True)
        later = np.cumsum(tied[:, ::-1], axis=1)[:, ::-1]
        return np.where(above | (tied & (later <= room)), 1.0, 0.0)

    def choose_on(self, summary: BatchSummary, capacity: float, decision: Decision) -> Choice:
        """Withhold the rows whose k largest probabilities sum to the least."""
        share = top_share(summary.proba, self.k)
        threshold = -score_threshold(-share, capacity, summary.weight)
        return Choice(TopShare(int(self.k), threshold), Argmax())
