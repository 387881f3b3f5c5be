"""Top-k accuracy, the share of examples whose class is among the k most probable.

Not a function of the confusion matrix, but as simple: an example is right with the sum of its k
largest probabilities, so the smallest sums are withheld.
"""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs import (
    FloatArray,
    check_labels,
    check_proba,
    check_sample_weight,
)
from abstain._kernels.confusion import top_share
from abstain._kernels.label_draws import confusion_draws
from abstain.metrics._base import Choice, Decision, Metric
from abstain.regions import TopShare, score_threshold
from abstain.rules import Argmax

__all__ = ["TopKAccuracy"]


class TopKAccuracy(Metric):
    """Share of examples whose class is among the k most probable.

    Higher is better, in [0, 1].

    Parameters
    ----------
    k : int
        How many classes may be named; at least 1.

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
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"`k` must be a whole number of at least 1; got {k!r}.")
        self.k = int(k)

    @property
    def name(self) -> str:
        """The registered name, such as ``top-k=3``."""
        return f"{self.head}={self.k}"

    @classmethod
    def parse(cls, argument: str | None) -> Self:
        """Return the metric that ``top-k=K`` stands for."""
        if argument is None or not argument.isdecimal():
            raise ValueError(
                f'`metric` "top-k" needs a whole number, as in "top-k=3"; got {argument!r}.'
            )
        return cls(int(argument))

    def expected(
        self,
        proba: ArrayLike,
        *,
        prediction: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Estimate the metric without labels, from calibrated probabilities.

        Parameters
        ----------
        proba : array-like of shape (n, n_classes) or (n,)
            Calibrated probabilities.
        prediction : ignored
            The metric reads the probabilities.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; a whole number equals repetition.

        Returns
        -------
        float
        """
        matrix, weight = self._checked(proba, sample_weight)
        return float(np.average(top_share(matrix, self.k), weights=weight))

    def observed(
        self,
        y_true: ArrayLike,
        proba: ArrayLike,
        *,
        prediction: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        classes: NDArray[Any] | None = None,
    ) -> float:
        """Compute the metric from true labels.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Column numbers, or any labels when ``classes`` names the columns.
        proba : array-like of shape (n, n_classes) or (n,)
            Probabilities.
        prediction : ignored
            The metric reads the probabilities.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; a whole number equals repetition.
        classes : ndarray of shape (n_classes,), optional
            The label of each column.

        Returns
        -------
        float
        """
        matrix, weight = self._checked(proba, sample_weight)
        n, n_classes = matrix.shape
        codes = check_labels(y_true, classes=classes, n_classes=n_classes, n_rows=n, name="y_true")
        own = matrix[np.arange(n), codes][:, None]
        later = np.arange(n_classes)[None, :] > codes[:, None]
        ahead = np.count_nonzero((matrix > own) | ((matrix == own) & later), axis=1)
        return float(np.average(ahead < self.k, weights=weight))

    def draws(
        self,
        proba: FloatArray,
        *,
        prediction: ArrayLike | None = None,
        sample_weight: FloatArray | None = None,
        n_draws: int,
        seed: int,
    ) -> FloatArray:
        """Return the metric's value under each of ``n_draws`` label vectors drawn from proba."""
        matrix, weight = self._checked(proba, sample_weight)
        hit = np.minimum(top_share(matrix, self.k), 1.0)
        # Whether the label is among the top k is all that counts: two classes, miss and hit.
        counts = confusion_draws(
            np.column_stack([1 - hit, hit]),
            np.zeros(len(hit), dtype=np.intp),
            np.empty(0) if weight is None else weight,
            seed,
            0,
            n_draws,
        )
        shares: FloatArray = counts[:, 1, 0] / counts[:, :, 0].sum(axis=1)
        return shares

    def choose(
        self,
        proba: FloatArray,
        capacity: float,
        *,
        sample_weight: FloatArray | None = None,
        decision: Decision = "argmax",
    ) -> Choice:
        """Withhold the rows whose k largest probabilities sum to the least.

        Parameters
        ----------
        proba : ndarray of shape (n, n_classes)
            Calibrated, adapted probabilities, already checked.
        capacity : float
            The largest total weight that may be withheld (a count, for unit weights).
        sample_weight : ndarray of shape (n,), optional
            How much each row counts; a whole number equals repetition.
        decision : {"argmax", "optimal"}
            No difference here: the most probable classes are the best to name.

        Returns
        -------
        Choice
        """
        share = TopShare(self.k, -np.inf).share(np.ascontiguousarray(proba))
        threshold = -score_threshold(-share, capacity, sample_weight)
        return Choice(TopShare(self.k, threshold), Argmax())

    def _checked(
        self, proba: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[FloatArray, FloatArray | None]:
        matrix = np.ascontiguousarray(check_proba(proba))
        return matrix, check_sample_weight(sample_weight, n_rows=len(matrix))
