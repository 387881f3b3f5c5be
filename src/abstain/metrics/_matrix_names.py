"""Matrices inside the names of metrics: ``cost:[[0,1],[5,0]]``, ``kappa:[[0,1],[2,0]]``."""

from __future__ import annotations

import json

from abstain._inputs import FloatArray
from abstain._schema import is_nested

__all__ = ["matrix_from_name", "matrix_in_name"]


def matrix_in_name(matrix: FloatArray) -> str:
    """Return a matrix as the part of a name that stands for it, whole numbers as such."""
    rows = [[int(x) if float(x).is_integer() else x for x in row] for row in matrix.tolist()]
    return json.dumps(rows, separators=(",", ":"))


def matrix_from_name(text: str) -> list[list[float]]:
    """Return the matrix that a part of a name stands for."""
    if is_nested(text.encode(errors="replace"), 2):
        raise ValueError(
            f"`metric` has {text[:60]!r} for a matrix, which must be rows of numbers such as "
            f"[[0,1],[5,0]]."
        )
    try:
        if "[[[" in text.replace(" ", ""):
            raise ValueError("there are brackets in brackets in brackets")
        rows: list[list[float]] = json.loads(text)
    except ValueError as error:
        raise ValueError(
            f"`metric` has {text!r} for a matrix, which must be rows of numbers such as "
            f"[[0,1],[5,0]]; {error}."
        ) from error
    return rows
