"""What rows are called: ids and groups, which may be anything, each exactly as it came.

An array of them would round whole numbers beside a gap, make text of numbers beside text, and of
a date in nanoseconds a number.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs._checks import IntArray
from abstain._inputs._frames import as_array, in_full, is_empty
from abstain.exceptions import ArgumentError

_SHOWN = 60
#: What rows without a group are called.
_MISSING = "(missing)"


def row_names(values: Any, *, n_rows: int, name: str, what: str = "decisions") -> list[Any]:
    """Return one value for each row as Python's own; None where there is none.

    Parameters
    ----------
    values : array-like of shape (n_rows,)
        Anything; None, NaN, NaT, NA or masked where there is none.
    n_rows : int
        How many there must be.
    name : str
        The argument's name, for messages.
    what : str
        What has so many rows.
    """
    found = _listed(values, name)
    if len(found) != n_rows:
        raise ValueError(
            f"These must have the same number of rows: `{what}` {n_rows}, `{name}` {len(found)}."
        )
    return found


def _listed(values: Any, name: str) -> list[Any]:
    given = in_full(as_array(values))
    masked = np.ma.getmaskarray(given) if np.ma.isMaskedArray(given) else None
    if not isinstance(given, list | tuple):
        array = np.asarray(given)
        if array.ndim != 1:
            raise ArgumentError(
                f"`{name}` must be one-dimensional; got shape {array.shape}.", name
            )
        if array.dtype.kind in "Mm":
            # Of a date in nanoseconds Python knows a number alone.
            given = [None if one == "NaT" else one for one in array.astype(str).tolist()]
        else:
            given = array.tolist()
    elif any(isinstance(one, list | tuple | np.ndarray) and not is_empty(one) for one in given):
        raise ArgumentError(f"`{name}` must be one-dimensional; got a list of lists.", name)
    found = [None if is_empty(one) else _own(one) for one in given]
    if masked is not None and masked.any():
        found = [None if hidden else one for one, hidden in zip(found, masked, strict=True)]
    return found


def _own(value: Any) -> Any:
    """Return Python's own number for NumPy's, and else what came."""
    if isinstance(value, np.datetime64 | np.timedelta64 | np.longdouble):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value


def n_entries(values: Any, *, name: str) -> int:
    """Return how many entries there are."""
    return len(_listed(values, name))


def group_codes(
    groups: Any, *, n_rows: int, name: str = "groups", most: int | None = None
) -> tuple[list[Any], IntArray]:
    """Return the groups, in their order where they have one, and the number of each row's.

    Rows without a group are one of their own, the last. ``most`` is how many there may be.
    """
    values = row_names(groups, n_rows=n_rows, name=name)
    strange = next((one for one in values if not _is_name(one)), None)
    if strange is not None:
        raise TypeError(
            f"`{name}` must be text, numbers, dates or the like; got {str(strange)[:_SHOWN]!r}, a "
            f"{type(strange).__name__}."
        )
    distinct = {*values}
    # Before equal ones become one.
    types = {*map(type, values)}
    if bool in types and types & {int, float}:
        raise TypeError(
            f"`{name}` must not have both booleans and numbers, as True is 1 and False is 0."
        )
    distinct.discard(None)
    try:
        known = sorted(distinct)
    except TypeError:
        known = sorted(distinct, key=lambda one: (type(one).__name__, str(one)))
    number: dict[Any, int] = {label: k for k, label in enumerate(known)}
    if None in values:
        last: Any = _MISSING
        while last in number:
            last = f"({last})"
        known.append(last)
        number[None] = len(known) - 1
    if most is not None and len(known) > most:
        raise ValueError(
            f"`{name}` must have at most {most:,} groups; got {len(known):,}. Is it an id?"
        )
    codes: NDArray[np.intp] = np.array([number[value] for value in values], dtype=np.intp)
    return known, codes


def _is_name(value: Any) -> bool:
    if isinstance(value, str | bytes):
        return True
    return isinstance(value, Hashable) and not hasattr(value, "__len__")


def group_names(labels: list[Any]) -> list[str]:
    """Return groups as text, no two the same: 1 and "1" as Python writes them."""
    names = [str(label) for label in labels]
    if len({*names}) == len(names):
        return names
    seen: dict[str, int] = {}
    for one in names:
        seen[one] = seen.get(one, 0) + 1
    return [
        one if seen[one] == 1 else f"{label!r} ({type(label).__name__})"
        for one, label in zip(names, labels, strict=True)
    ]
