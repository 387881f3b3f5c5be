"""Folds that neither tied scores nor weights can lead astray, and rows held out by them.

By folds a calibrator is picked. And what a calibrator makes of the rows it was fitted on flatters
it: by how much, the probabilities of rows that it did not see tell.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray
from abstain.calibration._base import Calibrator

# Logits closer than this, relative or absolute, are of equal rows.
_SAME = 1e-10
# More rows than this at tied scores are dealt in larger lots.
_LOTS = 1e8


@dataclass(frozen=True)
class Folds:
    """Rows dealt to folds; of some rows a part to each.

    Attributes
    ----------
    rows : ndarray of shape (n_parts,)
        A row of the data for each part: equal rows are one.
    weight : ndarray of shape (n_parts,)
        How much each part counts.
    fold : ndarray of shape (n_parts,)
        The fold it is in.
    n_levels : int
        How many distinct scores there are.
    """

    rows: IntArray
    weight: FloatArray
    fold: IntArray
    n_levels: int

    @classmethod
    def deal(cls, logits: FloatArray, codes: IntArray, weight: FloatArray, n_folds: int) -> Self:
        """Deal rows of positive weight to folds, in a fixed shuffled order.

        Rows of one score, whatever their labels, stay together where they are fewer than the
        folds, so no fit is judged on a row it saw; the folds get about as many of each class.
        More rows of one score are a value that the score often takes, and no fold should lack
        it: they are dealt out at random. Only the total weight of each score and class matters
        to either, so a row of weight 2 is the same as the row twice.
        """
        n_classes = logits.shape[1]
        level = _levels(logits[:, 0])
        for column in logits.T[1:]:
            if level.max() == len(level) - 1:
                break
            level = np.unique(level * len(level) + _levels(column), return_inverse=True)[1]
        cells, first, cell = np.unique(
            level * n_classes + codes, return_index=True, return_inverse=True
        )
        mass = np.bincount(cell, weights=weight).astype(np.float64)
        level, code = np.divmod(cells, n_classes)
        n_levels = int(level[-1]) + 1
        rng = np.random.default_rng(0)
        often = np.bincount(level, weights=mass) > n_folds - 0.5
        whole = np.flatnonzero(~often[level])
        fold = _by_class(level, code, mass, often, n_folds, rng)[level[whole]]
        parts, shares, places = _split(level, code, mass, often, n_folds, n_classes, rng)
        part = np.concatenate([whole, parts])
        return cls(
            rows=first[part],
            weight=np.concatenate([mass[whole], shares]),
            fold=np.concatenate([fold, places]),
            n_levels=n_levels,
        )


def _levels(column: FloatArray) -> IntArray:
    """Return a number for each value that rises with it.

    Told apart by value, not by their bits: a model's scores of the same features differ in the
    last digits with their place in a batch.
    """
    order = np.argsort(column)
    ordered = column[order]
    apart = ~np.isclose(ordered[1:], ordered[:-1], rtol=_SAME, atol=_SAME)
    levels = np.empty(len(column), dtype=np.intp)
    levels[order] = np.cumsum(np.append(0, apart))
    return levels


def _by_class(
    level: IntArray,
    code: IntArray,
    mass: FloatArray,
    often: NDArray[np.bool_],
    n_folds: int,
    rng: np.random.Generator,
) -> IntArray:
    """Return the fold of each level that stays together, dealt class by class."""
    most = np.empty(len(often), dtype=np.intp)
    by_mass = np.argsort(mass, kind="stable")
    most[level[by_mass]] = code[by_mass]
    shuffled = rng.permutation(len(often))
    shuffled = shuffled[~often[shuffled]]
    dealt = shuffled[np.argsort(most[shuffled], kind="stable")]
    fold = np.zeros(len(often), dtype=np.intp)
    fold[dealt] = np.arange(len(dealt)) % n_folds
    return fold


def _split(
    level: IntArray,
    code: IntArray,
    mass: FloatArray,
    often: NDArray[np.bool_],
    n_folds: int,
    n_classes: int,
    rng: np.random.Generator,
) -> tuple[IntArray, FloatArray, IntArray]:
    """Return cell, weight and fold of the parts of the levels that are dealt out.

    Every fold gets as many rows of a level as any other, their classes drawn without replacement.
    """
    cells = np.flatnonzero(often[level])
    row = (np.cumsum(often) - 1)[level[cells]]
    lot = max(1.0, float(mass[cells].sum()) / _LOTS)
    left = np.zeros((int(often.sum()), n_classes), dtype=np.int64)
    left[row, code[cells]] = np.maximum(1, np.floor(mass[cells] / lot + 0.5))
    units = left.copy()
    total = left.sum(axis=1)
    begin = np.cumsum(total) - total
    counts = np.zeros((n_folds, *left.shape), dtype=np.int64)
    for fold in range(n_folds):
        room = total // n_folds + ((fold - begin) % n_folds < total % n_folds)
        for c in range(n_classes):
            others = left[:, c + 1 :].sum(axis=1)
            counts[fold, :, c] = rng.hypergeometric(left[:, c], others, room)
            room -= counts[fold, :, c]
        left -= counts[fold]
    taken = counts[:, row, code[cells]]
    place, which = np.nonzero(taken)
    cell = cells[which]
    share = taken[place, which] / units[row[which], code[cell]]
    return cell, mass[cell] * share, place


@dataclass(frozen=True, eq=False)
class WithoutFolds:
    """A calibrator fitted again without each of some folds.

    Attributes
    ----------
    folds : Folds
    fits : dict of int to Calibrator
        By the fold that it did not see; by the only one where all rows are equal.
    """

    folds: Folds
    fits: dict[int, Calibrator]

    @classmethod
    def of(cls, calibrator: Calibrator, logits: FloatArray, codes: IntArray, folds: Folds) -> Self:
        """Fit it without each, given the rows that were dealt out; it was fitted on all."""
        fits = {}
        for fold in np.unique(folds.fold).tolist():
            seen = folds.fold != fold
            fits[fold] = copy(calibrator)
            if seen.any():
                fits[fold]._fit_again(logits[seen], codes[seen], folds.weight[seen])
        return cls(folds, fits)

    def proba(self, logits: FloatArray) -> FloatArray:
        """Return probabilities of the rows, each by the fit that did not see it."""
        found = np.empty(logits.shape)
        for fold, one in self.fits.items():
            held = self.folds.fold == fold
            found[held] = one._proba(logits[held])
        return found


#: How many, unless asked otherwise.
FOLDS = 5
#: From so many rows on a few parameters fit none of them in particular.
MANY_ROWS = 20_000


def held_out(
    calibrator: Calibrator, logits: FloatArray, codes: IntArray, weight: FloatArray | None
) -> tuple[IntArray, FloatArray, FloatArray] | None:
    """Return numbers, probabilities and weights of rows, each held out of a fit.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted on all of them.
    logits : ndarray of shape (n, n_classes)
        Their scores, checked.
    codes : ndarray of shape (n,)
        True columns.
    weight : ndarray of shape (n,) or None

    Returns
    -------
    tuple or None
        Equal rows are one; None where it would make no difference, or a fold cannot be fitted.
    """
    if len(codes) >= MANY_ROWS:
        return None
    counted = np.ones(len(codes)) if weight is None else weight
    present = np.flatnonzero(counted > 0)
    found = calibrator.without_folds
    if found is None:
        folds = Folds.deal(logits[present], codes[present], counted[present], FOLDS)
        rows = present[folds.rows]
        found = WithoutFolds.of(calibrator, logits[rows], codes[rows], folds)
    rows = present[found.folds.rows]
    if len(found.fits) < 2:
        return None
    return rows, found.proba(logits[rows]), found.folds.weight
