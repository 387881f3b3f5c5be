"""Any function of labels and scores as a metric, by Monte-Carlo labels.

The paper's general framework (Section 5): draw label vectors from the probabilities, see what
withholding does to the metric under each, and average.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs import (
    FloatArray,
    check_labels,
    check_proba,
    check_sample_weight,
    check_seed,
)
from abstain.metrics._base import Choice, Decision, Metric
from abstain.metrics._sampled_labels import SampledLabels
from abstain.metrics._sampled_search import SearchCost, best_groups, best_window, search_cost
from abstain.rules import Argmax

__all__ = ["SampledMetric"]

Reads = Literal["scores", "prediction"]


class SampledMetric(Metric):
    """Any ``function(y_true, y_score)`` as a metric, such as those of scikit-learn.

    Parameters
    ----------
    function : callable
        Called as ``function(y_true, y_score)`` with column numbers as labels, and with
        ``sample_weight=`` too where weights are not whole. NaN, or a ``ValueError`` as
        scikit-learn raises where a metric is not defined, leaves that draw out.
    name : str, optional
        What to call it; the function's own name when not given.
    greater_is_better : bool
        Whether larger values are better.
    reads : {"scores", "prediction"}
        What the second argument is: the probability of the positive class of two (a matrix
        for more classes), or the predicted column.
    n_samples : int
        How many label vectors are drawn.
    n_groups : int
        For more than two classes, into how many groups of similar examples a batch is cut.
    random_state : int, Generator or None
        Seeds the labels; the same labels are used for all candidates.
    progress : bool
        Whether a long search shows a progress bar on stderr.

    Notes
    -----
    Two classes: the examples withheld are a window in the order of p, searched coarse to fine.
    More: the examples of each predicted class are grouped by similar probabilities, what
    withholding each group does is estimated, and the budget is filled from the best groups, in
    a few rounds. A search
    takes some hundred evaluations on every label vector; ``cost`` says how long that is. Use a
    dedicated metric where there is one.

    Examples
    --------
    >>> from sklearn.metrics import brier_score_loss
    >>> from abstain.metrics import SampledMetric
    >>> brier = SampledMetric(brier_score_loss, greater_is_better=False)
    >>> brier
    <metric brier_score_loss>
    >>> brier.observed([0, 1], [0.2, 0.9])
    0.025
    """

    summary: ClassVar[str] = "any function of labels and scores, by sampled labels"

    def __init__(
        self,
        function: Callable[..., float],
        *,
        name: str | None = None,
        greater_is_better: bool = True,
        reads: Reads = "scores",
        n_samples: int = 100,
        n_groups: int = 60,
        random_state: Any = 0,
        progress: bool = False,
    ) -> None:
        if not callable(function):
            raise TypeError(
                f"`function` must be a function of labels and scores; got {function!r}."
            )
        if reads not in get_args(Reads):
            raise ValueError(f'`reads` must be "scores" or "prediction"; got {reads!r}.')
        for argument, number in (("n_samples", n_samples), ("n_groups", n_groups)):
            if number < 1:
                raise ValueError(f"`{argument}` must be at least 1; got {number!r}.")
        self.function = function
        self._name = str(name or getattr(function, "__name__", "sampled-metric"))
        self.greater_is_better = greater_is_better
        self.reads = reads
        self.n_samples = n_samples
        self.n_groups = n_groups
        self.random_state = random_state
        self.progress = progress

    @property
    def name(self) -> str:
        """The name given, or the function's."""
        return self._name

    def expected(
        self,
        proba: ArrayLike,
        *,
        prediction: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Estimate the metric without labels, as the mean over sampled label vectors.

        Parameters
        ----------
        proba : array-like of shape (n, n_classes) or (n,)
            Calibrated probabilities.
        prediction : array-like of shape (n,), optional
            Predicted column of each row; argmax when not given.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; a whole number equals repetition.

        Returns
        -------
        float
            NaN where the metric was not defined for any of the label vectors.
        """
        labels = self._labels(proba, prediction, sample_weight)
        values = labels.values(self.n_samples, check_seed(self.random_state))
        return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")

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
        prediction : array-like of shape (n,), optional
            Predicted column of each row; argmax when not given.
        sample_weight : array-like of shape (n,), optional
            How much each row counts.
        classes : ndarray of shape (n_classes,), optional
            The label of each column.

        Returns
        -------
        float
        """
        matrix = check_proba(proba)
        n, n_classes = matrix.shape
        codes = check_labels(y_true, classes=classes, n_classes=n_classes, n_rows=n, name="y_true")
        weight = check_sample_weight(sample_weight, n_rows=n)
        second = self._second_argument(matrix, prediction)
        extra = {} if weight is None else {"sample_weight": weight}
        return float(self.function(codes, second, **extra))

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
        return self._labels(proba, prediction, sample_weight).values(n_draws, seed)

    def choose(
        self,
        proba: FloatArray,
        capacity: float,
        *,
        sample_weight: FloatArray | None = None,
        decision: Decision = "argmax",
    ) -> Choice:
        """Choose whom to withhold so that the rest is expected to do best.

        Parameters
        ----------
        proba : ndarray of shape (n, n_classes)
            Calibrated, adapted probabilities, already checked.
        capacity : float
            The largest total weight that may be withheld (a count, for unit weights).
        sample_weight : ndarray of shape (n,), optional
            How much each row counts; a whole number equals repetition.
        decision : {"argmax"}
            A function of unknown shape has no optimal decision to offer.

        Returns
        -------
        Choice
            An interval of p for two classes, else boxes of probability vectors.
        """
        if decision != "argmax":
            raise ValueError(
                f'`decision` must be "argmax" for a SampledMetric; got {decision!r}. '
                f"If the metric is a function of the confusion matrix, use ConfusionMetric."
            )
        labels = self._labels(proba, None, sample_weight)
        seed = check_seed(self.random_state)
        search = best_window if proba.shape[1] == 2 else best_groups
        region = search(
            labels,
            capacity,
            n_samples=self.n_samples,
            n_groups=self.n_groups,
            seed=seed,
            greater_is_better=self.greater_is_better,
            progress=self.progress,
        )
        return Choice(region, Argmax())

    def cost(self, proba: ArrayLike) -> SearchCost:
        """Estimate how long ``choose`` takes on these probabilities, from one call.

        Parameters
        ----------
        proba : array-like of shape (n, n_classes) or (n,)
            Calibrated probabilities.

        Returns
        -------
        SearchCost
            ``calls`` of the function and ``seconds`` in all.
        """
        labels = self._labels(proba, None, None)
        return search_cost(labels, n_samples=self.n_samples, n_groups=self.n_groups)

    def _labels(
        self, proba: ArrayLike, prediction: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> SampledLabels:
        matrix = np.ascontiguousarray(check_proba(proba))
        weight = check_sample_weight(sample_weight, n_rows=len(matrix))
        second = self._second_argument(matrix, prediction)
        return SampledLabels(self.function, matrix, second, weight)

    def _second_argument(self, matrix: FloatArray, prediction: ArrayLike | None) -> NDArray[Any]:
        if self.reads == "scores":
            return matrix[:, 1] if matrix.shape[1] == 2 else matrix
        if prediction is None:
            return Argmax().predict(matrix)
        n, n_classes = matrix.shape
        return check_labels(prediction, n_classes=n_classes, n_rows=n, name="prediction")
