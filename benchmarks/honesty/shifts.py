"""Splits of a pool into validation rows and a batch.

The batch is (a) as the pool is, (b) of other class proportions, (c) of more uncertain rows, (d)
both, or (e) tilted along the scores, which looks much like other class proportions and is none.
Rows are never drawn twice: duplicates look like misfit to a check of the label-shift assumption.
"""

import zlib
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.honesty.sets import Pool, as_proba

__all__ = ["SHIFTS", "Shift", "Split", "drawn", "split"]

Shift = Literal["none", "label", "other", "both", "tilt"]
SHIFTS: tuple[Shift, ...] = ("none", "label", "other", "both", "tilt")

SMALLEST, LARGEST = 300, 2_000
#: Odds by which a class becomes more or less frequent where proportions are not drawn.
ODDS = 4.0
#: How many times as likely the less certain half of the rows is under another shift.
UNCERTAIN = 4.0
#: The logarithm of how many times as likely a row of the highest score is under a tilt, or less.
TILT = 2.0


@dataclass(frozen=True, eq=False)
class Split:
    """Labelled validation rows, and a batch whose labels are for judging.

    ``proportions`` are those that the labels of a label-shifted batch were drawn with.
    """

    scores_val: NDArray[Any]
    y_val: NDArray[Any]
    scores: NDArray[Any]
    y: NDArray[Any]
    scale: Literal["probabilities", "logits"]
    seed: int
    proportions: NDArray[Any] | None = None


def split(pool: Pool, shift: Shift, run: int) -> Split:
    """Return the split of that number, of sizes that vary between 300 and 2,000 rows."""
    return drawn(pool, shift, run)[0]


def drawn(
    pool: Pool, shift: Shift, run: int, *, size: int | None = None
) -> tuple[Split, NDArray[Any]]:
    """Return the split of that number, and the rows of the pool that are in neither part.

    With ``size`` both parts are of so many rows, or as many as there are for the shift.
    """
    seed = zlib.crc32(f"{pool.name} {shift} {run}".encode())
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(pool.y))
    n_val, n_batch = (_size(rng, len(order)) for _ in range(2))
    if size is not None:
        n_val = n_batch = size
    val, rest = order[:n_val], order[n_val:]
    proportions = None
    if shift == "label":
        batch, proportions = _label_shift(rng, pool, rest, n_batch)
    elif shift == "other":
        batch = _uncertain_rows(rng, pool, rest, n_batch)
    elif shift == "both":
        batch, proportions = _label_shift(rng, pool, rest, len(rest))
        batch = _uncertain_rows(rng, pool, batch, n_batch)
    elif shift == "tilt":
        batch = _tilted_rows(rng, pool, rest, n_batch)
    else:
        batch = rest[:n_batch]
    part = Split(
        pool.scores[val],
        pool.y[val],
        pool.scores[batch],
        pool.y[batch],
        pool.scale,
        seed % 2**31,
        proportions,
    )
    return part, np.setdiff1d(rest, batch)


def _size(rng: np.random.Generator, n_pool: int) -> int:
    most = min(LARGEST, n_pool // 2)
    return int(rng.integers(min(SMALLEST, most), most, endpoint=True))


def _label_shift(
    rng: np.random.Generator, pool: Pool, rest: NDArray[Any], size: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Subsample to other class proportions, as many rows as there are for them."""
    of_class = [rest[pool.y[rest] == k] for k in range(pool.n_classes)]
    there = np.array([len(rows) for rows in of_class])
    least = min(size, SMALLEST, len(rest) // 4)
    while True:
        proportions = _proportions(rng, there / there.sum())
        asked = proportions > 0
        most = int(np.min(there[asked] / proportions[asked]))
        if most >= least:
            break
    counts = np.minimum(rng.multinomial(min(size, most), proportions), there)
    batch = np.concatenate([rows[:n] for rows, n in zip(of_class, counts, strict=True)])
    return rng.permutation(batch), proportions


def _proportions(rng: np.random.Generator, usual: NDArray[Any]) -> NDArray[Any]:
    """Draw proportions: from a flat Dirichlet, or with the odds of one class moved."""
    if rng.random() < 0.5:
        return rng.dirichlet(np.ones(len(usual)))
    odds = usual.copy()
    odds[rng.integers(len(usual))] *= ODDS if rng.random() < 0.5 else 1 / ODDS
    moved: NDArray[Any] = odds / odds.sum()
    return moved


def _tilted_rows(
    rng: np.random.Generator, pool: Pool, rest: NDArray[Any], size: int
) -> NDArray[Any]:
    """Subsample by a weight that rises, or falls, with the rank of one class's probability."""
    column = 1 if pool.n_classes == 2 else rng.integers(pool.n_classes)
    p = as_proba(pool.scores[rest], pool.scale)[:, column]
    rank = np.lexsort((rng.random(len(rest)), p)).argsort() / len(rest)
    weight = np.exp(rng.choice([-TILT, TILT]) * rank)
    drawn: NDArray[Any] = rest[rng.random(len(rest)) < weight / weight.max()][:size]
    return drawn


def _uncertain_rows(
    rng: np.random.Generator, pool: Pool, rest: NDArray[Any], size: int
) -> NDArray[Any]:
    """Subsample with the half of lowest largest probability four times as likely."""
    certainty = as_proba(pool.scores[rest], pool.scale).max(axis=1)
    # A rank, so that ties do not make the half larger or smaller than it is.
    rank = np.lexsort((rng.random(len(rest)), certainty)).argsort()
    weight = np.where(rank < len(rest) / 2, UNCERTAIN, 1.0)
    # More rows than this could not be uncertain ones in that proportion.
    size = min(size, int(len(rest) / 2 * (1 + 1 / UNCERTAIN)))
    n_uncertain = rng.binomial(size, UNCERTAIN / (1 + UNCERTAIN))
    uncertain, certain = rest[weight > 1], rest[weight == 1]
    n_uncertain = min(n_uncertain, len(uncertain))
    drawn = np.concatenate([uncertain[:n_uncertain], certain[: size - n_uncertain]])
    return rng.permutation(drawn)
