"""A user's function on sampled label vectors of a batch, or of the part of it that is kept.

Label vectors depend on seed and draw alone, so all candidates are compared on the same ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray
from abstain._kernels.atoms import labels_of
from abstain._kernels.label_draws import label_draw

# A row that stands for more examples than this gets this many labels, equally heavy.
_MOST_LABELS = 64

Mask = NDArray[np.bool_]


class SampledLabels:
    """A batch with labels drawn from its probabilities.

    A row of whole weight w is w independent labels, a fractional remainder one label of that
    weight.

    Parameters
    ----------
    function : callable
        Called with labels, scores and, where not all labels weigh 1, ``sample_weight``.
    proba : ndarray of shape (n, n_classes)
    second : ndarray of shape (n,) or (n, n_classes)
        What the function reads beside the labels.
    sample_weight : ndarray of shape (n,) or None
    """

    def __init__(
        self,
        function: Callable[..., float],
        proba: FloatArray,
        second: NDArray[Any],
        sample_weight: FloatArray | None,
    ) -> None:
        self._function = function
        # Errors under labels of every class, which are no sign of a class that is missing.
        self._failed = 0
        self._raised: ValueError | None = None
        self.proba = proba
        self.sample_weight = sample_weight
        self._rows, self._weight = _expanded(sample_weight)
        whole = sample_weight is None
        self._drawn_proba = proba if whole else np.ascontiguousarray(proba[self._rows])
        self._second = second if whole else second[self._rows]

    def values(self, n_draws: int, seed: int) -> FloatArray:
        """Return the function's value on each label vector; NaN where it is not defined."""
        values = np.array([next(self._values(seed, m, [None])) for m in range(n_draws)])
        if n_draws > 1 and self._failed == n_draws and self._raised is not None:
            raise ValueError(
                f"`function` raised an error on each of {n_draws} label vectors, though they had "
                f"every class; the first was: {self._raised}"
            ) from self._raised
        return values

    def means(
        self, kept: list[Mask], n_draws: int, seed: int, advance: Callable[[], None]
    ) -> FloatArray:
        """Return the mean value over label vectors for each mask of kept rows."""
        masks: list[Mask | None] = [
            mask if self.sample_weight is None else mask[self._rows] for mask in kept
        ]
        values = np.empty((n_draws, len(kept)))
        for m in range(n_draws):
            for candidate, value in enumerate(self._values(seed, m, masks)):
                values[m, candidate] = value
                advance()
        defined = np.isfinite(values)
        total = np.where(defined, values, 0.0).sum(axis=0)
        count = defined.sum(axis=0)
        means: FloatArray = np.divide(
            total, count, out=np.full(len(kept), np.nan), where=count > 0
        )
        return means

    def _values(self, seed: int, draw: int, masks: list[Mask | None]) -> Iterator[float]:
        labels = label_draw(self._drawn_proba, seed, draw)
        for mask in masks:
            part = slice(None) if mask is None else mask
            extra = {} if self._weight is None else {"sample_weight": self._weight[part]}
            with warnings.catch_warnings():
                # scikit-learn warns, or raises, where one class alone was drawn.
                warnings.simplefilter("ignore")
                try:
                    value = float(self._function(labels[part], self._second[part], **extra))
                except ValueError as error:
                    value = float("nan")
                    if mask is None and len(np.unique(labels)) == self.proba.shape[1]:
                        self._failed, self._raised = self._failed + 1, self._raised or error
            yield value if np.isfinite(value) else float("nan")


def _expanded(weight: FloatArray | None) -> tuple[NDArray[np.intp], FloatArray | None]:
    """Return the row of each label, and the labels' weights unless all are 1."""
    if weight is None:
        return np.empty(0, dtype=np.intp), None
    whole, part = labels_of(weight)
    repeats = np.minimum(whole, _MOST_LABELS).astype(np.intp)
    heavy = np.where(whole > _MOST_LABELS, weight / _MOST_LABELS, 1.0)
    rest = np.where(whole > _MOST_LABELS, 0.0, part)
    rows = np.concatenate([np.repeat(np.arange(len(weight)), repeats), np.flatnonzero(rest > 0)])
    each = np.concatenate([np.repeat(heavy, repeats), rest[rest > 0]])
    return rows, None if (each == 1).all() else each
