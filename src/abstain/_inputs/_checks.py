"""Every check on user input, and its message.

A message says which argument, the rule, what came, where, and what to do. The checks return
plain arrays in one form (two-dimensional, float64, classes as column numbers), so that nothing
behind them checks again. Inputs are never changed in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs._frames import as_array

__all__ = [
    "FIT_LOGITS",
    "FloatArray",
    "IntArray",
    "Mask",
    "Scale",
    "as_proba",
    "both_columns",
    "check_budget",
    "check_classes",
    "check_count",
    "check_fraction",
    "check_labels",
    "check_level",
    "check_penalties",
    "check_priors",
    "check_proba",
    "check_same_length",
    "check_sample_weight",
    "check_scores",
    "check_seed",
    "float_array",
    "one_column",
    "rows_of",
    "to_logits",
    "told_positive",
    "two_logits",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Mask = NDArray[np.bool_]
Scale = Literal["probabilities", "logits"]

# What to do about logits where probabilities are due: where a scale can be passed, where one was
# fixed before, and where there is none.
PASS_LOGITS = 'If these are logits, pass scale="logits".'
FIT_LOGITS = 'This was fitted on probabilities; if these are logits, fit it with scale="logits".'
NO_LOGITS = (
    "If these are logits, or a score of uncertainty, pass probabilities instead: those of "
    'Decisions.proba, or of a calibrator such as PlattScaling(scale="logits").'
)

# How far a row of probabilities may be from summing to 1: float32 softmax outputs of a
# thousand classes, or four printed decimals of ten, stay inside.
ROW_SUM_TOLERANCE = 1e-3


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
        raise ValueError(f'`scale` must be "probabilities" or "logits"; got {scale!r}.')
    matrix = _two_columns(float_array(rows_of(scores, name), name), scale, name, remedy)
    if matrix.shape[0] == 0:
        raise ValueError(f"`{name}` is empty; pass at least one row.")
    if matrix.shape[1] < 2:
        raise ValueError(
            f"`{name}` has {matrix.shape[1]} column; pass one column per class, or a "
            f"one-dimensional array with the score of the positive class."
        )
    if n_classes is not None and matrix.shape[1] != n_classes:
        raise ValueError(
            f"`{name}` must have one column for each of the {n_classes} classes; "
            f"got {matrix.shape[1]} columns."
        )
    _check_finite(matrix, name)
    return _normalised(matrix, name, remedy) if scale == "probabilities" else matrix


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
    given = np.asarray(as_array(proba))
    if given.ndim != 2 or given.shape[1] < 2 or given.dtype.kind != "f" or not given.size:
        return check_proba(proba, name=name)
    if not (given.min() >= 0 and given.max() <= 1 + ROW_SUM_TOLERANCE):
        return check_proba(proba, name=name)
    return given


def to_logits(
    scores: ArrayLike, *, scale: Scale, n_classes: int | None = None, remedy: str = PASS_LOGITS
) -> FloatArray:
    """Return scores as logits: themselves, or the logarithm of the probabilities.

    Probabilities of 0 are taken as the smallest step of the precision they came in, which is
    the least that a saturated classifier can have meant.
    """
    matrix = check_scores(scores, scale=scale, n_classes=n_classes, remedy=remedy)
    if scale == "logits":
        return matrix
    dtype = getattr(scores, "dtype", np.float64)
    single = isinstance(dtype, np.dtype) and dtype.itemsize < 8 and dtype.kind == "f"
    smallest = np.finfo(np.float32 if single else np.float64).eps
    logits: FloatArray = np.log(np.maximum(matrix, smallest))
    return logits


def two_logits(scores: NDArray[Any], *, scale: Scale) -> tuple[FloatArray | float, FloatArray]:
    """Return the logits of the two classes; of one given dimension, without making a matrix.

    The same checks and the same numbers as of ``to_logits``.
    """
    if scores.ndim == 1 and scale == "logits" and scores.size:
        logits: FloatArray = scores.astype(np.float64, copy=False)
        if np.isfinite(logits).all():
            return 0.0, logits
    both = to_logits(scores, scale=scale, n_classes=2, remedy=FIT_LOGITS)
    return both[:, 0], both[:, 1]


def check_classes(
    y: ArrayLike,
    *,
    n_columns: int,
    classes: Sequence[Any] | NDArray[Any] | None = None,
    name: str = "y",
    of_one_column: str | None = None,
) -> NDArray[Any]:
    """Return the class label of each score column.

    Given ``classes`` are taken as they are. Otherwise the sorted distinct labels are, if there
    is one for each column, or ``0 .. n_columns - 1`` if the labels are such numbers. Where the
    scores came in one dimension, as the argument ``of_one_column``, the labels must say which of
    them is positive.
    """
    labels = _label_array(y, name)
    if classes is not None:
        given = _label_array(classes, "classes")
        if len(set(given.tolist())) != len(given):
            raise ValueError(f"`classes` must be distinct; got {given.tolist()}.")
        if len(given) != n_columns:
            raise ValueError(
                f"`classes` must name each of the {n_columns} score columns; got {len(given)}."
            )
        return given
    distinct = _sorted_distinct(labels)
    if len(distinct) == 1:
        raise ValueError(
            f"`{name}` must have at least two classes; all {len(labels)} labels are "
            f"{_listed(distinct)}. Add examples of the others."
        )
    if len(distinct) == n_columns:
        if of_one_column is not None and told_positive(distinct) is None:
            first, second = (repr(label) for label in distinct.tolist())
            raise ValueError(
                f"`{of_one_column}` has one dimension: it is of the positive class, and nothing "
                f"says which of {first} and {second} that is. Pass classes=[{first}, {second}], "
                f"the positive class last, or classes=[{second}, {first}]."
            )
        return distinct
    if labels.dtype.kind in "iub" and distinct.min() >= 0 and distinct.max() < n_columns:
        return np.arange(n_columns)
    raise ValueError(
        f"The scores have {n_columns} columns but `{name}` has {len(distinct)} distinct labels "
        f"({_listed(distinct)}). Pass classes=[...] with the label of each column, in order."
    )


def one_column(scores: Any, name: str) -> str | None:
    """Return the argument's name if it has one dimension: a score of the positive class alone."""
    return name if np.ndim(as_array(scores)) == 1 else None


def told_positive(classes: NDArray[Any]) -> Any:
    """Return the label of two that is positive by itself; None where neither is.

    As scikit-learn's ``pos_label`` has it: 1 beside 0 or -1, and true beside false.
    """
    labels = classes.tolist()
    if len(labels) != 2 or any(isinstance(label, str) for label in labels):
        return None
    return max(labels) if {*labels} in ({0, 1}, {-1, 1}) else None


def check_labels(
    y: ArrayLike,
    *,
    classes: Sequence[Any] | NDArray[Any] | None = None,
    n_classes: int | None = None,
    n_rows: int | None = None,
    name: str = "y",
) -> IntArray:
    """Return labels as column numbers.

    ``classes`` gives the label of each column; without it the labels must be the column
    numbers ``0 .. n_classes - 1`` themselves.
    """
    labels = _label_array(y, name)
    if n_rows is not None and len(labels) != n_rows:
        raise ValueError(
            f"`{name}` must have one label per row; {n_rows} rows, {len(labels)} labels."
        )
    if classes is None:
        if n_classes is None:
            raise TypeError("check_labels() needs `classes` or `n_classes`.")
        classes = np.arange(n_classes)
    classes = _label_array(classes, "classes")
    codes = _codes(labels, classes)
    unknown = codes < 0
    if unknown.any():
        first = int(np.argmax(unknown))
        raise ValueError(
            f"`{name}` has labels that no score column stands for: "
            f"{_listed(_sorted_distinct(labels[unknown]))}, first at row {first}. "
            f"The columns are for {_listed(classes)}; pass classes=[...] if that is wrong"
            f"{', the positive class last' if len(classes) == 2 else ''}."
        )
    return codes


def check_sample_weight(
    sample_weight: ArrayLike | None, *, n_rows: int, name: str = "sample_weight"
) -> FloatArray | None:
    """Return weights as a float array, or None when every row counts once."""
    if sample_weight is None:
        return None
    weight = float_array(sample_weight, name)
    if weight.shape != (n_rows,):
        raise ValueError(
            f"`{name}` must have one weight per row; {n_rows} rows, shape {weight.shape}."
        )
    _check_finite(weight, name)
    if (weight < 0).any():
        raise ValueError(
            f"`{name}` must not be negative; {_count_and_first(weight < 0)} "
            f"({weight[np.argmax(weight < 0)]:g})."
        )
    if not weight.any():
        raise ValueError(f"`{name}` must not be zero everywhere.")
    return weight


def check_same_length(**arrays: Any) -> int:
    """Return the common length of the named arrays, or say which differ."""
    lengths = {name: len(array) for name, array in arrays.items() if array is not None}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"`{name}` {length}" for name, length in lengths.items())
        raise ValueError(f"These must have the same number of rows: {listed}.")
    return next(iter(lengths.values()))


def check_budget(budget: float, *, name: str = "budget") -> float | int:
    """Return how much may be withheld: a fraction in [0, 1) as a float, a count as an int."""
    value = _number(budget, name)
    if isinstance(budget, int | np.integer):
        if budget < 0:
            raise ValueError(
                f"`{name}` as a count must not be negative; got {budget!r}. It is how many "
                f"examples may be withheld."
            )
        if budget == 1:
            # Who writes 1 may mean everything or one example; neither is taken for the other.
            raise ValueError(
                f"`{name}` must be a fraction in [0, 1), or a count of 2 or more; got 1, which "
                f"could be either. Nothing can be kept of everything; for one example pass the "
                f"fraction 1 / n."
            )
        return int(budget)
    if not 0 <= value < 1:
        whole = int(value) if np.isfinite(value) and value >= 2 else 200
        raise ValueError(
            f"`{name}` must be a fraction in [0, 1), the share of examples that may be "
            f"withheld, or a count as a whole number; got {budget!r}. For 15 percent pass 0.15, "
            f"for {whole} examples pass {whole}."
        )
    return value


def check_count(value: int, *, name: str) -> int:
    """Return a whole number of rows, at least 0."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise ValueError(f"`{name}` must be a number of rows, 0 or more; got {value!r}.")
    return int(value)


def check_fraction(value: float, *, name: str) -> float:
    """Return a number in [0, 1]."""
    number = _number(value, name)
    if not 0 <= number <= 1:
        raise ValueError(f"`{name}` must be in [0, 1]; got {value!r}.")
    return number


def check_level(value: float) -> float:
    """Return how often an interval is to hold, a number in (0, 1)."""
    number = _number(value, "level")
    if not 0 < number < 1:
        raise ValueError(f"`level` must be in (0, 1), such as 0.9; got {value!r}.")
    return number


def check_priors(priors: ArrayLike, *, n_classes: int, name: str = "priors") -> FloatArray:
    """Return class proportions that sum to 1; one number means the positive class of two."""
    array = float_array(priors, name)
    if array.ndim == 0 and n_classes == 2:
        array = np.array([1 - array, array])
    if array.shape != (n_classes,):
        raise ValueError(
            f"`{name}` must have one proportion for each of the {n_classes} classes; "
            f"got shape {array.shape}."
        )
    _check_finite(array, name)
    if (array < 0).any() or abs(array.sum() - 1) > ROW_SUM_TOLERANCE:
        raise ValueError(f"`{name}` must be at least 0 and sum to 1; got {array.tolist()}.")
    result: FloatArray = array / array.sum()
    return result


def check_penalties(
    penalties: ArrayLike, *, name: str = "penalties", allow_negative: bool = False
) -> FloatArray:
    """Return a square matrix of what it costs to predict class i (row) as class j (column)."""
    matrix = float_array(penalties, name)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise ValueError(
            f"`{name}` must be a square matrix with a row per true class and a column per "
            f"predicted class; got shape {matrix.shape}."
        )
    _check_finite(matrix, name)
    if not allow_negative and (matrix < 0).any():
        raise ValueError(f"`{name}` must not be negative; the least is {matrix.min():g}.")
    return matrix.copy()


def check_seed(random_state: Any) -> int:
    """Return a whole number to seed compiled sampling with; None draws a fresh one."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    try:
        return int(np.random.default_rng(random_state).integers(2**62))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`random_state` must be None, a whole number or a NumPy generator; "
            f"got {random_state!r}."
        ) from error


def float_array(values: ArrayLike, name: str) -> FloatArray:
    """Return numbers as a float64 array."""
    try:
        return np.asarray(as_array(values), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"`{name}` must be numbers; {_kind(values) or error}.") from error


def rows_of(values: Any, name: str) -> NDArray[Any]:
    """Return an array with a row per example; what has no rows is named for what it is."""
    try:
        # A masked array keeps its mask: what it hides is missing.
        array: NDArray[Any] = np.asanyarray(as_array(values))
    except ValueError as error:
        # Rows of different lengths.
        raise TypeError(f"`{name}` must be numbers; {error}.") from error
    if array.ndim == 0:
        raise TypeError(
            f"`{name}` must be an array or a frame with a row per example; "
            f"{_kind(values) or f'got {values!r}'}."
        )
    return array


def _kind(values: Any) -> str:
    """Say what came in place of numbers, and where these are."""
    kind = type(values).__name__
    if hasattr(values, "proba") and hasattr(values, "abstain"):
        return f"got {kind}, whose probabilities are its `proba`"
    if hasattr(values, "predict_proba"):
        return f"got {kind}, whose probabilities its predict_proba() returns"
    if callable(values):
        return f"got the function {getattr(values, '__name__', kind)}; call it and pass the result"
    return f"got {kind}" if values is None or np.ndim(values) == 0 else ""


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"`{name}` must be a number; got {value!r}.")
    return float(value)


def _label_array(labels: Any, name: str) -> NDArray[Any]:
    array = np.asarray(as_array(labels))
    if array.ndim != 1:
        raise ValueError(f"`{name}` must be one-dimensional; got shape {array.shape}.")
    if array.dtype.kind == "f":
        _check_finite(array, name)
        if (array == np.floor(array)).all():
            # Labels read from a file with a gap come as 0.0 and 1.0.
            array = array.astype(np.int64)
    return array


def _two_columns(array: FloatArray, scale: Scale, name: str, remedy: str) -> FloatArray:
    if array.ndim == 2:
        return array
    if array.ndim != 1:
        raise ValueError(
            f"`{name}` must have one dimension (score of the positive class) or two "
            f"(a column per class); got shape {array.shape}."
        )
    if scale == "logits":
        return np.column_stack([np.zeros_like(array), array])
    outside = (array < 0) | (array > 1)
    if outside.any():
        raise ValueError(
            f"`{name}` must be probabilities in [0, 1]; {_count_and_first(outside)} "
            f"({array[np.argmax(outside)]:g}). {remedy}"
        )
    return np.column_stack([1 - array, array])


def _check_finite(array: NDArray[Any], name: str) -> None:
    finite = np.isfinite(array)
    if not finite.all():
        bad: NDArray[np.bool_] = ~finite if array.ndim == 1 else ~np.all(finite, axis=1)
        raise ValueError(
            f"`{name}` must be finite; NaN or infinity in {_count_and_first(bad)}. "
            f"Drop or repair these rows."
        )


def _normalised(proba: FloatArray, name: str, remedy: str) -> FloatArray:
    if proba.min() < 0:
        negative: NDArray[np.bool_] = np.any(proba < 0, axis=1)
        raise ValueError(
            f"`{name}` must not be negative; {_count_and_first(negative)} "
            f"({proba.min(axis=1)[np.argmax(negative)]:g}). {remedy}"
        )
    sums = _row_sums(proba)
    distance = np.abs(sums - 1)
    if distance.max() > ROW_SUM_TOLERANCE:
        off = distance > ROW_SUM_TOLERANCE
        raise ValueError(
            f"`{name}` rows must sum to 1; {_count_and_first(off)} "
            f"(sum {sums[np.argmax(off)]:.4g}). {remedy}"
        )
    rounding = 4 * np.finfo(np.float64).eps
    if distance.max() <= rounding:
        return proba
    # Row by row, so that a row comes out the same whatever the rows beside it.
    result: FloatArray = proba / np.where(distance <= rounding, 1.0, sums)[:, None]
    return result


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


def _count_and_first(bad: NDArray[np.bool_]) -> str:
    return f"{int(bad.sum())} of {len(bad)} rows, first is row {int(np.argmax(bad))}"


def _sorted_distinct(labels: NDArray[Any]) -> NDArray[Any]:
    try:
        return np.unique(labels)
    except TypeError:
        # Labels of mixed types have no order of their own; any fixed one will do.
        distinct = sorted(
            set(labels.tolist()), key=lambda label: (type(label).__name__, str(label))
        )
        result = np.empty(len(distinct), dtype=object)
        result[:] = distinct
        return result


def _codes(labels: NDArray[Any], classes: NDArray[Any]) -> IntArray:
    """Position of each label among the classes, -1 where it is not there."""
    position = {label: column for column, label in enumerate(classes.tolist())}
    if labels.dtype.kind in "iub" and classes.dtype.kind in "iub":
        distinct, inverse = np.unique(labels, return_inverse=True)
        found = np.array([position.get(label, -1) for label in distinct.tolist()], dtype=np.intp)
        return found[inverse]
    return np.array([position.get(label, -1) for label in labels.tolist()], dtype=np.intp)


def _listed(values: NDArray[Any], most: int = 6) -> str:
    shown = ", ".join(repr(value) for value in values[:most].tolist())
    return shown + (", ..." if len(values) > most else "")
