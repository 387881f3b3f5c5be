"""Any function of labels and scores as a metric, by Monte-Carlo labels.

The paper's general framework (Section 5): draw label vectors from the probabilities, see what
withholding does to the metric under each, and average.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs import MOST_SAMPLES, FloatArray, IntArray, check_seed, check_whole
from abstain.metrics._base import Decision, Metric
from abstain.metrics._sampled_labels import SampledLabels
from abstain.metrics._sampled_search import SampledSearch, SearchTime
from abstain.regions import Choice
from abstain.rules import Argmax
from abstain.summaries import BatchSummary

Reads = Literal["scores", "prediction"]

_MOST_GROUPS = 10_000


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
        if not callable(self.function):
            raise TypeError(
                f"`function` must be a function of labels and scores; got {self.function!r}."
            )
        if self.reads not in get_args(Reads):
            raise ValueError(f'`reads` must be "scores" or "prediction"; got {self.reads!r}.')
        check_whole(self.n_samples, name="n_samples", most=MOST_SAMPLES)
        check_whole(self.n_groups, name="n_groups", most=_MOST_GROUPS)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; the name given, not the function's."""
        given: dict[str, Any] = super().get_params(deep)
        return given | {"name": self._name}

    @property
    def name(self) -> str:
        """The name given, or the function's."""
        return str(self._name or getattr(self.function, "__name__", "sampled-metric"))

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
