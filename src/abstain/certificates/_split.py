"""Splitting labelled data: what chooses a rule must not certify it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray, number

__all__ = ["check_confidence", "split_for_certificate"]


def check_confidence(confidence: float) -> float:
    """Return a confidence in (0, 1)."""
    value = number(confidence, "confidence")
    if not 0 < value < 1:
        raise ValueError(f"`confidence` must be between 0 and 1, such as 0.9; got {confidence!r}.")
    return value


def split_for_certificate(
    codes: IntArray, *, classes: NDArray[Any], weight: FloatArray | None, seed: int
) -> tuple[IntArray, IntArray]:
    """Split labelled rows into those that fit and those that certify.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        True columns.
    classes : ndarray of shape (n_classes,)
        The label of each column.
    weight : ndarray of shape (n,) or None
        Sample weights, which there must not be: a bound counts independent examples.
    seed : int
        Seeds the split.

    Returns
    -------
    fitting, certifying : ndarray
        Rows of each half, each class split evenly; of an odd number one more certifies.

    Raises
    ------
    ValueError
        If rows are weighted, or a class has fewer than two examples.
    """
    if weight is not None and np.ptp(weight) > 0:
        raise ValueError(
            "`sample_weight` and `confidence` do not go together: a certificate counts "
            "independent labelled examples, each once."
        )
    rng = np.random.default_rng(seed)
    certifying = np.zeros(len(codes), dtype=bool)
    for code, label in enumerate(classes.tolist()):
        rows = rng.permutation(np.flatnonzero(codes == code))
        if len(rows) < 2:
            raise ValueError(
                f"`confidence` needs labelled examples to hold out, at least two of each class; "
                f"class {label!r} has {len(rows)}."
            )
        certifying[rows[: (len(rows) + 1) // 2]] = True
    return np.flatnonzero(~certifying), np.flatnonzero(certifying)
