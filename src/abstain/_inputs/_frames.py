"""DataFrames and tensors at the door: pandas, Polars, PyArrow tables, PyTorch.

A frame's columns carry the class names, which the order of its columns alone would lose; its
other columns and its index are handed through to the decisions. Tensors are moved to memory once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain.exceptions import ArgumentError, extra

PREFIX = "p_"
# A whole number as fractions are written.
_FRACTION = re.compile(r"(p_)?-?[0-9]+\.0")
_KINDS = {
    "U": "text",
    "T": "text",
    "S": "bytes",
    "c": "complex numbers",
    "M": "dates",
    "m": "lengths of time",
    "V": "records",
}
# What may not be equal to itself.
_WITH_NAN = float | np.floating | np.datetime64 | np.timedelta64


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores taken out of whatever they came in.

    Attributes
    ----------
    values : object
        The scores, in the order of the classes where these are known; an array, or as given.
    names : list of str or None
        What the score columns are called, without ``p_``; None for arrays and a single score.
    single : str or None
        What a single score is called, without ``p_``; None where it has no name of its own.
    source : object
        The frame they came in, for its index and its other columns; None for arrays.
    others : list of str
        The frame's columns that are no scores.
    """

    values: Any
    names: list[str] | None = None
    single: str | None = None
    source: Any = None
    others: tuple[str, ...] = ()


def as_array(values: Any) -> Any:
    """Return a tensor, or a list of them, as an array in memory, and anything else as it is."""
    if hasattr(values, "detach") and hasattr(values, "cpu"):
        # NumPy has no bfloat16 and no float8; float32 holds every one of them.
        name = str(values.dtype)
        try:
            moved = values.detach().cpu()
            return (moved.float() if "bfloat16" in name or "float8" in name else moved).numpy()
        except (TypeError, RuntimeError) as error:
            raise TypeError(
                f"A tensor must be a dense one that is in memory; got {name}, which cannot be "
                f"made an array of."
            ) from error
    if isinstance(values, list | tuple) and values and hasattr(values[0], "detach"):
        return [as_array(value) for value in values]
    return values


def on_device(values: Any) -> bool:
    """Tell whether values are on a GPU: a CUDA tensor of PyTorch, or an array of CuPy."""
    if getattr(values, "is_cuda", False) is True:
        return True
    return type(values).__module__.partition(".")[0] == "cupy"


def in_full(values: Any) -> Any:
    """Return a column with gaps as a list, as an array would make fractions of whole numbers."""
    count = getattr(values, "null_count", None)
    if count is None:
        return values
    if not (count() if callable(count) else count):
        return values
    return values.to_pylist() if hasattr(values, "to_pylist") else values.to_list()


def is_empty(value: Any) -> bool:
    """Tell whether a value stands for nothing: None, NaN, the NA and NaT of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant"):
        return True
    return isinstance(value, _WITH_NAN) and bool(value != value)


def numbers(array: NDArray[Any]) -> NDArray[Any]:
    """Return objects as numbers, NaN for those that stand for nothing; else what came."""
    if array.dtype.kind != "O" or (array.ndim == 0 and is_empty(array.item())):
        return array
    found = [np.nan if is_empty(value) else value for value in array.ravel().tolist()]
    if not all(isinstance(value, Real | Decimal) for value in found):
        return array
    try:
        return np.array([float(value) for value in found], dtype=np.float64).reshape(array.shape)
    except (OverflowError, ValueError):
        # A whole number beyond all fractions, or a decimal that signals.
        return array


def plain_array(values: Any, name: str) -> NDArray[Any]:
    """Return numbers as a plain array in the precision they came in, NaN in every gap.

    Text, dates, complex numbers and records are refused: none of them is a score.
    """
    if type(values) is np.ndarray and values.dtype.char in "fd" and values.dtype.isnative:
        # Plain already, as most is.
        return values
    given = as_array(values)
    array: NDArray[Any]
    if np.ma.isMaskedArray(given):
        array = np.ma.getdata(given)
        if np.ma.is_masked(given) and array.dtype.kind in "biuf":
            array = np.ma.filled(given.astype(np.result_type(array.dtype, np.float32)), np.nan)
    else:
        try:
            array = np.asarray(given)
        except ValueError as error:
            # Rows of different lengths.
            raise TypeError(f"`{name}` must be numbers; {error}.") from error
    array = numbers(array)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"`{name}` must be numbers; {_no_numbers(values, array)}.")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        # Nothing behind the door knows other widths: halves are held by float32, the rest cut.
        with np.errstate(over="ignore"):
            array = array.astype(np.float32 if array.dtype.itemsize < 4 else np.float64)
    return array


def _no_numbers(values: Any, array: NDArray[Any]) -> str:
    """Say what came in place of numbers, and where these are."""
    kind = type(values).__name__
    if hasattr(values, "proba") and hasattr(values, "abstain"):
        return f"got {kind}, whose probabilities are its `proba`"
    if hasattr(values, "predict_proba"):
        return f"got {kind}, whose probabilities its predict_proba() returns"
    if hasattr(values, "toarray"):
        return f"got a sparse {kind}; pass its toarray()"
    if hasattr(values, "collect"):
        return f"got {kind}; pass its collect()"
    if callable(values):
        return f"got the function {getattr(values, '__name__', kind)}; call it and pass the result"
    if array.ndim == 0:
        return f"got {kind}"
    if array.dtype.kind != "O":
        return f"got {_KINDS.get(array.dtype.kind, 'values')} ({str(array.dtype)[:60]})"
    strange = next(
        value
        for value in array.ravel().tolist()
        if not is_empty(value) and not isinstance(value, float)
    )
    return f"got {str(strange)[:60]!r}, a {type(strange).__name__}"


def scores_in(
    scores: Any,
    classes: NDArray[Any] | None = None,
    labels: NDArray[Any] | None = None,
    *,
    by_place: bool = True,
) -> Scores:
    """Take scores out of an array, a tensor or a frame, in the order of the classes given.

    Where the classes are not known yet, ``labels`` tell what a column may be named by. Without
    ``by_place`` several columns must be named by the classes, begin with ``p_`` or have no names:
    nothing else tells the score of a class from an id.
    """
    if type(scores) is np.ndarray:
        # Most are, and these have no names.
        return Scores(scores)
    if isinstance(scores, Scores):
        return scores
    frame = _frame(scores)
    if frame is None:
        return Scores(as_array(scores), single=_own_name(getattr(scores, "name", None)))
    columns = _column_names(frame.columns, classes if labels is None else labels)
    found = _score_columns(columns, classes, labels)
    if not by_place and classes is None and labels is not None:
        _check_all_named(frame.columns, found, labels.tolist())
    elif not by_place and classes is not None:
        _check_all_named(frame.columns, found, classes.tolist())
    places = [columns.index(name) for name in found]
    values = np.column_stack([_column(frame, place, columns) for place in places])
    names = [columns[place].removeprefix(PREFIX) for place in places]
    single = len(places) == 1
    return Scores(
        values=values[:, 0] if single else values,
        names=None if single else names,
        single=_own_name(frame.columns[places[0]]) if single else None,
        source=scores,
        others=tuple(name for place, name in enumerate(frame.columns) if place not in places),
    )


def one_row(row: Any, classes: NDArray[Any]) -> Scores:
    """Take the scores out of one row: a number, one for each class, or a mapping of their names.

    Names are those that the columns of a frame may have.
    """
    if not isinstance(row, Mapping):
        return Scores(plain_array(row if np.ndim(row) == 0 else as_array(row), "row")[None])
    names = [*row]
    columns = _column_names(names, classes)
    places = [columns.index(name) for name in _score_columns(columns, classes, None)]
    values = plain_array([[row[names[place]] for place in places]], "row")
    if len(places) > 1:
        return Scores(values, [columns[place].removeprefix(PREFIX) for place in places])
    return Scores(values[:, 0], single=_own_name(names[places[0]]))


def to_native_frame(
    columns: dict[str, Any],
    *,
    like: Any,
    carried: tuple[Any, ...],
    rows: NDArray[np.intp] | None = None,
) -> Any:
    """Return columns as a frame of the same kind as ``like``, after the carried ones.

    A pandas index is kept. Of ``like`` only the numbered rows are taken, where they are given.
    No carried column may be called as one of ``columns``. Without ``like`` the frame is of
    pandas, Polars or PyArrow, the first of them that is installed.
    """
    nw = _narwhals()
    if like is None:
        kind = _any_backend()
        given = {name: _with_gaps(values, kind) for name, values in columns.items()}
        return nw.from_dict(given, backend=kind).to_native()
    source = nw.from_native(like, eager_only=True)
    backend = nw.get_native_namespace(like)
    # Carried columns stay what they are: a category, a date, a gap survive no array. By their
    # places, as a name may be of any kind in pandas.
    names = source.columns
    # Some column has to stay for now: without any there would be no rows and no index.
    places = [names.index(name) for name in carried] or [0]
    source = source[:, places] if rows is None else source[rows, places]
    made = [
        nw.new_series(name, _with_gaps(values, backend), backend=backend)
        for name, values in columns.items()
    ]
    if not carried:
        return source.with_columns(*made).select(*columns).to_native()
    return source.with_columns(*made).to_native()


def _with_gaps(values: Any, backend: Any) -> Any:
    """Return a list with gaps as objects for pandas, where whole numbers would be fractions."""
    gaps = isinstance(values, list) and any(value is None for value in values)
    if gaps and "pandas" in str(backend):
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return values


def _column_names(names: list[Any], labels: NDArray[Any] | None) -> list[str]:
    """Return what columns are called; beside whole numbers as labels 1.0 is called 1."""
    columns = [str(name) for name in names]
    if labels is None or labels.dtype.kind not in "iu":
        return columns
    whole = [name.removesuffix(".0") if _FRACTION.fullmatch(name) else name for name in columns]
    return whole if len({*whole}) == len(whole) else columns


def _column(frame: Any, place: int, columns: list[str]) -> NDArray[Any]:
    """Return one column of a frame as numbers."""
    values = frame[:, place].to_numpy()
    if values.ndim != 1:
        raise TypeError(f"`scores[{columns[place]!r}]` must be numbers; got records.")
    return plain_array(values, f"scores[{columns[place]!r}]")


def _frame(scores: Any) -> Any:
    """Return a frame that narwhals can read, or None for anything else."""
    if isinstance(scores, np.ndarray | list | tuple) or hasattr(scores, "collect"):
        return None
    names = getattr(scores, "column_names", getattr(scores, "columns", None))
    if names is None:
        return None
    if _narwhals().dependencies.is_into_dataframe(scores):
        given = [str(name) for name in names]
        twice = sorted({name for name in given if given.count(name) > 1})
        if twice:
            raise ArgumentError(
                f"`scores` must have columns of different names; there are several called "
                f"{', '.join(map(repr, twice[:5]))}.",
                "scores",
            )
    frame = _narwhals().from_native(scores, eager_only=True, pass_through=True)
    return None if frame is scores else frame


def _check_all_named(columns: list[Any], found: list[str], labels: list[Any]) -> None:
    """Raise for several score columns of which one may be something else, such as an id."""
    known = {str(label) for label in dict.fromkeys(labels)}
    unnamed = all(type(name) is int for name in columns)
    if len(found) < 2 or unnamed or all(name.startswith(PREFIX) for name in found):
        return
    strange = [name for name in found if name not in known]
    if strange:
        raise ArgumentError(
            f"`scores` must have columns named by the classes, with or without {PREFIX} before "
            f"them; {strange[0]!r} is no class ({', '.join(sorted(known)[:6])}) and may be an id. "
            f"Put {PREFIX} before the names of score columns, or pass an array of them.",
            "scores",
        )


def _score_columns(
    columns: list[str], classes: NDArray[Any] | None, labels: NDArray[Any] | None
) -> list[str]:
    marked = [name for name in columns if name.startswith(PREFIX)]
    if classes is None:
        distinct = [] if labels is None else [*dict.fromkeys(labels.tolist())]
        return marked or _named_by_one(columns, distinct) or columns
    for prefix in (PREFIX, ""):
        named = [f"{prefix}{label}" for label in classes.tolist()]
        if set(named) <= set(columns):
            return named
    one = _named_by_one(columns, classes.tolist())
    if one:
        return one
    # Names that are not those of the classes: all there is, or all that is marked, by position.
    allowed = (1, 2) if len(classes) == 2 else (len(classes),)
    for candidates in (marked, columns):
        if len(candidates) in allowed:
            return candidates
    raise ArgumentError(
        f"`scores` must have a column for each class, named by it: "
        f"{', '.join(f'{PREFIX}{label}' for label in classes.tolist())}; "
        f"its columns are {', '.join(columns)}.",
        "scores",
    )


def _named_by_one(columns: list[str], classes: list[Any]) -> list[str]:
    """Return the one column that is named by one of two classes; none where there are more.

    Columns that are numbered from 0 on have no names: a 1 among them is no class 1.
    """
    if len(columns) > 1 and columns == [str(place) for place in range(len(columns))]:
        return []
    names = {f"{prefix}{label}" for label in classes for prefix in (PREFIX, "")}
    found = [name for name in columns if name in names]
    return found if len(classes) == 2 and len(found) == 1 else []


def _own_name(name: Any) -> str | None:
    """Return what a single column is called; a number may be no more than its position."""
    return name.removeprefix(PREFIX) if isinstance(name, str) else None


def _any_backend() -> str:
    from importlib.util import find_spec

    for backend in ("pandas", "polars", "pyarrow"):
        if find_spec(backend) is not None:
            return backend
    raise ImportError(
        "DataFrames need pandas, Polars or PyArrow: pip install 'abstain[dataframes]' pandas"
    )


def _narwhals() -> Any:
    with extra("dataframes", "DataFrames need narwhals"):
        import narwhals
    return narwhals
