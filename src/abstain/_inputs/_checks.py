"""Every check on user input, and its message.

A message says which argument, the rule, what came, where, and what to do. The checks return
plain arrays in one form (two-dimensional, float64, classes as column numbers), so that nothing
behind them checks again. Inputs are never changed in place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs._frames import as_array, plain_array
from abstain.exceptions import ArgumentError, Way

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Mask = NDArray[np.bool_]
Scale = Literal["probabilities", "logits"]

# What to do about logits where probabilities are due: where a scale can be passed, where one was
# fixed before, and where there is none.
PASS_LOGITS = 'If these are logits, pass scale="logits".'  # noqa: S105
FIT_LOGITS = 'This was fitted on probabilities; if these are logits, fit it with scale="logits".'
NO_LOGITS = (
    "If these are logits, or a score of uncertainty, pass probabilities instead: those of "
    'Decisions.proba, or of a calibrator such as PlattScaling(scale="logits").'
)

_LOGITS = (Way("scale", "logits"), Way("scale", "logits", 'scale="logits"'))
_ONE_ROW = Way("", python="pass at least one row")
_COLUMNS = Way(
    "scores",
    python="pass one column per class, or a one-dimensional array with the score of the positive "
    "class",
)

# How far a row of probabilities may be from summing to 1: float32 softmax outputs of a
# thousand classes, or four printed decimals of ten, stay inside.
ROW_SUM_TOLERANCE = 1e-3
# Costs in any unit are below this.
_DEAREST = 1e30
# Numbers that are finite and beyond all use, such as weights of 1e300 and logits of 1.7e308, have
# sums and squares that are infinite. So they are brought into reach here, once; numbers that
# anybody means come out as they are, to the last bit.
#: Further from 0 than this no logit is; its square is still a number.
WIDEST_LOGIT = 1e100
# The heaviest row counts at least and at most this much: whole numbers are exact up to there, and
# so many rows can be counted.
_LEAST, _MOST = 2.0**-52, 2.0**52
# A row that counts less than this share of the heaviest counts as nothing.
_NOTHING = 2.0**-100


def check_scores(
    scores: ArrayLike,
    *,
    scale: Scale,
    name: str = "scores",
    n_classes: int | None = None,
    remedy: str = PASS_LOGITS,
) -> FloatArray:
    """Return scores as a float64 matrix with one column per class.

    Parameters
    ----------
    scores : array-like of shape (n,) or (n, n_classes)
        One dimension means the probability or logit of the positive class of two.
    scale : {"probabilities", "logits"}
        What the numbers are; never guessed.
    name : str
        The argument's name, for messages.
    n_classes : int, optional
        The number of columns there must be.
    remedy : str
        What to do about what cannot be probabilities.

    Returns
    -------
    ndarray of shape (n, n_classes)
        Probabilities whose rows sum to 1, or logits. Binary logits given in one
        dimension become the columns ``(0, logit)``.
    """
    if scale not in get_args(Scale):
        raise ArgumentError(
            f'`scale` must be "probabilities" or "logits"; got {scale!r}.', "scale"
        )
    matrix = _two_columns(float_array(rows_of(scores, name), name), scale, name, remedy)
    if matrix.shape[0] == 0:
        raise ArgumentError(f"`{name}` is empty; {_ONE_ROW}.", name, ways=[_ONE_ROW])
    if matrix.shape[1] < 2:
        raise ArgumentError(
            f"`{name}` has {matrix.shape[1]} column; {_COLUMNS}.", name, ways=[_COLUMNS]
        )
    if n_classes is not None and matrix.shape[1] != n_classes:
        raise ArgumentError(
            f"`{name}` must have one column for each of the {n_classes} classes; "
            f"got {matrix.shape[1]} columns.",
            name,
        )
    if scale == "logits" and matrix.min() >= -WIDEST_LOGIT and matrix.max() <= WIDEST_LOGIT:
        return matrix
    check_finite(matrix, name)
    return _tame_logits(matrix) if scale == "logits" else _normalised(matrix, name, remedy)


@dataclass(frozen=True, eq=False)
class CheckedScores:
    """Scores that passed ``check_scores``, as calibrators read them.

    Attributes
    ----------
    matrix : ndarray of shape (n, n_classes)
        Probabilities whose rows sum to 1, or logits.
    scale : {"probabilities", "logits"}
        Which of the two.
    smallest : float
        The smallest step of the precision they came in.
    """

    matrix: FloatArray
    scale: Scale
    smallest: float

    @classmethod
    def of(cls, scores: ArrayLike, *, scale: Scale, **options: Any) -> Self:
        """Check scores, with the options of ``check_scores``."""
        return cls(check_scores(scores, scale=scale, **options), scale, _smallest(scores))

    @cached_property
    def logits(self) -> FloatArray:
        """The scores as logits: themselves, or the logarithm of the probabilities.

        Probabilities of 0 are taken as the smallest step of the precision they came in, which is
        the least that a saturated classifier can have meant.
        """
        if self.scale == "logits":
            return self.matrix
        return np.log(np.maximum(self.matrix, self.smallest))

    def part(self, rows: IntArray) -> Self:
        """Return some of the rows."""
        return replace(self, matrix=self.matrix[rows])


def both_columns(proba: FloatArray) -> FloatArray:
    """Return probabilities with a column per class; one dimension is the positive class of two."""
    if proba.ndim == 2:
        return proba
    columns = np.empty((len(proba), 2))
    np.subtract(1.0, proba, out=columns[:, 0])
    columns[:, 1] = proba
    return columns


def check_proba(
    proba: ArrayLike, *, name: str = "proba", n_classes: int | None = None
) -> FloatArray:
    """Return class probabilities as a matrix whose rows sum to 1."""
    return check_scores(
        proba, scale="probabilities", name=name, n_classes=n_classes, remedy=NO_LOGITS
    )


def as_proba(proba: ArrayLike, *, name: str = "proba") -> FloatArray:
    """Return class probabilities as a matrix, its rows as they are.

    What is no probability is refused as by ``check_proba``; sums are not looked at.
    """
    given = plain_array(proba, name)
    if given.ndim != 2 or given.shape[1] < 2 or given.dtype.kind != "f" or not given.size:
        return check_proba(proba, name=name)
    if not (given.min() >= 0 and given.max() <= 1 + ROW_SUM_TOLERANCE):
        return check_proba(proba, name=name)
    return given


def _smallest(scores: Any) -> float:
    """Return the smallest step of the precision that probabilities came in."""
    dtype = getattr(scores, "dtype", np.float64)
    single = isinstance(dtype, np.dtype) and dtype.itemsize < 8 and dtype.kind == "f"
    return float(np.finfo(np.float32 if single else np.float64).eps)


def two_logits(scores: NDArray[Any], *, scale: Scale) -> tuple[FloatArray | float, FloatArray]:
    """Return the logits of the two classes; of one given dimension, without making a matrix.

    The same checks and the same numbers as of ``CheckedScores``.
    """
    if scores.ndim == 1 and scores.size and scores.dtype.kind == "f":
        given: FloatArray = scores.astype(np.float64, copy=False)
        low, high = given.min(), given.max()
        if scale == "logits" and low >= -WIDEST_LOGIT and high <= WIDEST_LOGIT:
            return 0.0, given
        if scale == "probabilities" and low >= 0 and high <= 1:
            # With the rest they sum to 1 but for a rounding, so nothing is divided.
            smallest = _smallest(scores)
            rest = np.subtract(1.0, given)
            np.log(np.maximum(rest, smallest, out=rest), out=rest)
            own = np.maximum(given, smallest)
            return rest, np.log(own, out=own)
    both = CheckedScores.of(scores, scale=scale, n_classes=2, remedy=FIT_LOGITS).logits
    return both[:, 0], both[:, 1]


def one_column(scores: Any, name: str) -> str | None:
    """Return the argument's name if it has one dimension: a score of the positive class alone."""
    return name if np.ndim(as_array(scores)) == 1 else None


def check_sample_weight(
    sample_weight: ArrayLike | None, *, n_rows: int, name: str = "sample_weight"
) -> FloatArray | None:
    """Return weights as a float array, or None when every row counts once.

    Those beyond all use are brought into reach; see ``_tame_weights``.
    """
    if sample_weight is None:
        return None
    weight = float_array(sample_weight, name)
    if weight.shape != (n_rows,):
        raise ArgumentError(
            f"`{name}` must have one weight per row; {n_rows} rows, shape {weight.shape}.", name
        )
    check_finite(weight, name)
    if (weight < 0).any():
        raise ArgumentError(
            f"`{name}` must not be negative; {count_and_first(weight < 0)} "
            f"({weight[np.argmax(weight < 0)]:g}).",
            name,
        )
    if not weight.any():
        raise ArgumentError(f"`{name}` must not be zero everywhere.", name)
    return _tame_weights(weight)


def check_same_length(**arrays: Any) -> int:
    """Return the common length of the named arrays, or say which differ."""
    lengths = {name: len(array) for name, array in arrays.items() if array is not None}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"`{name}` {length}" for name, length in lengths.items())
        raise ValueError(f"These must have the same number of rows: {listed}.")
    return next(iter(lengths.values()))


def check_priors(priors: ArrayLike, *, n_classes: int, name: str = "priors") -> FloatArray:
    """Return class proportions that sum to 1; one number means the positive class of two."""
    array = float_array(priors, name)
    if array.ndim == 0 and n_classes == 2:
        array = np.array([1 - array, array])
    if array.shape != (n_classes,):
        raise ArgumentError(
            f"`{name}` must have one proportion for each of the {n_classes} classes; "
            f"got shape {array.shape}.",
            name,
        )
    check_finite(array, name)
    if (array < 0).any() or abs(array.sum() - 1) > ROW_SUM_TOLERANCE:
        raise ArgumentError(
            f"`{name}` must be at least 0 and sum to 1; got {array.tolist()}.", name
        )
    return np.asarray(array / array.sum())


def check_penalties(
    penalties: ArrayLike, *, name: str = "penalties", allow_negative: bool = False
) -> FloatArray:
    """Return a square matrix of what it costs to predict class i (row) as class j (column)."""
    matrix = float_array(penalties, name)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise ArgumentError(
            f"`{name}` must be a square matrix with a row per true class and a column per "
            f"predicted class; got shape {matrix.shape}.",
            name,
        )
    check_finite(matrix, name)
    if not allow_negative and (matrix < 0).any():
        raise ArgumentError(f"`{name}` must not be negative; the least is {matrix.min():g}.", name)
    check_in_reach(matrix, name)
    return matrix.copy()


def check_in_reach(costs: FloatArray, name: str) -> None:
    """Raise if a cost is not 0 and so large or small that products with it are not numbers."""
    size = np.abs(costs)
    strange = (size > _DEAREST) | ((size > 0) & (size < 1 / _DEAREST))
    if strange.any():
        raise ArgumentError(
            f"`{name}` must be 0, or from {1 / _DEAREST:g} to {_DEAREST:g} in size; got "
            f"{costs[strange].flat[0]:g}. Take another unit.",
            name,
        )


def float_array(values: ArrayLike, name: str) -> FloatArray:
    """Return numbers as a float64 array, NaN in every gap."""
    return plain_array(values, name).astype(np.float64, copy=False)


def rows_of(values: Any, name: str) -> NDArray[Any]:
    """Return numbers with a row per example, NaN in every gap."""
    array = plain_array(values, name)
    if array.ndim == 0:
        raise TypeError(
            f"`{name}` must be an array or a frame with a row per example; got "
            f"{type(values).__name__}."
        )
    return array


def _two_columns(array: FloatArray, scale: Scale, name: str, remedy: str) -> FloatArray:
    if array.ndim == 2:
        return array
    if array.ndim != 1:
        raise ArgumentError(
            f"`{name}` must have one dimension (score of the positive class) or two "
            f"(a column per class); got shape {array.shape}.",
            name,
        )
    if scale == "logits":
        check_finite(array, name)
        return np.column_stack([np.zeros_like(array), _narrowed(array)])
    outside = (array < 0) | (array > 1)
    if outside.any():
        raise ArgumentError(
            f"`{name}` must be probabilities in [0, 1]; {count_and_first(outside)} "
            f"({array[np.argmax(outside)]:g}). {remedy}",
            name,
            ways=_LOGITS,
        )
    return np.column_stack([1 - array, array])


def check_finite(array: NDArray[Any], name: str) -> None:
    """Raise for NaN and infinity, and say in how many rows."""
    finite = np.isfinite(array)
    if not finite.all():
        bad: NDArray[np.bool_] = ~finite if array.ndim == 1 else ~np.all(finite, axis=1)
        raise ArgumentError(
            f"`{name}` must be finite; NaN or infinity in {count_and_first(bad)}. "
            f"Drop or repair these rows.",
            name,
        )


def _normalised(proba: FloatArray, name: str, remedy: str) -> FloatArray:
    if proba.min() < 0:
        negative: NDArray[np.bool_] = np.any(proba < 0, axis=1)
        raise ArgumentError(
            f"`{name}` must not be negative; {count_and_first(negative)} "
            f"({proba.min(axis=1)[np.argmax(negative)]:g}). {remedy}",
            name,
            ways=_LOGITS,
        )
    with np.errstate(over="ignore"):
        sums = _row_sums(proba)
    distance = np.abs(sums - 1)
    if distance.max() > ROW_SUM_TOLERANCE:
        off = distance > ROW_SUM_TOLERANCE
        raise ArgumentError(
            f"`{name}` rows must sum to 1; {count_and_first(off)} "
            f"(sum {sums[np.argmax(off)]:.4g}). {remedy}",
            name,
            ways=_LOGITS,
        )
    rounding = 4 * np.finfo(np.float64).eps
    if distance.max() <= rounding:
        return proba
    # Row by row, so that a row comes out the same whatever the rows beside it.
    return proba / np.where(distance <= rounding, 1.0, sums)[:, None]


def _row_sums(matrix: FloatArray, rows_at_a_time: int = 4096) -> FloatArray:
    """Add columns, a few thousand rows at a time: much faster than along short rows."""
    sums = np.empty(len(matrix))
    for begin in range(0, len(matrix), rows_at_a_time):
        part = matrix[begin : begin + rows_at_a_time]
        total = sums[begin : begin + rows_at_a_time]
        total[:] = part[:, 0]
        for column in range(1, matrix.shape[1]):
            total += part[:, column]
    return sums


def count_and_first(bad: NDArray[np.bool_]) -> str:
    """Say how many rows are marked, and which is the first."""
    return f"{int(bad.sum())} of {len(bad)} rows, first is row {int(np.argmax(bad))}"


def _tame_weights(weight: FloatArray) -> FloatArray:
    """Return weights whose sums and ratios are numbers.

    All are multiplied by one power of two, which changes no ratio, where the heaviest is not
    between 2^-52 and 2^52. A weight below 2^-100 of the heaviest becomes 0: no sum would show it.
    """
    heaviest = float(weight.max())
    if not _LEAST <= heaviest <= _MOST:
        bound = _LEAST if heaviest < _LEAST else _MOST
        exponent = int(np.frexp(bound)[1] - np.frexp(heaviest)[1])
        weight = np.ldexp(weight, exponent)
        heaviest = float(weight.max())
    faint = weight < _NOTHING * heaviest
    if (weight[faint] > 0).any():
        weight = np.where(faint, 0.0, weight)
    return weight


def _narrowed(logits: FloatArray) -> FloatArray:
    """Return logits of one class against another, none beyond the widest."""
    return np.clip(logits, -WIDEST_LOGIT, WIDEST_LOGIT)


def _tame_logits(logits: FloatArray) -> FloatArray:
    """Return logits none of which is beyond the widest.

    Where the highest of a row is, that becomes 0, which is the same to a softmax; what lies
    further below than the widest comes up to it. A row comes out the same whatever rows are
    beside it.
    """
    highest = logits.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        moved = logits - np.where(np.abs(highest) > WIDEST_LOGIT, highest, 0.0)
    return _narrowed(moved)
