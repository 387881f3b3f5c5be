"""A share of the confusion matrix of two classes: what a rule does at its own threshold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask
from abstain.metrics._confusion import BaseConfusionMetric

# The cell that is counted, and the cells that it is a share of: [true class, predicted class].
_SHARES = {
    "sensitivity": ((1, 1), [[0, 0], [1, 1]]),
    "specificity": ((0, 0), [[1, 1], [0, 0]]),
    "ppv": ((1, 1), [[0, 1], [0, 1]]),
    "npv": ((0, 0), [[1, 0], [1, 0]]),
    "missed": ((1, 0), [[1, 1], [1, 1]]),
}
SHARES = (*_SHARES,)


class CellShare(BaseConfusionMetric):
    """Sensitivity, specificity, predictive values, or the share of rows that are missed positives.

    Of predictions as they are made, at whatever threshold that is; in [0, 1]. All but the missed
    are better higher.

    Parameters
    ----------
    share : {"sensitivity", "specificity", "ppv", "npv", "missed"}
        Which.
    """

    value_range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    binary_only: ClassVar[bool] = True
    of_positive = True

    def __init__(self, share: str) -> None:
        self.share = share
        super().__init__()

    @property
    def name(self) -> str:
        """What share it is."""
        return self.share

    def value(self, confusion: FloatArray) -> float:
        """Return the share; NaN where there is nothing to have a share of."""
        return float(self._values([confusion])[0])

    def rows(self, codes: IntArray, prediction: IntArray) -> tuple[Mask, Mask]:
        """Return which rows are counted, and which they are a share of."""
        (true, predicted), among = _SHARES[self.share]
        counted: Mask = (codes == true) & (prediction == predicted)
        return counted, np.array(among, dtype=np.bool_)[codes, prediction]

    def _values(self, confusions: Iterable[FloatArray]) -> FloatArray:
        cell, among = _SHARES[self.share]
        matrices = np.stack([*confusions])
        whole = (matrices * np.array(among)).sum(axis=(1, 2))
        found: FloatArray = np.full(len(whole), np.nan)
        np.divide(matrices[:, *cell], whole, out=found, where=whole > 0)
        return found
