"""Labels of some rows of a batch: what they say of its proportions and of its probabilities.

Nothing in the paper, whose batches have no labels. A labelled row has the likelihood of its class;
and whether the adapted probabilities are right is no longer a matter of assumptions alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc, gammaincc

from abstain._inputs import FloatArray, IntArray, both_columns
from abstain.exceptions import ArgumentError
from abstain.summaries import BatchSummary, LabelledSummary, Moves, fewer

# How often labels may contradict right probabilities, or look picked though they were not.
_LEVEL = 0.01
_CLEARLY = 1e-3
# Labels below which nothing is tested; of a class, below which it is joined with others.
_FEWEST = 10
_FEWEST_OF_A_CLASS = 5
# Numbers held at once, labels drawn in each replicate, and rows of the batch to compare with.
_MOST_NUMBERS = 2**21
_DRAWS = 5
_MOST_ROWS = 20_000
_NO_KEPT_ROW = (
    "Every row with a label was referred, so the labels say nothing of the rows that were kept. "
    "Have a share of these labelled too, such as audit=0.02."
)
# A label that was all but ruled out counts no more than one that had this probability.
_LEAST = 1e-3


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """The rows of a batch whose label is known.

    Attributes
    ----------
    counts : ndarray of shape (n_classes,)
        How many there are of each class, those without a score too.
    rows : LabelledSummary
        Those with a score: calibrated, not adapted.
    n : int
        How many rows there are, those without a score too.
    standing : ndarray or None
        How many rows without a label each of those with a score stands for, where they were not
        picked at random; see :func:`standing_for`.
    """

    counts: FloatArray
    rows: LabelledSummary
    n: int
    standing: FloatArray | None = None

    @property
    def speaking(self) -> LabelledSummary:
        """The rows as they speak of those without a label."""
        if self.standing is None:
            return self.rows
        some = self.standing > 0
        return LabelledSummary(self.rows.proba[some], self.rows.labels[some], self.standing[some])

    def __len__(self) -> int:
        return len(self.rows.labels)


def standing_for(
    codes: IntArray, probability: FloatArray, weight: FloatArray | None, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """Return the known labels of each class as if picked at random, and what each row stands for.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        The column of each known label, -1 where it is not known.
    probability : ndarray of shape (n,)
        How probably each row was to be labelled; NaN of rows that nobody has decided about.
    weight : ndarray of shape (n,) or None
        How much each row counts.
    n_classes : int

    Notes
    -----
    A row that was labelled with probability q stands for 1 / q rows of the batch, and for
    ``(1 - q + r) / q`` of those without a label, where r is how many rows nobody has decided
    about for each that somebody has. Weights count for as many rows as they are worth:
    ``sum(w)**2 / sum(w**2)``.
    """
    known, count = codes >= 0, np.ones(len(codes)) if weight is None else weight
    lost = np.flatnonzero(known & np.isnan(probability))
    if len(lost):
        raise ArgumentError(
            f"`probability` must say of every row that has a label how probably it was to get "
            f"one; of {int(known.sum())} labels {len(lost)} have none, first is row {lost[0]}.",
            "probability",
        )
    fresh = np.isnan(probability)
    some = np.where(known, probability, 1.0)
    more = count[fresh].sum() / count[~fresh].sum()
    of_all = np.where(known, count / some, 0.0)
    rest = np.where(known, count * (1 - some + more) / some, 0.0)
    classes = np.bincount(codes[known], _worth(of_all)[known], n_classes)
    return classes.astype(np.float64), _worth(rest)


def _worth(weight: FloatArray) -> FloatArray:
    squares = float(weight @ weight)
    return weight * (weight.sum() / squares) if squares > 0 else weight


def known_doubts(
    known: KnownLabels,
    summary: BatchSummary,
    moves: Moves,
    *,
    classes: Sequence[Any],
    seed: int = 0,
) -> tuple[str, ...]:
    """Return what the known labels of a batch say against the figures about its other rows.

    Parameters
    ----------
    known : KnownLabels
    summary : BatchSummary
        The other rows, calibrated and not adapted.
    moves : Moves
        From adapted probabilities to what else they might be, as they are first.
    classes : sequence
        The label of each column.
    seed : int
        Seeds the labels that are drawn to compare with.
    """
    if known.standing is not None and not known.standing.any():
        return (_NO_KEPT_ROW,)
    if len(known) < _FEWEST:
        return ()
    picking = _about_picking(known, summary) if known.standing is None else []
    return (*picking, *_about_labels(known, moves, classes, seed))


def _about_picking(known: KnownLabels, summary: BatchSummary) -> list[str]:
    """Say whether the labelled rows are others than the rest, by Hotelling's T squared.

    What is compared are the certainty of the rows and their most frequent classes, as many as
    there are labels to tell them by.
    """
    rows, weight = fewer(summary.proba, summary.weight, _MOST_ROWS)
    most = max(len(known) // _FEWEST, 1)
    columns = np.argsort(-known.counts, kind="stable")[: min(most, rows.shape[1] - 1)]
    sets = (known.rows.proba, known.rows.weight), (rows, weight)
    means, spreads, sizes = [], [], []
    for proba, count in sets:
        features = np.column_stack([proba.max(axis=1), proba[:, columns]])
        means.append(np.average(features, axis=0, weights=count))
        spreads.append(np.atleast_2d(np.cov(features.T, aweights=count)))
        sizes.append(float(len(proba) if count is None else count.sum()))
    pooled = np.average(spreads, axis=0, weights=sizes) * (1 / sizes[0] + 1 / sizes[1])
    distance, rank = _distance(means[0] - means[1], pooled)
    if rank == 0 or chdtrc(rank, distance[0]) >= _CLEARLY:
        return []
    return [
        f"The {len(known)} rows with a known label do not look like the rest of the batch: their "
        f"scores differ by more than chance. Labels must be of rows picked at random; those of "
        f"rows that were referred, or looked odd, make the proportions and the estimates wrong. "
        f"Label some rows picked at random, and leave the others out of `y_target`."
    ]


def _about_labels(
    known: KnownLabels, moves: Moves, classes: Sequence[Any], seed: int
) -> list[str]:
    """Say whether the labels contradict the adapted probabilities, in number or in sureness.

    The sums of ``label - p`` over the rows, of each class and along ``log p``, are compared with
    those of labels that are drawn from what the probabilities might be.
    """
    rng = np.random.default_rng(seed)
    n_classes = known.rows.proba.shape[1]
    most = max(_MOST_NUMBERS // (len(moves) * n_classes), _FEWEST)
    part = slice(None, None, max(-(-len(known) // most), 1))
    adapted = known.rows.at(moves.used).proba[part]
    codes = known.rows.labels[part]
    weight = np.ones(len(codes)) if known.rows.weight is None else known.rows.weight[part]
    might_be = moves.of(adapted)
    proba = both_columns(might_be[0]) if might_be.ndim == 2 else might_be[0]
    expected = weight @ proba
    each = np.flatnonzero(np.minimum(expected, weight.sum() - expected) >= _FEWEST_OF_A_CLASS)
    logs = np.log(np.maximum(proba, _LEAST))
    usual = np.sum(proba * logs, axis=1)

    def sums(labels: Any) -> FloatArray:
        count = np.bincount(labels, weight, n_classes) - expected
        sure = weight @ (logs[np.arange(len(labels)), labels] - usual)
        return np.append(count[each], sure)

    drawn = []
    for one in might_be[1:]:
        above = np.cumsum(both_columns(one) if one.ndim == 1 else one, axis=1)
        for _ in range(_DRAWS):
            chance = rng.random((len(codes), 1)) * above[:, -1:]
            drawn.append(sums((above < chance).sum(axis=1)))
    by_chance = np.array(drawn)
    found = sums(codes) - by_chance.mean(axis=0)
    all_of_them = np.vstack([found, by_chance - by_chance.mean(axis=0)])
    distance, rank = _distance(all_of_them, np.atleast_2d(np.cov(by_chance.T)))
    if rank == 0:
        return []
    # The gamma distribution that has the mean and the variance of what chance makes.
    mean, variance = float(distance[1:].mean()), float(distance[1:].var())
    p_value = float(gammaincc(mean**2 / variance, distance[0] * mean / variance))
    if p_value >= _LEVEL:
        return []
    return [_contradiction(known, found, by_chance.std(axis=0), each, expected, classes, p_value)]


def _contradiction(
    known: KnownLabels,
    found: FloatArray,
    noise: FloatArray,
    each: Any,
    expected: FloatArray,
    classes: Sequence[Any],
    p_value: float,
) -> str:
    """Say what contradicts most."""
    chance = "p below 0.001" if p_value < 1e-3 else f"p = {p_value:.3f}"
    off = np.abs(found) / np.maximum(noise, np.finfo(np.float64).tiny)
    most = int(np.argmax(off))
    if most == len(each):
        said = "they are surer than the labels bear out"
        if found[-1] > 0:
            said = "they are less sure than the labels bear out"
    else:
        column = int(each[most])
        said = (
            f"of class {classes[column]} they lead to expect {expected[column]:.1f} labels, and "
            f"{expected[column] + found[most]:.0f} came"
        )
    return (
        f"The {len(known)} known labels contradict the adapted probabilities ({chance}): {said}. "
        f"What a score means has changed in this batch, so estimates are not to be trusted. Label "
        f"more rows picked at random, and calibrate on them."
    )


def _distance(differences: FloatArray, spread: FloatArray) -> tuple[FloatArray, int]:
    """Return squared distances in terms of the spread, and how many directions that has."""
    values, vectors = np.linalg.eigh(spread)
    varied = values > max(1e-10 * float(values[-1]), 1e-300)
    along = np.atleast_2d(differences) @ vectors[:, varied]
    return np.sum(along**2 / values[varied], axis=1), int(varied.sum())
