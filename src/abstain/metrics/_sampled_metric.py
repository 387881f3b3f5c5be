"""Any function of labels and scores as a metric, by Monte-Carlo labels.

The paper's general framework (Section 5): draw label vectors from the probabilities, see what
withholding does to the metric under each, and average.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs import MOST_SAMPLES, FloatArray, IntArray, check_seed, check_whole
from abstain._kernels.atoms import labels_of
from abstain._kernels.label_draws import label_draw
from abstain.metrics._base import Decision, Metric, OfFunction
from abstain.metrics._sampled_search import SampledSearch, SearchTime
from abstain.regions import Choice
from abstain.rules import Argmax
from abstain.summaries import BatchSummary

# A row that stands for more examples than this gets this many labels, equally heavy.
_MOST_LABELS = 64

Mask = NDArray[np.bool_]
Reads = Literal["scores", "prediction"]

_MOST_GROUPS = 10_000


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


class SampledMetric(OfFunction, Metric):
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
        How many label vectors are drawn, up to 100,000.
    n_groups : int
        For more than two classes, into how many groups of similar examples a batch is cut, up to
        10,000.
    random_state : int, Generator or None
        Seeds the labels; the same labels are used for all candidates.
    progress : bool
        Whether a search shows a progress bar on stderr. One that is expected to take more than
        a minute shows it on a terminal whatever this says.

    Notes
    -----
    Two classes: the examples withheld are a window in the order of p, searched coarse to fine.
    More: the examples of each predicted class are grouped by similar probabilities, what
    withholding each group does is estimated, and the budget is filled from the best groups, in
    a few rounds. A search takes some hundred evaluations on every label vector; ``search_time``
    says how long that is. Use a dedicated metric where there is one.

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

    n_replicates: ClassVar[int] = 100
    draws_to_choose: ClassVar[bool] = True
    of_positive = True
    unnamed: ClassVar[str] = "sampled-metric"
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
        self.function = function
        self._name = name
        self.greater_is_better = greater_is_better
        self.reads = reads
        self.n_samples = n_samples
        self.n_groups = n_groups
        self.random_state = random_state
        self.progress = progress
        self.check_parameters()

    def check_parameters(self) -> None:
        """Raise if a parameter is not what it should be."""
        self.check_function("function", self.function, "labels and scores")
        if self.reads not in get_args(Reads):
            raise ValueError(f'`reads` must be "scores" or "prediction"; got {self.reads!r}.')
        check_whole(self.n_samples, name="n_samples", most=MOST_SAMPLES)
        check_whole(self.n_groups, name="n_groups", most=_MOST_GROUPS)

    def search_time(self, proba: ArrayLike) -> SearchTime:
        """Estimate how long ``choose`` takes on these probabilities, from one call.

        Parameters
        ----------
        proba : array-like of shape (n, n_classes) or (n,)
            Calibrated probabilities.

        Returns
        -------
        SearchTime
            ``calls`` of the function and ``seconds`` in all.
        """
        return self._search(self._checked(proba, None, None)[0]).time()

    def expected_on(self, summary: BatchSummary, prediction: IntArray | None) -> float:
        values = self.draws_on(summary, prediction, self.n_samples, check_seed(self.random_state))
        return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")

    def observed_on(
        self, codes: IntArray, rows: BatchSummary, prediction: IntArray | None
    ) -> float:
        extra = {} if rows.weight is None else {"sample_weight": rows.weight}
        return float(self.function(codes, self._second_argument(rows, prediction), **extra))

    def draws_on(
        self, summary: BatchSummary, prediction: IntArray | None, n_draws: int, seed: int
    ) -> FloatArray:
        return self._labels(summary, prediction).values(n_draws, seed)

    def choose_on(self, summary: BatchSummary, capacity: float, decision: Decision) -> Choice:
        if decision == "optimal":
            raise ValueError(
                f'`decision` must be "argmax" for a SampledMetric; got {decision!r}. '
                f"If the metric is a function of the confusion matrix, use ConfusionMetric."
            )
        region = self._search(summary).region(capacity, check_seed(self.random_state))
        return Choice(region, Argmax())

    def _search(self, summary: BatchSummary) -> SampledSearch:
        labels, sign = self._labels(summary, None), 1.0 if self.greater_is_better else -1.0
        return SampledSearch(labels, self.n_samples, self.n_groups, sign, self.progress)

    def _labels(self, summary: BatchSummary, prediction: IntArray | None) -> SampledLabels:
        second = self._second_argument(summary, prediction)
        return SampledLabels(self.function, summary.proba, second, summary.weight)

    def _second_argument(self, summary: BatchSummary, prediction: IntArray | None) -> NDArray[Any]:
        matrix = summary.proba
        if self.reads == "scores":
            return matrix[:, 1] if matrix.shape[1] == 2 else matrix
        return Argmax().predict(matrix) if prediction is None else prediction
