"""DataFrames and tensors at the door: pandas, Polars, PyArrow tables, PyTorch.

A frame's columns carry the class names, which the order of its columns alone would lose; its
other columns and its index are handed through to the decisions. Tensors are moved to memory once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "PREFIX",
    "Scores",
    "as_array",
    "classes_by_name",
    "is_empty",
    "numbers",
    "taken",
    "to_native_frame",
]

PREFIX = "p_"


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
    """Return a tensor as an array in memory, and anything else as it is."""
    if hasattr(values, "detach") and hasattr(values, "cpu"):
        moved = values.detach().cpu()
        # NumPy has no bfloat16; float32 holds every one of them.
        return (moved.float() if "bfloat16" in str(moved.dtype) else moved).numpy()
    return values


def is_empty(value: Any) -> bool:
    """Tell whether a value stands for nothing: None, NaN, the NA and NaT of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def numbers(array: NDArray[Any]) -> NDArray[Any]:
    """Return objects as numbers, NaN for those that stand for nothing; else what came."""
    if array.dtype.kind != "O":
        return array
    try:
        found = [np.nan if is_empty(value) else value for value in array.ravel().tolist()]
        return np.array(found, dtype=np.float64).reshape(array.shape)
    except (TypeError, ValueError):
        return array


def taken(scores: Any, classes: NDArray[Any] | None = None, y: Any = None) -> Scores:
    """Take scores out of an array, a tensor or a frame, in the order of the classes given.

    Where the classes are not known yet, ``y`` tells what a column may be named by.
    """
    frame = _frame(scores)
    if frame is None:
        return Scores(as_array(scores), single=_own_name(getattr(scores, "name", None)))
    columns = [str(name) for name in frame.columns]
    places = [columns.index(name) for name in _score_columns(columns, classes, y)]
    values = np.column_stack([numbers(frame[:, place].to_numpy()) for place in places])
    names = [columns[place].removeprefix(PREFIX) for place in places]
    single = len(places) == 1
    return Scores(
        values=values[:, 0] if single else values,
        names=None if single else names,
        single=_own_name(frame.columns[places[0]]) if single else None,
        source=scores,
        others=tuple(name for place, name in enumerate(frame.columns) if place not in places),
    )


def classes_by_name(names: list[str] | None, y: Any) -> list[Any] | None:
    """Return the label that each score column is named by; None when names are no labels."""
    if names is None:
        return None
    labels = {str(label): label for label in np.asarray(as_array(y)).tolist()}
    if not set(labels) <= set(names):
        return None
    if all(isinstance(label, int) for label in labels.values()) and all(
        name.lstrip("-").isdigit() for name in names
    ):
        return [int(name) for name in names]
    return [labels.get(name, name) for name in names]


def to_native_frame(
    columns: dict[str, Any],
    *,
    like: Any,
    carried: tuple[str, ...],
    rows: NDArray[np.intp] | None = None,
) -> Any:
    """Return columns as a frame of the same kind as ``like``, after the carried ones.

    A pandas index is kept. Of ``like`` only the numbered rows are taken, where they are given.
    Without ``like`` the frame is of pandas, Polars or PyArrow, the first of them that is
    installed.
    """
    nw = _narwhals()
    if like is None:
        kind = _any_backend()
        given = {name: _with_gaps(values, kind) for name, values in columns.items()}
        return nw.from_dict(given, backend=kind).to_native()
    source = nw.from_native(like, eager_only=True)
    backend = nw.get_native_namespace(like)
    # Carried columns stay what they are: a category, a date, a gap survive no array.
    if rows is not None:
        source = source[rows]
    made = [
        nw.new_series(name, _with_gaps(values, backend), backend=backend)
        for name, values in columns.items()
    ]
    names = dict.fromkeys([*carried, *columns])
    return source.with_columns(*made).select(*names).to_native()


def _with_gaps(values: Any, backend: Any) -> Any:
    """Return a list as objects for pandas, where a gap would turn whole numbers into fractions."""
    if isinstance(values, list) and "pandas" in str(backend):
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return values


def _frame(scores: Any) -> Any:
    """Return a frame that narwhals can read, or None for anything else."""
    if isinstance(scores, np.ndarray | list | tuple) or not (
        hasattr(scores, "columns") or hasattr(scores, "column_names")
    ):
        return None
    frame = _narwhals().from_native(scores, eager_only=True, pass_through=True)
    return None if frame is scores else frame


def _score_columns(columns: list[str], classes: NDArray[Any] | None, y: Any) -> list[str]:
    marked = [name for name in columns if name.startswith(PREFIX)]
    if classes is None:
        return marked or _named_by_one(columns, _distinct(y)) or columns
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
    raise ValueError(
        f"`scores` must have a column for each class, named by it: "
        f"{', '.join(f'{PREFIX}{label}' for label in classes.tolist())}; "
        f"its columns are {', '.join(columns)}."
    )


def _named_by_one(columns: list[str], classes: list[Any]) -> list[str]:
    """Return the one column that is named by one of two classes; none where there are more."""
    names = {f"{prefix}{label}" for label in classes for prefix in (PREFIX, "")}
    found = [name for name in columns if name in names]
    return found if len(classes) == 2 and len(found) == 1 else []


def _distinct(y: Any) -> list[Any]:
    return [] if y is None else [*dict.fromkeys(np.ravel(as_array(y)).tolist())]


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
    try:
        import narwhals
    except ModuleNotFoundError as error:
        raise ImportError(
            "DataFrames need narwhals, which comes with an extra: "
            "pip install 'abstain[dataframes]'"
        ) from error
    return narwhals
