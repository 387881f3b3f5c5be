"""Plain data that JSON can hold: Python's own numbers, and None for what is not a number."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np


def plain(value: Any, *, digits: int | None = None) -> Any:
    """Return a value with Python's own numbers and lists; what is not finite is None.

    Parameters
    ----------
    value : object
        Numbers, text, arrays, and mappings and sequences of them; anything else becomes text.
    digits : int, optional
        How many digits of a fraction to keep; all when not given.

    Examples
    --------
    >>> plain({"a": np.array([1.0, np.nan]), "b": (np.int64(3), "x")})
    {'a': [1.0, None], 'b': [3, 'x']}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        if not isfinite(value):
            return None
        return value if digits is None else float(f"{value:.{digits}g}")
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(part, digits=digits) for part in value]
    if isinstance(value, Mapping):
        return {str(key): plain(part, digits=digits) for key, part in value.items()}
    return str(value)


def nan_if_none(value: float | None) -> float:
    """Return the number that ``plain`` made None of, as NaN."""
    return float("nan") if value is None else float(value)
