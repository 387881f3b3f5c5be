"""DataFrames and tensors at the door: pandas, Polars, PyArrow tables, PyTorch.

A frame's columns carry the class names, which the order of its columns alone would lose; its
other columns and its index are handed through to the decisions. Tensors are moved to memory once.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Scores", "as_array", "classes_by_name", "read_scores", "to_native_frame"]

PREFIX = "p_"


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores taken out of whatever they came in.

    Attributes
    ----------
    values : object
        The scores, in the order of the classes where these are known; an array, or as given.
    names : list of str or None
        What the score columns are called, without ``p_``; None for arrays.
    source : object
        The frame they came in, for its index and its other columns; None for arrays.
    others : list of str
        The frame's columns that are no scores.
    """

    values: Any
    names: list[str] | None = None
    source: Any = None
    others: tuple[str, ...] = ()


def as_array(values: Any) -> Any:
    """Return a tensor as an array in memory, and anything else as it is."""
    if hasattr(values, "detach") and hasattr(values, "cpu"):
        moved = values.detach().cpu()
        # NumPy has no bfloat16; float32 holds every one of them.
        return (moved.float() if "bfloat16" in str(moved.dtype) else moved).numpy()
    return values


def read_scores(scores: Any, classes: NDArray[Any] | None = None) -> Scores:
    """Take scores out of an array, a tensor or a frame.

    Parameters
    ----------
    scores : array-like, tensor or frame
        A frame has one column per class, named by the class with or without ``p_`` before it
        (in any order once the classes are known), or a single score column. Columns beside
        these, such as an id, are allowed where the classes are known or the scores' names
        begin with ``p_``.
    classes : ndarray, optional
        The classes, when they are known.
    """
    frame = _frame(scores)
    if frame is None:
        return Scores(as_array(scores))
    columns = [str(name) for name in frame.columns]
    places = [columns.index(name) for name in _score_columns(columns, classes)]
    values = np.column_stack([frame[:, place].to_numpy() for place in places])
    names = [columns[place].removeprefix(PREFIX) for place in places]
    return Scores(
        values=values[:, 0] if len(places) == 1 else values,
        names=names if len(places) > 1 else None,
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


def to_native_frame(columns: dict[str, Any], *, like: Any, carried: tuple[str, ...]) -> Any:
    """Return columns as a frame of the same kind as ``like``, after the carried ones.

    A pandas index is kept. Without ``like`` the frame is of pandas, Polars or PyArrow, the first
    of them that is installed.
    """
    nw = _narwhals()
    if like is None:
        return nw.from_dict(columns, backend=_any_backend()).to_native()
    source = nw.from_native(like, eager_only=True)
    backend = nw.get_native_namespace(like)
    # Carried columns stay what they are: a category, a date, a gap survive no array.
    made = [nw.new_series(name, values, backend=backend) for name, values in columns.items()]
    names = dict.fromkeys([*carried, *columns])
    return source.with_columns(*made).select(*names).to_native()


def _frame(scores: Any) -> Any:
    """Return a frame that narwhals can read, or None for anything else."""
    if isinstance(scores, np.ndarray | list | tuple) or not (
        hasattr(scores, "columns") or hasattr(scores, "column_names")
    ):
        return None
    frame = _narwhals().from_native(scores, eager_only=True, pass_through=True)
    return None if frame is scores else frame


def _score_columns(columns: list[str], classes: NDArray[Any] | None) -> list[str]:
    marked = [name for name in columns if name.startswith(PREFIX)]
    if classes is None:
        return marked or columns
    for prefix in (PREFIX, ""):
        named = [f"{prefix}{label}" for label in classes.tolist()]
        if set(named) <= set(columns):
            return named
    # Names that are not those of the classes: all there is, or all that is marked, by position.
    allowed = (1, 2) if len(classes) == 2 else (len(classes),)
    for candidates in (marked, columns):
        if len(candidates) in allowed:
            _check_positive(candidates, classes.tolist())
            return candidates
    raise ValueError(
        f"`scores` must have a column for each class, named by it: "
        f"{', '.join(f'{PREFIX}{label}' for label in classes.tolist())}; "
        f"its columns are {', '.join(columns)}."
    )


def _check_positive(columns: list[str], classes: list[Any]) -> None:
    """Refuse a single score that is named by the class it would be taken for the opposite of."""
    if len(columns) == 1 and columns[0].removeprefix(PREFIX) == str(classes[0]):
        raise ValueError(
            f"`scores` has the one score column {columns[0]}, which names the class "
            f"{classes[0]!r}; a single score must be that of the positive class, {classes[1]!r}. "
            f"Pass it, or both columns."
        )


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
