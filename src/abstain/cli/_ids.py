"""Columns that name rows: a patient's number is no score, though it is a number."""

from __future__ import annotations

import re

import numpy as np

from abstain._inputs import FloatArray

_CALLED = re.compile(
    r"(^|[\W_])(ids?|uuid|key|index|idx|row|nr|no|num|number|patient|case|subject|person|pid|mrn|"
    r"record|kennung|nummer)($|[\W_\d])|[a-z](ID|Id|_id)$|^(patient|case|subject|person|record)",
    re.IGNORECASE,
)
# A few whole numbers in order may be scores.
_FEW = 8


def names_rows(name: str, values: FloatArray) -> bool:
    """Tell whether a column seems to name its rows instead of scoring them.

    Whole numbers of which none comes twice, that are in order or in a column called so; in such a
    column also those that come twice. Nothing within 0 to 1 is one.

    Examples
    --------
    >>> names_rows("patient", np.array([1007.0, 1003.0, 1011.0]))
    True
    >>> names_rows("logit", np.array([-1.5, 0.2, 3.0]))
    False
    """
    there = values[np.isfinite(values)]
    if len(there) < 2 or (there % 1).any() or (there.min() >= 0 and there.max() <= 1):
        return False
    if _CALLED.search(name):
        return True
    steps = np.diff(there)
    return len(there) >= _FEW and bool((steps > 0).all() or (steps < 0).all())
