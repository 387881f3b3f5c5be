"""Top-k accuracy, the share of examples whose class is among the k most probable.

Not a function of the confusion matrix, but as simple: an example is right with the sum of its k
largest probabilities, so the smallest sums are withheld.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from abstain._inputs import FloatArray, IntArray, check_whole
from abstain._kernels.confusion import top_share
from abstain.metrics._base import Decision, Metric
from abstain.metrics._confusion_draws import labels_drawn
from abstain.regions import Choice, TopShare, score_threshold
from abstain.rules import Argmax
from abstain.summaries import BatchSummary, RowSummary

_MOST = 1_000_000


class TopKAccuracy(Metric):
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

    def expected_on(self, summary: BatchSummary, prediction: IntArray | None) -> float:
        return float(np.average(top_share(summary.proba, self.k), weights=summary.weight))

    def observed_on(
        self, codes: IntArray, rows: BatchSummary, prediction: IntArray | None
    ) -> float:
        matrix = rows.proba
        n, n_classes = matrix.shape
        own = matrix[np.arange(n), codes][:, None]
        later = np.arange(n_classes)[None, :] > codes[:, None]
        ahead = np.count_nonzero((matrix > own) | ((matrix == own) & later), axis=1)
        return float(np.average(ahead < self.k, weights=rows.weight))

    def draws_on(
        self, summary: BatchSummary, prediction: IntArray | None, n_draws: int, seed: int
    ) -> FloatArray:
        hit = np.minimum(top_share(summary.proba, self.k), 1.0)
        # Whether the label is among the top k is all that counts: two classes, miss and hit.
        rows = RowSummary(np.column_stack([1 - hit, hit]), summary.weight)
        counts = np.stack([*labels_drawn(rows, np.zeros(len(hit), dtype=np.intp), n_draws, seed)])
        shares: FloatArray = counts[:, 1, 0] / counts[:, :, 0].sum(axis=1)
        return shares

    def choose_on(self, summary: BatchSummary, capacity: float, decision: Decision) -> Choice:
        """Withhold the rows whose k largest probabilities sum to the least."""
        share = top_share(summary.proba, self.k)
        threshold = -score_threshold(-share, capacity, summary.weight)
        return Choice(TopShare(int(self.k), threshold), Argmax())
