"""Bootstrap resamples as weights of the rows drawn from."""

from __future__ import annotations

import numpy as np

from abstain._inputs import FloatArray

__all__ = ["resampled_weight"]


def resampled_weight(
    n_rows: int, weight: FloatArray | None, rng: np.random.Generator
) -> FloatArray:
    """Return how often each row is drawn when as many are drawn with replacement as there are.

    A row of weight 2 is two rows, either of which may be drawn.
    """
    if weight is None:
        return np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows).astype(np.float64)
    total = weight.sum()
    return rng.multinomial(max(round(total), 1), weight / total).astype(np.float64)
