"""What else might have been: probabilities moved, labelled rows drawn again.

A replicate is a few numbers for the batch (slopes, biases, ratios) and a weight for each labelled
row. All replicates of a figure are made together, as arrays with one row for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels.proportions import adapted

_SMALLEST = np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Moves:
    """From the probabilities as estimated to those that might have been, many times.

    Parameters
    ----------
    slope, bias : ndarray of shape (n_replicates, n_classes)
        ``softmax(slope * log p + bias)`` in place of p, at the source's class proportions.
    ratios : ndarray of shape (n_replicates, n_classes)
        Then adapted by these.
    used : ndarray of shape (n_classes,)
        What the probabilities are adapted by already, which is undone first.
    """

    slope: FloatArray
    bias: FloatArray
    ratios: FloatArray
    used: FloatArray

    def __len__(self) -> int:
        return len(self.slope)

    def __getitem__(self, chosen: slice) -> Moves:
        return Moves(self.slope[chosen], self.bias[chosen], self.ratios[chosen], self.used)

    @classmethod
    def joined(cls, parts: Sequence[Moves]) -> Moves:
        """Return the moves of all parts, which are from the same probabilities."""
        slope, bias, ratios = (
            np.concatenate([getattr(one, name) for one in parts])
            for name in ("slope", "bias", "ratios")
        )
        return cls(slope, bias, ratios, parts[0].used)

    @property
    def undoing(self) -> FloatArray:
        """The ratios that lead back to the source's class proportions."""
        return 1 / np.maximum(self.used, _SMALLEST)

    def of(self, proba: FloatArray) -> FloatArray:
        """Return the moved probabilities: a row for each replicate, one more dimension.

        Of two classes those of the positive one, of shape (n_replicates, n).
        """
        if proba.ndim == 1 or proba.shape[1] == 2:
            p = np.ascontiguousarray(proba if proba.ndim == 1 else proba[:, 1])
            p = adapted(p, self.undoing)
            bias = self.bias + np.log(np.maximum(self.ratios, _SMALLEST))
            logits = self.slope[:, 1:] * np.log(np.maximum(p, _SMALLEST))
            logits -= self.slope[:, :1] * np.log(np.maximum(1 - p, _SMALLEST))
            logits += bias[:, 1:] - bias[:, :1]
            np.negative(logits, out=logits)
            with np.errstate(over="ignore"):
                np.exp(logits, out=logits)
            logits += 1.0
            return np.reciprocal(logits, out=logits)
        return self.of_logs(self.logs(proba))

    def logs(self, proba: FloatArray) -> FloatArray:
        """Return the logarithms of probabilities at the source's class proportions."""
        source = adapted(np.ascontiguousarray(proba), self.undoing)
        return np.log(np.maximum(source, _SMALLEST))

    def of_logs(self, logs: FloatArray) -> FloatArray:
        """Return the moved probabilities of more than two classes from what ``logs`` gave."""
        bias = self.bias + np.log(np.maximum(self.ratios, _SMALLEST))
        logits: FloatArray = self.slope[:, None, :] * logs
        logits += bias[:, None, :]
        logits -= logits.max(axis=2, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=2, keepdims=True)
        return logits


@dataclass(frozen=True, eq=False)
class LabelledReplicates:
    """Labelled rows with, in each replicate, a weight and what is believed of their labels.

    Parameters
    ----------
    proba : ndarray of shape (n, n_classes)
        The probabilities as estimated, at the batch's class proportions; they order, predict
        and withhold.
    codes : ndarray of shape (n,)
        True columns.
    weight : ndarray of shape (n_replicates, n)
        How much each row counts, as one of the batch.
    believed : ndarray of shape (n_replicates, n, n_classes), or (n_replicates, n) for two classes
        The probabilities of the replicate; of two classes those of the positive one.
    still : int
        How many of the first are the rows as they are, against which others are held.
    answers : ndarray of shape (n,) or None
        What a reader answered about each row, -1 for nothing.
    """

    proba: FloatArray
    codes: IntArray
    weight: FloatArray
    believed: FloatArray
    still: int = 1
    answers: IntArray | None = None

    def __getitem__(self, chosen: slice) -> LabelledReplicates:
        return replace(self, weight=self.weight[chosen], believed=self.believed[chosen])

    @classmethod
    def joined(cls, parts: Sequence[LabelledReplicates], still: int) -> LabelledReplicates:
        """Return the replicates of all parts, which are of the same rows."""
        weight = np.concatenate([one.weight for one in parts])
        believed = np.concatenate([one.believed for one in parts])
        return replace(parts[0], weight=weight, believed=believed, still=still)

    def with_rows(
        self, proba: FloatArray, codes: IntArray, weight: FloatArray, believed: FloatArray
    ) -> LabelledReplicates:
        """Return these rows and others."""
        nobody = np.full(len(codes), -1)
        return LabelledReplicates(
            np.vstack([self.proba, proba]),
            np.append(self.codes, codes),
            np.hstack([self.weight, weight]),
            np.concatenate([self.believed, believed], axis=1),
            answers=None if self.answers is None else np.append(self.answers, nobody),
        )


def compact(proba: FloatArray) -> FloatArray:
    """Return probabilities as they are, of two classes those of the positive one."""
    return proba[:, 1] if proba.shape[1] == 2 else proba
