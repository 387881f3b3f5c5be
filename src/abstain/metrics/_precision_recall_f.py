"""Precision, recall, F-beta and Jaccard: ratios of true positives to what was claimed or there.

All are ``t TP / (t TP + p FP + n FN)`` of a class for some t, p and n, then averaged over classes.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Self, get_args

import numpy as np

from abstain._inputs import FloatArray, number, shown
from abstain.metrics._base import Decision
from abstain.metrics._confusion import BaseConfusionMetric, Solver

Average = Literal["binary", "macro", "micro", "weighted"]

# Beyond these beta is squared to nothing beside 1, or the other way round.
_SMALLEST, _LARGEST = 1e-6, 1e6


class ClassRatio(BaseConfusionMetric):
    """Base of the ratios; subclasses give t, p and n by ``_coefficients``.

    Parameters
    ----------
    average : {"binary", "macro", "micro", "weighted"}
        ``"binary"``: the ratio of the positive class of two. ``"macro"``: the mean over
        classes. ``"micro"``: one ratio of the counts of all classes. ``"weighted"``: the mean
        over classes, weighted by how often they occur.
    solver : {"joint", "marginal"}
        How the examples to withhold are chosen.
    """

    value_range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    #: What true positives, false positives and false negatives count.
    _coefficients: tuple[float, float, float]

    def __init__(self, *, average: Average = "binary", solver: Solver = "joint") -> None:
        self.average = average
        super().__init__(solver=solver)

    def check_parameters(self) -> None:
        """Raise if a parameter is not what it should be."""
        super().check_parameters()
        if self.average not in get_args(Average):
            raise ValueError(
                f"`average` must be one of {', '.join(map(repr, get_args(Average)))}; "
                f"got {self.average!r}."
            )

    @property
    def of_positive(self) -> bool:  # type: ignore[override]
        """Whether it is the ratio of the positive class of two alone."""
        return self.average == "binary"

    @property
    def name(self) -> str:
        """The registered name, with the average unless that is binary."""
        return self.head if self.average == "binary" else f"{self.head}:{self.average}"

    @classmethod
    def parse(cls, argument: str | None) -> Self:
        """Return the metric that a registered name with this average stands for."""
        return cls(average=argument or "binary")  # type: ignore[arg-type]

    def check_n_classes(self, n_classes: int) -> None:
        """Raise for the binary average of more than two classes."""
        if self.average == "binary" and n_classes != 2:
            raise ValueError(
                f"`metric` {self.name!r} is for two classes; `proba` has {n_classes} columns. "
                f'Choose an average: "{self.name}:macro", ":micro" or ":weighted".'
            )

    def value(self, confusion: FloatArray) -> float:
        """Return the averaged ratio of a confusion matrix; a ratio 0 / 0 counts as 0."""
        ratios, shares, _, _ = self._parts(confusion)
        return float(ratios @ shares) if shares.any() else 0.0

    def gradient(self, confusion: FloatArray) -> FloatArray:
        """Return the derivative of the averaged ratio by each entry of C."""
        ratios, shares, numerator, denominator = self._parts(confusion)
        t, p, n = self._coefficients
        safe = np.where(denominator > 0, denominator, 1.0)
        # A true positive enters numerator and denominator, the two errors the denominator.
        right = shares * t * (denominator - numerator) / safe**2
        lost = shares * numerator / safe**2
        if self.average == "micro":
            slope = np.full_like(confusion, -(p + n) * lost[0])
            np.fill_diagonal(slope, right[0])
            return slope
        slope = -p * lost[None, :] - n * lost[:, None]
        np.fill_diagonal(slope, right)
        total = confusion.sum()
        if self.average == "weighted" and total > 0:
            slope += ((ratios - ratios @ shares) / total)[:, None]
        return np.asarray(slope)

    def _parts(
        self, confusion: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return ratios, their shares in the average, numerators and denominators."""
        t, p, n = self._coefficients
        hits = np.diag(confusion)
        truths, predicted = confusion.sum(axis=1), confusion.sum(axis=0)
        if self.average == "micro":
            hits, truths, predicted = (v.sum(keepdims=True) for v in (hits, truths, predicted))
        numerator = t * hits
        denominator = numerator + p * (predicted - hits) + n * (truths - hits)
        ratios = np.divide(
            numerator, denominator, out=np.zeros_like(denominator), where=denominator > 0
        )
        return ratios, self._shares(truths, predicted), numerator, denominator

    def resolved(self, decision: Decision) -> Decision:
        """Return argmax for ``"auto"`` unless both kinds of error count.

        Recall of one class is served best by predicting nothing else, precision of a class by
        predicting only the surest example; averaged over classes, recall counts both.
        """
        _, of_false_alarms, of_misses = self._coefficients
        both = of_misses > 0 and (of_false_alarms > 0 or self.average != "binary")
        return decision if both or decision != "auto" else "argmax"

    def _shares(self, truths: FloatArray, predicted: FloatArray) -> FloatArray:
        if self.average == "binary":
            return np.array([0.0, 1.0])
        if self.average == "micro":
            return np.ones(1)
        # As scikit-learn does, leave out a class that neither occurs nor is predicted.
        share = truths if self.average == "weighted" else (truths + predicted > 0).astype(float)
        return share / share.sum() if share.any() else np.zeros_like(share)


class Precision(ClassRatio):
    """Precision, the share of right predictions among the predictions of a class.

    Higher is better, in [0, 1].

    Parameters
    ----------
    average : {"binary", "macro", "micro", "weighted"}
        Which classes count, and how; see scikit-learn's ``precision_score``.
    solver : {"joint", "marginal"}
        How the examples to withhold are chosen.

    Notes
    -----
    TP / (TP + FP) of a class; 0 for a class never predicted. With ``decision="auto"`` the most
    probable class is predicted: precision alone is served best by next to no predictions.

    Examples
    --------
    >>> from abstain.metrics import Precision
    >>> Precision().observed([0, 1, 1, 0], [0.1, 0.7, 0.9, 0.6])
    0.6667
    """

    head: ClassVar[str] = "precision"
    summary: ClassVar[str] = "share of right among the predicted; also :macro, :micro, :weighted"
    _coefficients = (1.0, 1.0, 0.0)


class Recall(ClassRatio):
    """Recall, the share of right predictions among the examples of a class.

    Higher is better, in [0, 1].

    Parameters
    ----------
    average : {"binary", "macro", "micro", "weighted"}
        Which classes count, and how; see scikit-learn's ``recall_score``.
    solver : {"joint", "marginal"}
        How the examples to withhold are chosen.

    Notes
    -----
    TP / (TP + FN) of a class; 0 for a class that does not occur. With ``decision="auto"`` the
    most probable class is predicted for the binary average: recall alone is served best by
    predicting everything positive.

    Examples
    --------
    >>> from abstain.metrics import Recall
    >>> Recall().observed([0, 1, 1, 0], [0.1, 0.7, 0.2, 0.6])
    0.5
    """

    head: ClassVar[str] = "recall"
    summary: ClassVar[str] = "share of a class that is found; also :macro, :micro, :weighted"
    _coefficients = (1.0, 0.0, 1.0)


class FBeta(ClassRatio):
    r"""F-beta, the weighted harmonic mean of precision and recall.

    Higher is better, in [0, 1].

    Parameters
    ----------
    beta : float
        How many times as much recall counts as precision, from 1e-6 to 1e6.
    average : {"binary", "macro", "micro", "weighted"}
        Which classes count, and how; see scikit-learn's ``fbeta_score``.
    solver : {"joint", "marginal"}
        How the examples to withhold are chosen.

    Notes
    -----
    .. math:: \frac{(1 + \beta^2) TP}{(1 + \beta^2) TP + \beta^2 FN + FP}

    Examples
    --------
    >>> from abstain.metrics import FBeta
    >>> FBeta(2).observed([0, 1, 1, 0], [0.1, 0.7, 0.2, 0.6])
    0.5
    """

    head: ClassVar[str] = "fbeta"
    example: ClassVar[str] = "fbeta:2"
    summary: ClassVar[str] = "precision and recall, recall counting beta times; also fbeta:2:macro"

    def __init__(
        self, beta: float = 1.0, *, average: Average = "binary", solver: Solver = "joint"
    ) -> None:
        self.beta = beta
        super().__init__(average=average, solver=solver)

    def check_parameters(self) -> None:
        """Raise if a parameter is not what it should be."""
        super().check_parameters()
        if not _SMALLEST <= number(self.beta, "beta") <= _LARGEST:
            raise ValueError(
                f"`beta` must be a positive number, from {_SMALLEST:g} to {_LARGEST:g}; got "
                f"{shown(self.beta)}. Below it is precision that counts, above it recall."
            )

    @property
    def name(self) -> str:
        """The registered name, such as ``fbeta:2`` or ``fbeta:2:macro``."""
        short = f"{self.beta:g}"
        exact = short if float(short) == self.beta else repr(float(self.beta))
        name = f"{self.head}:{exact}"
        return name if self.average == "binary" else f"{name}:{self.average}"

    @classmethod
    def parse(cls, argument: str | None) -> Self:
        """Return the metric that ``fbeta:BETA`` or ``fbeta:BETA:AVERAGE`` stands for."""
        beta, _, average = (argument or "").partition(":")
        try:
            given = float(beta)
        except ValueError:
            raise ValueError(
                f'`metric` "fbeta" needs a number, as in "fbeta:2" or "fbeta:0.5:macro"; '
                f"got {argument!r}."
            ) from None
        return cls(given, average=average or "binary")  # type: ignore[arg-type]

    @property
    def _coefficients(self) -> tuple[float, float, float]:  # type: ignore[override]
        return 1.0 + self.beta**2, 1.0, self.beta**2


class F1(ClassRatio):
    """F1, the harmonic mean of precision and recall.

    Higher is better, in [0, 1].

    Parameters
    ----------
    average : {"binary", "macro", "micro", "weighted"}
        Which classes count, and how; see scikit-learn's ``f1_score``.
    solver : {"joint", "marginal"}
        How the examples to withhold are chosen.

    Notes
    -----
    2 TP / (2 TP + FN + FP) of a class.

    Examples
    --------
    >>> from abstain.metrics import F1
    >>> F1().observed([0, 1, 1, 0], [0.1, 0.7, 0.9, 0.6])
    0.8
    """

    head: ClassVar[str] = "f1"
    summary: ClassVar[str] = "precision and recall in one; also f1:macro, f1:micro, f1:weighted"
    _coefficients = (2.0, 1.0, 1.0)


class Jaccard(ClassRatio):
    """Jaccard index, the overlap of the predicted and the true members of a class.

    Higher is better, in [0, 1].

    Parameters
    ----------
    average : {"binary", "macro", "micro", "weighted"}
        Which classes count, and how; see scikit-learn's ``jaccard_score``.
    solver : {"joint", "marginal"}
        How the examples to withhold are chosen.

    Notes
    -----
    TP / (TP + FN + FP) of a class.

    Examples
    --------
    >>> from abstain.metrics import Jaccard
    >>> Jaccard().observed([0, 1, 1, 0], [0.1, 0.7, 0.9, 0.6])
    0.6667
    """

    head: ClassVar[str] = "jaccard"
    summary: ClassVar[str] = "overlap of predicted and true; also :macro, :micro, :weighted"
    _coefficients = (1.0, 1.0, 1.0)
