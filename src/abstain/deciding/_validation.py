"""What speaks against validation data by themselves: joined wrongly, turned round, repeated.

Nothing without labels can be right where the labelled rows are not what they are taken for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from abstain._inputs import FloatArray, IntArray
from abstain._words import class_in_words, number
from abstain.metrics import AUROC
from abstain.summaries import RowSummary

# Fewer rows, in all and of a class, are told to be few instead.
_FEWEST, _FEWEST_OF_A_CLASS = 100, 10
# How far an auROC is from chance at least, and a rate or an area in standard errors.
_HARDLY, _BY_CHANCE = 0.05, 2.0
# Fewer distinct scores repeat by rounding.
_FEWEST_DISTINCT = 20


def validation_doubts(
    logits: FloatArray, codes: IntArray, weight: FloatArray | None, classes: NDArray[Any]
) -> tuple[str, ...]:
    """Return what speaks against labelled rows, each with advice; or nothing.

    Parameters
    ----------
    logits : ndarray of shape (n, n_classes)
        Scores, not calibrated.
    codes : ndarray of shape (n,)
        True columns.
    weight : ndarray of shape (n,) or None
        How much each row counts.
    classes : ndarray of shape (n_classes,)
        The label of each column.
    """
    rows = np.bincount(codes, minlength=len(classes))
    if len(codes) < _FEWEST or np.sort(rows)[-2] < _FEWEST_OF_A_CLASS:
        return ()
    told = _about_order if len(classes) == 2 else _about_agreement
    return (*told(logits, codes, weight, classes), *_about_copies(logits, codes, weight))


def _about_order(
    logits: FloatArray, codes: IntArray, weight: FloatArray | None, classes: NDArray[Any]
) -> list[str]:
    """Say of two classes that scores hardly tell them apart, or tell them the wrong way round."""
    ranks = rankdata(logits[:, 1] - logits[:, 0]) / (len(codes) + 1.0)
    area = AUROC().observed_on(
        codes, RowSummary(np.column_stack([1 - ranks, ranks]), weight), None
    )
    n0, n1 = np.bincount(codes, minlength=2).tolist()
    chance = max(_BY_CHANCE * float(np.sqrt((n0 + n1 + 1) / (12 * n0 * n1))), _HARDLY)
    if area < 0.5 - chance:
        name = class_in_words(classes[1])
        return [
            f"Validation rows of {name} have the lower scores (auROC {number(area)}): the "
            f"calibration turns them round. Are the score columns and the positive class the "
            f"right ones?"
        ]
    return [_hardly(f"auROC {number(area)}")] if area < 0.5 + chance else []


def _about_agreement(
    logits: FloatArray, codes: IntArray, weight: FloatArray | None, classes: NDArray[Any]
) -> list[str]:
    """Say of more classes that the highest score is the label's no more often than by chance."""
    highest = logits.argmax(axis=1)
    counts = np.ones(len(codes)) if weight is None else weight
    shares = [
        np.bincount(columns, weights=counts, minlength=len(classes)) / counts.sum()
        for columns in (highest, codes)
    ]
    right = float(np.average(highest == codes, weights=counts))
    by_chance = float(shares[0] @ shares[1])
    error = float(np.sqrt(by_chance * (1 - by_chance) / len(codes)))
    if right > by_chance + _BY_CHANCE * error:
        return []
    return [_hardly(f"accuracy {number(right)}, by chance {number(by_chance)}")]


def _hardly(figure: str) -> str:
    return (
        f"The scores hardly predict the labels of the validation rows ({figure}). Were scores and "
        f"labels joined correctly, row by row?"
    )


def _about_copies(logits: FloatArray, codes: IntArray, weight: FloatArray | None) -> list[str]:
    """Say that every labelled row is there several times, which makes intervals too narrow."""
    if weight is not None:
        return []
    keys = logits[:, 0] - logits[:, -1] + 0.5 * logits[:, logits.shape[1] // 2]
    alike = np.lexsort((codes, keys))
    new = np.append(True, (np.diff(keys[alike]) != 0) | (np.diff(codes[alike]) != 0))
    counts = np.diff(np.append(np.flatnonzero(new), len(codes)))
    times = int(np.gcd.reduce(counts))
    if times < 2 or len(counts) < _FEWEST_DISTINCT:
        return []
    return [
        f"Every validation row is there {times} times or a multiple of it: intervals are too "
        f"narrow, as if there were {len(codes):,} labels and not {len(codes) // times:,}. Keep "
        f"one row of each."
    ]
