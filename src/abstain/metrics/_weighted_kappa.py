"""Weighted Cohen's kappa: agreement of predictions and labels beyond chance.

The paper's Section on optimising kappa, and its two algorithms in the appendix: deterministic
O(NC) and Monte-Carlo O(MNC).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import (
    FloatArray,
    IntArray,
    check_penalties,
    check_seed,
)
from abstain._kernels.confusion import expected_confusion, linear_gain
from abstain._kernels.label_draws import confusion_draws, mean_drawn_entry
from abstain.metrics._confusion import ALL_KEPT, NO_WEIGHT, BaseConfusionMetric, Solver
from abstain.metrics._confusion_solver import unit_of
from abstain.metrics._estimation import Method, check_method
from abstain.metrics._names import check_matrix_fits, matrix_from_name, matrix_in_name
from abstain.rules import Argmax

# Entries of sampled confusion matrices held at a time.
_MOST_ENTRIES = 2**27


class WeightedKappa(BaseConfusionMetric):
    r"""Weighted Cohen's kappa.

    Higher is better; 1 is perfect agreement, 0 agreement by chance, negative worse than chance.

    Parameters
    ----------
    weights : {"quadratic", "linear", "unweighted"}, array-like or None
        The penalty W[i, j] for predicting class i as class j: the squared distance of the
        columns, their distance, 1 off the diagonal (Cohen's own; None means the same), or a
        matrix in the order of ``classes_``, which need not be symmetric.
    solver : {"joint", "marginal"}
        ``"marginal"`` is the paper's: each example is scored by kappa after withholding it
        alone. ``"joint"`` repeats from the examples kept until kappa stops rising.
    method : {"deterministic", "sampled"}
        Estimate the marginal values with probabilities in place of labels, or as the mean over
        sampled label vectors.
    n_samples : int
        How many label vectors ``method="sampled"`` draws, up to 100,000; of so many classes that
        their matrices would take more than 1 GiB, fewer.
    random_state : int, Generator or None
        Seeds the sampled labels.

    Notes
    -----
    With row sums N, column sums F and total n of the confusion matrix C,

    .. math:: \kappa = 1 - \frac{\sum_{ij} W_{ij} C_{ij}}{\sum_{ij} W_{ij} N_i F_j / n}.

    Withholding one example of class i predicted as j changes it to

    .. math:: 1 - \frac{a - W_{ij}}{b^1 - b^2_i - b^3_j + W_{ij} / (n - 1)}

    with a the numerator, :math:`b^1 = \sum_{ij} W_{ij} N_i F_j / (n - 1)`,
    :math:`b^2_i = \sum_j W_{ij} F_j / (n - 1)` and :math:`b^3_j = \sum_i W_{ij} N_i / (n - 1)`.
    Kappa is not defined (NaN) where the labels and the predictions are all of one class.

    References
    ----------
    .. [1] "A General Framework for Abstention Under Label Shift", appendix on weighted Cohen's
       kappa.
    .. [2] Cohen, "Weighted kappa: nominal scale agreement provision for scaled disagreement or
       partial credit", Psychological Bulletin 70 (1968).

    Examples
    --------
    >>> from abstain.metrics import WeightedKappa
    >>> proba = [[0.8, 0.2, 0.0], [0.1, 0.8, 0.1], [0.0, 0.2, 0.8]]
    >>> WeightedKappa("quadratic").expected(proba)
    0.8
    """

    value_range: ClassVar[tuple[float, float]] = (-math.inf, 1.0)
    head: ClassVar[str] = "kappa"
    example: ClassVar[str] = "kappa:quadratic"
    summary: ClassVar[str] = "agreement beyond chance, for grades; also kappa, kappa:linear"

    def __init__(
        self,
        weights: str | ArrayLike | None = "quadratic",
        *,
        solver: Solver = "joint",
        method: Method = "deterministic",
        n_samples: int = 100,
        random_state: Any = 0,
    ) -> None:
        self.weights = weights
        self.method = method
        self.n_samples = n_samples
        self.random_state = random_state
        super().__init__(solver=solver)

    def check_parameters(self) -> None:
        """Raise if a parameter is not what it should be."""
        super().check_parameters()
        if self.weights is None or isinstance(self.weights, str):
            _power(self.weights)
        else:
            check_penalties(self.weights, name="weights")
        check_method(self.method, self.n_samples)
        if self.method == "sampled" and self.solver != "marginal":
            raise ValueError(
                '`method="sampled"` is the Monte-Carlo form of the marginal algorithm; '
                'pass solver="marginal" with it.'
            )

    @property
    def _matrix(self) -> FloatArray | None:
        """The user's own weights; None for weights with a name."""
        if self.weights is None or isinstance(self.weights, str):
            return None
        return np.asarray(self.weights, dtype=np.float64)

    @property
    def name(self) -> str:
        """The registered name; a user's own matrix is in it."""
        if self._matrix is not None:
            return f"kappa:{matrix_in_name(self._matrix)}"
        return "kappa" if self.weights in (None, "unweighted") else f"kappa:{self.weights}"

    @classmethod
    def parse(cls, argument: str | None) -> Self:
        """Return the metric that ``kappa`` or ``kappa:WEIGHTS`` stands for."""
        if argument is not None and argument.startswith("["):
            return cls(matrix_from_name(argument))
        return cls(argument)

    def to_dict(self) -> dict[str, Any]:
        """Return the metric as plain data; a user's matrix is in it."""
        data = super().to_dict()
        if self._matrix is not None:
            data |= {"name": "kappa", "weights": self._matrix.tolist()}
        return data

    def restored(self, data: dict[str, Any]) -> Self:
        """Return this metric with the matrix and solver of the data."""
        if "weights" in data:
            self.weights = data["weights"]
        return super().restored(data)

    def check_n_classes(self, n_classes: int) -> None:
        """Raise if a user's matrix is not for this number of classes."""
        if self._matrix is not None:
            check_matrix_fits(self._matrix, n_classes, "weights")

    def penalties(self, n_classes: int) -> FloatArray:
        """Return the matrix W."""
        if self._matrix is not None:
            return self._matrix
        distance = np.abs(np.subtract.outer(np.arange(n_classes), np.arange(n_classes)))
        power = _power(self.weights)  # type: ignore[arg-type]
        return np.asarray(np.where(distance > 0, distance.astype(np.float64) ** power, 0.0))

    def value(self, confusion: FloatArray) -> float:
        """Return kappa of a confusion matrix, NaN where chance leaves nothing to disagree on."""
        W = self.penalties(len(confusion))
        by_chance = confusion.sum(axis=1) @ W @ confusion.sum(axis=0)
        if by_chance <= 0:
            return float("nan")
        return float(1 - (W * confusion).sum() * confusion.sum() / by_chance)

    def gradient(self, confusion: FloatArray) -> FloatArray:
        """Return the derivative of kappa by each entry of C."""
        W = self.penalties(len(confusion))
        of_class = W @ confusion.sum(axis=0)
        of_prediction = confusion.sum(axis=1) @ W
        by_chance = confusion.sum(axis=1) @ of_class
        if by_chance <= 0:
            return np.zeros_like(confusion)
        penalty, total = (W * confusion).sum(), confusion.sum()
        chance_slope = of_class[:, None] + of_prediction[None, :]
        slope: FloatArray = (
            -(W * total + penalty) / by_chance + penalty * total * chance_slope / by_chance**2
        )
        return slope

    def marginal_values(
        self,
        proba: ArrayLike,
        *,
        prediction: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> FloatArray:
        """Estimate, for each example, kappa after withholding that example alone.

        These are the output vectors of the paper's two algorithms for kappa: with
        ``method="deterministic"`` the probabilities stand in for the labels, with
        ``method="sampled"`` the values are means over sampled label vectors.

        Parameters
        ----------
        proba : array-like of shape (n, n_classes) or (n,)
            Calibrated probabilities.
        prediction : array-like of shape (n,), optional
            Predicted column of each row; argmax when not given.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; a whole number equals repetition, and one repeat is
            withheld.

        Returns
        -------
        ndarray of shape (n,)
        """
        rows, given = self._checked(proba, prediction, sample_weight)
        matrix, weight = rows.proba, NO_WEIGHT if rows.weight is None else rows.weight
        columns = Argmax().predict(matrix) if given is None else given
        seed = self._seed()
        confusions = self._confusions(matrix, columns, weight, seed)
        tables = np.stack([self._after_removal(C, unit_of(weight)) for C in confusions])
        if self.method == "deterministic":
            return linear_gain(matrix, columns, tables[0])
        return mean_drawn_entry(matrix, columns, tables, seed)

    def removal_gains(
        self, proba: FloatArray, prediction: IntArray, weight: FloatArray
    ) -> FloatArray:
        """Return the change of kappa when one example of (true i, predicted j) is withheld."""
        unit = unit_of(weight)
        confusions = self._confusions(proba, prediction, weight, self._seed())
        gains = [self._after_removal(C, unit) - self.value(C) for C in confusions]
        return np.asarray(np.nan_to_num(np.mean(gains, axis=0)))

    def _seed(self) -> int:
        return 0 if self.method == "deterministic" else check_seed(self.random_state)

    def _confusions(
        self, proba: FloatArray, prediction: IntArray, weight: FloatArray, seed: int
    ) -> FloatArray:
        """Return the one confusion matrix to be expected, or sampled ones if these fit."""
        if self.method == "deterministic":
            return expected_confusion(proba, prediction, weight, ALL_KEPT)[None]
        n_classes = proba.shape[1]
        if self.n_samples * n_classes**2 > _MOST_ENTRIES:
            raise ValueError(
                f"`n_samples` must be at most {_MOST_ENTRIES // n_classes**2:,} for {n_classes} "
                f"classes, or their matrices take more than 1 GiB; got {self.n_samples!r}."
            )
        return confusion_draws(proba, prediction, weight, seed, 0, self.n_samples)

    def _after_removal(self, confusion: FloatArray, unit: float) -> FloatArray:
        W = self.penalties(len(confusion))
        rest = confusion.sum() - unit
        truths, predicted = confusion.sum(axis=1), confusion.sum(axis=0)
        chance = (
            truths @ W @ predicted
            - unit * (W @ predicted)[:, None]
            - unit * (truths @ W)[None, :]
            + unit**2 * W
        )
        ratio: FloatArray = np.divide(
            ((W * confusion).sum() - unit * W) * rest,
            chance,
            out=np.zeros_like(confusion),
            where=chance > 0,
        )
        return 1 - ratio


def _power(weights: str | None) -> float:
    """Return the power of their distance by which classes are penalised, by its name."""
    powers = {"quadratic": 2.0, "linear": 1.0, "unweighted": 0.0}
    if (name := weights or "unweighted") not in powers:
        raise ValueError(
            f"`weights` must be one of {', '.join(map(repr, powers))}, None or a matrix; "
            f"got {weights!r}."
        )
    return powers[name]
