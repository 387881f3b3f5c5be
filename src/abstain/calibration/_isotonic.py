"""Isotonic calibration: any curve that never falls, for each class against the rest."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray
from abstain._schema import Keys, Numbers
from abstain.calibration._base import RegularisedCalibrator, smoothed_targets
from abstain.program import Value, block, exp, log, maximum, minimum, of_rows, share, where

# How far a flat piece of the curve is tilted, as a share of the way to the next piece.
_TILT = 0.01
# Log-odds beyond this are as good as infinite, and nothing infinite can be written down.
FARTHEST = 700.0
# Log-odds closer than this are those of one score: in single precision they differ by as much,
# and a curve that rose between would make steps of the last digit. So that many of them in a row
# are not all one, those of different cells are apart, if they are far enough apart for a number to
# say how steep a curve is between them.
_SAME = 1e-6
_CELL = 1e-3
_NEAREST = float(np.finfo(np.float64).tiny)


class IsotonicCalibration(RegularisedCalibrator):
    """Isotonic calibration: the best curve that never falls.

    It assumes nothing about the curve's shape and so needs a thousand examples or more, fewer if
    the scores take few values. With more than two classes each is calibrated against the rest,
    and rows are normalised.

    Parameters
    ----------
    scale : {"probabilities", "logits"}
        What the scores are.
    prior_rows : float
        How many rows the prior is worth. It keeps probabilities from 0 and 1, and the curve
        rises a little even where it would be flat, so that no ties are made between the scores
        of the validation set. With 0 it is the plain isotonic regression.

    Attributes
    ----------
    thresholds_, values_ : ndarray of shape (n_knots,)
        Log-odds and calibrated probability at the knots of the curves, class after class.
    offsets_ : ndarray of shape (n_curves + 1,)
        Where the knots of each curve begin. Two classes share one curve.
    classes_ : ndarray of shape (n_classes,)
        The label of each column.

    Notes
    -----
    The curve minimises the squared error among those that never fall (pool adjacent
    violators), and is linear in the log-odds between the knots. A row to which every class
    gives 0 becomes uniform; a class without examples keeps its given probability. With a prior
    a flat piece is tilted about its mean, by a hundredth of the way to the next. Neither prior
    nor tilt moves the mean probability of two classes on the validation set from the class
    frequencies.

    References
    ----------
    B. Zadrozny, C. Elkan (2002). Transforming classifier scores into accurate multiclass
    probability estimates. KDD.

    Examples
    --------
    >>> from abstain.calibration import IsotonicCalibration
    >>> isotonic = IsotonicCalibration(prior_rows=0).fit([0.1, 0.3, 0.4, 0.8], [0, 1, 0, 1])
    >>> isotonic.predict_proba([0.1, 0.3, 0.4, 0.8])[:, 1]
    array([0. , 0.5, 0.5, 1. ])
    """

    name: ClassVar[str] = "isotonic"
    state: ClassVar[Keys] = {
        "thresholds_": Numbers(("knots",), least=0),
        "values_": Numbers(("knots",), low=0, high=1, least=0),
        "offsets_": Numbers(("curve ends",), low=0, high=2**53, whole=True, rising=True),
    }

    thresholds_: FloatArray
    values_: FloatArray
    offsets_: FloatArray

    def _fit(self, logits: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        odds = of_rows(_log_odds, logits)
        n_classes = odds.shape[1]
        curves = [
            _curve(odds[:, i], (codes == i).astype(np.intp), weight, self.prior_rows)
            for i in ([1] if n_classes == 2 else range(n_classes))
        ]
        self.thresholds_ = np.concatenate([x for x, _ in curves])
        self.values_ = np.concatenate([y for _, y in curves])
        self.offsets_ = np.cumsum([0, *(len(x) for x, _ in curves)]).astype(np.float64)

    @classmethod
    def from_dict(cls, data: dict[str, Any], *, classes: NDArray[Any]) -> Self:
        """Return the fitted calibrator that ``to_dict`` described."""
        found = super().from_dict(data, classes=classes)
        ends, knots = found.offsets_, found.thresholds_
        curves = 1 if len(classes) == 2 else len(classes)
        if len(ends) != curves + 1 or ends[0] != 0 or ends[-1] != len(knots):
            raise ValueError(
                f"`calibration.offsets_` must be {curves + 1} numbers from 0 to the number of "
                f"knots, {len(knots)}"
            )
        falls = np.flatnonzero(np.diff(knots) < 0) + 1
        if not np.isin(falls, ends).all():
            raise ValueError(
                "`calibration.thresholds_` must rise from each knot of a curve to the next"
            )
        return found

    def operations(self, logits: Value) -> Value:
        """State the probabilities of a block of logits."""
        odds = _log_odds(logits)
        if logits.width == 2:
            return self._at(0, odds[1])
        values = block(*(self._at(i, odds[i]) for i in range(len(self.classes_))))
        return share(values, values.total(), 1 / len(self.classes_))

    def _at(self, curve: int, odds: Value) -> Value:
        begin, end = self.offsets_[curve : curve + 2].astype(np.intp)
        if begin == end:
            return 1.0 / (1.0 + exp(-odds))
        return odds.interpolated(self.thresholds_[begin:end], self.values_[begin:end])


def _log_odds(logits: Value) -> Value:
    """State the log-odds of each class against the rest, none of them infinite."""
    away = logits - logits.largest()
    top = away.first_highest().is_any_of(range(logits.width or 0))
    others = where(top, 0.0, exp(away))
    total = others.total()
    # The rest of any class but the top one contains the top one, so no digits cancel.
    odds = away - log(where(top, total, 1.0 + total - others))
    return minimum(maximum(odds, -FARTHEST), FARTHEST)


def _curve(
    x: FloatArray, y: IntArray, weight: FloatArray, prior_rows: float
) -> tuple[FloatArray, FloatArray]:
    """Return the knots of the isotonic regression of y on x; none without a positive y."""
    counted = weight > 0
    x, y, weight = x[counted], y[counted], weight[counted]
    low, high = smoothed_targets(y, weight, 2, prior_rows)[:, 1]
    if not y.any():
        return np.empty(0), np.empty(0)
    distinct, inverse = _distinct(x)
    mass = np.bincount(inverse, weights=weight).astype(np.float64)
    mean = np.bincount(inverse, weights=weight * y) / mass
    from scipy.optimize import isotonic_regression  # slow to import

    found = isotonic_regression(mean, weights=mass)
    fitted = low + (high - low) * np.clip(found.x, 0.0, 1.0)
    # Inside a run of equal values only its two ends bend the curve.
    inner = np.zeros(len(fitted), dtype=np.bool_)
    inner[1:-1] = (fitted[1:-1] == fitted[:-2]) & (fitted[1:-1] == fitted[2:])
    if prior_rows:
        fitted = _tilted(distinct, fitted, mass)
    return distinct[~inner], fitted[~inner]


def _distinct(x: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct values in order, the least of those that are the same, and which is."""
    values, inverse = np.unique(x, return_inverse=True)
    gaps = np.diff(values)
    apart = (gaps > _SAME) | ((np.diff(np.floor(values / _CELL)) > 0) & (gaps > _NEAREST))
    group = np.append(0, np.cumsum(apart))
    first = np.append(True, apart)
    return values[first], group[inverse]


def _tilted(x: FloatArray, values: FloatArray, mass: FloatArray) -> FloatArray:
    """Return a curve that rises inside its flat pieces too, each about its own mean."""
    begins = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    piece = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(values))))
    steps = np.diff(np.concatenate([[0.0], values[begins], [1.0]]))
    room = _TILT * np.minimum(steps[:-1], steps[1:])
    ends = np.append(begins[1:], len(x)) - 1
    width = np.where(x[ends] > x[begins], x[ends] - x[begins], 1.0)
    centre = np.bincount(piece, mass * x) / np.bincount(piece, mass)
    return values + (room / width)[piece] * (x - centre[piece])
