"""The facts as the page carries them: the columns of the cases as small numbers.

A row takes about 15 bytes: the number of its id, where ids are numbers (4), which of a few sets
of slider positions refers it (1), its prediction (1) and each probability in steps of 1e-4 (2),
all of it in base64. So hundreds of thousands of rows open at once.
"""

from __future__ import annotations

import base64
import itertools
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: What a probability of 1 is packed as.
UNITS = 10_000
_DIGITS = re.compile(r"[0-9]+")
_WHOLE = re.compile(r"-?[0-9]{1,4000}")
_NUMBER = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?([eE][-+]?[0-9]{1,4})?")


def pack(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts with the columns of their cases packed."""
    cases = facts["cases"]
    masks, which = np.unique(np.array(cases["steps"], dtype=np.int64), return_inverse=True)
    # Every class that occurs, by its place among them.
    place = {name: k for k, name in enumerate(dict.fromkeys(cases["predictions"]))}
    predicted = np.array([place[name] for name in cases["predictions"]], dtype=np.int64)
    proba = np.array(cases["proba"], dtype=np.float64).reshape(-1, len(cases["columns"]))
    # As numbers of four or eight bytes, or the text they are.
    ids = cases["ids"]
    if all(isinstance(one, int) for one in ids):
        numbers = np.array(ids, dtype=np.int64)
        exact = len(ids) and (numbers.min() < 0 or numbers.max() >= 2**32)
        ids = _numbers(numbers, "<f8" if exact else None)
    small = {
        **cases,
        "rows": len(which),
        "ids": ids,
        "order": _order(cases["ids"]),
        "groups": None if cases["groups"] is None else _numbers(np.array(cases["groups"])),
        "predictions": {"names": [*place], "column": _numbers(predicted)},
        "proba": [_numbers(np.rint(column * UNITS).astype(np.int64)) for column in proba.T],
        "units": UNITS,
        "steps": {"masks": masks.tolist(), "column": _numbers(which)},
    }
    return {**facts, "cases": small}


def _numbers(values: NDArray[Any], kind: str | None = None) -> dict[str, Any]:
    """Return numbers in base64: whole ones from 0 on in as few bytes as hold the largest."""
    if kind is None:
        most = int(values.max()) if len(values) else 0
        kind = next(f"<u{size}" for size in (1, 2, 4) if most < 256**size)
    packed = values.astype(kind)
    return {"bytes": packed.itemsize, "data": base64.b64encode(packed.tobytes()).decode("ascii")}


def _order(ids: list[Any]) -> dict[str, Any] | None:
    """Return the rows in the order of their ids; None where they come in it.

    Numbers come by their size, and inside text count as numbers, so that P10 comes after P9.
    """
    keys = ids
    if not all(isinstance(one, int) for one in ids):
        kinds = ((_WHOLE, int), (_NUMBER, float))
        fitting = (kind for form, kind in kinds if all(form.fullmatch(one) for one in ids))
        keys = [*map(next(fitting, _natural), ids)]
    if all(before <= after for before, after in itertools.pairwise(keys)):
        return None
    return _numbers(np.array(sorted(range(len(keys)), key=keys.__getitem__)))


def _natural(text: str) -> str:
    """Return text that sorts with its numbers by their value."""
    return _DIGITS.sub(_by_length, text.casefold())


def _by_length(number: re.Match[str]) -> str:
    digits = number[0].lstrip("0")
    return f"{len(digits):07d}{digits}"
