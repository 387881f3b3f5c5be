"""What the data leave open: calibration, class proportions and misfit, drawn together.

A Bayesian bootstrap: every labelled row and every row of the batch gets a random weight of mean 1.
The calibration follows by one Newton step, the class proportions by a few, and the labelled rows
count as rows of the batch would. Everything is done on a few thousand rows that stand for all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from abstain._inputs import FloatArray, IntArray, both_columns
from abstain._kernels.proportions import adapted
from abstain._numerics import even_in_spread, gamma_draws, kinds
from abstain.shift import MANY_CLASSES, Part
from abstain.summaries import Drift, LabelledReplicates, LabelledSummary, Moves, compact, fewer

N_REPLICATES, _FEWEST = 100, 25

# Numbers held of all replicates together, which bounds the rows that stand for all.
_MOST_NUMBERS = 2**20
_FEWEST_ROWS = 256
# Of two classes groups of neighbours stand for all, so fewer will do.
_MOST_OF_TWO = 512
_MOST_OF_MORE = 2_048
_MOST_OF_BATCH = 512
# Up to this many classes each has a slope of its own.
_MANY_CLASSES = 20
# Slopes and biases are held to what they are by so many rows' worth.
_SLOPE_RIDGE = 20.0
_BIAS_RIDGE = 2.0
_MOST_STEP, _MOST_SLOPE = 3.0, 0.5
# Rows that turned out otherwise, half a row in all for each class (at most four), as in the
# intervals of a binomial share: what never went wrong still may.
_SURPRISES = 16
_MOST_SURPRISING = 4
_SMALLEST = np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Replicates:
    """What else the batch's probabilities might have been, and what labelled rows say of each.

    Attributes
    ----------
    moves : Moves
        From the adapted probabilities of the batch to those at its own class proportions, and
        then to those of each replicate.
    labelled : LabelledSummary
        The validation rows at the class proportions that decisions are made for.
    observed : LabelledReplicates
        All of them as they are, as rows of the batch: one replicate.
    part : ndarray of shape (m,)
        Which of them stand for all.
    again : LabelledReplicates
        Those, as they are and in every replicate; some turned out otherwise.
    noise : ndarray of shape (n_replicates, n_classes)
        How the labels of the batch fall in each replicate, in units of their spread.
    weight : float
        What they count beside those under other assumptions.
    unseen : float
        The share of the batch that scores where no labelled row does: what it is, is a guess.
    drift : Drift or None
        How metrics wander in time, beyond all this.
    """

    moves: Moves
    labelled: LabelledSummary
    observed: LabelledReplicates
    part: IntArray
    again: LabelledReplicates
    noise: FloatArray
    weight: float = 1.0
    unseen: float = 0.0
    drift: Drift | None = None

    def with_batch_rows(self, rows: LabelledSummary, ratios: FloatArray, seed: int) -> Replicates:
        """Return the replicates with labelled rows of the batch itself among those that speak.

        Parameters
        ----------
        rows : LabelledSummary
            Calibrated, not adapted.
        ratios : ndarray of shape (n_classes,)
            To the class proportions of the batch.
        seed : int
        """
        if not len(rows.labels):
            return self
        n_drawn, n_classes = len(self.again.weight), rows.proba.shape[1]
        most = int(np.clip(_MOST_NUMBERS // (n_drawn * n_classes), _FEWEST_ROWS, None))
        count = rows.counts
        few = np.arange(0, len(count), max(-(-len(count) // most), 1))
        stands = count[few] * (count.sum() / count[few].sum())
        rng = np.random.default_rng([seed, len(count)])
        drawn = np.vstack([stands, gamma_draws(stands, n_drawn - 1, rng)])
        proba, labels, own = rows.at(self.moves.used).proba, rows.labels, self.labelled
        believed, moved = compact(rows.at(ratios).proba)[None], self.moves.of(proba[few])
        return replace(
            self,
            labelled=LabelledSummary(
                np.vstack([own.proba, proba]),
                np.append(own.labels, labels),
                np.append(own.counts, count),
            ),
            observed=self.observed.with_rows(proba, labels, count[None], believed),
            part=np.append(self.part, len(own.counts) + few),
            again=self.again.with_rows(proba[few], labels[few], drawn, moved),
        )


@dataclass(frozen=True, eq=False)
class Resampled:
    """Validation data and a batch drawn again, before anything is assumed about the batch.

    Attributes
    ----------
    labelled : LabelledSummary
        The validation data, calibrated.
    sketch : (ndarray, ndarray)
        Rows of the batch that stand for all, calibrated and not adapted, and their weights.
    seed : int
    part, codes : ndarray of shape (m,)
        As of :class:`Replicates`.
    weight, row_weight : ndarray of shape (1 + n_replicates, m), and for rows of the batch
        How much the rows that stand for all count.
    still : Moves
        The calibration of each replicate.
    moved, moved_rows : ndarray of shape (1 + n_replicates, m, ...), and for rows of the batch
        What it makes of them.
    source : ndarray of shape (1 + n_replicates, n_classes)
        Class proportions of the validation data.
    """

    labelled: LabelledSummary
    sketch: tuple[FloatArray, FloatArray]
    seed: int
    part: IntArray
    codes: IntArray
    weight: FloatArray
    row_weight: FloatArray
    still: Moves
    moved: FloatArray
    moved_rows: FloatArray
    source: FloatArray

    @classmethod
    def of(
        cls, labelled: LabelledSummary, sketch: tuple[FloatArray, FloatArray], seed: int
    ) -> Self:
        """Draw both again."""
        rng = np.random.default_rng(seed)
        labelled = labelled.held_out or labelled
        n_classes = labelled.proba.shape[1]
        most = _MOST_OF_TWO if n_classes == 2 else _MOST_OF_MORE
        most = int(np.clip(_MOST_NUMBERS // (N_REPLICATES * n_classes), _FEWEST_ROWS, most))
        part, codes, count = _standing_for_all(labelled, most)
        # A row that stands for many is as sure as many are.
        weight = np.vstack([count, gamma_draws(count, N_REPLICATES, rng)])
        proba = labelled.proba[part]
        still = _recalibrated(proba, codes, weight)
        # Of many classes only how means move is read of the batch's rows.
        few = _MOST_OF_BATCH if n_classes <= MANY_CLASSES else most // 4
        rows, row_count = fewer(*sketch, few)
        row_weight = np.vstack([row_count, gamma_draws(row_count, N_REPLICATES, rng)])
        moved = still.of(proba)
        return cls(
            labelled,
            sketch,
            seed,
            part,
            codes,
            weight,
            row_weight,
            still,
            moved,
            still.of(rows),
            _means(moved, weight),
        )

    def under(self, part: Part, *, at: FloatArray, reuse: bool = False) -> Replicates:
        """Return what the two leave open where something happened.

        Parameters
        ----------
        part : Part
            What happened.
        at : ndarray of shape (n_classes,)
            The ratios to which decisions adapt.
        reuse : bool
            Whether nothing else is asked, so that what was drawn may give its place.
        """
        rng = np.random.default_rng([self.seed, 1])
        labelled, few = self.labelled, self.part
        # What counts little need not be drawn as often.
        n = slice(1 + int(np.clip(np.ceil(part.weight * N_REPLICATES), _FEWEST, N_REPLICATES)))
        moved = self.moved_rows[n], self.row_weight[n], self.source[n]
        drawn = part.model.ratio_draws(*moved, rng)
        ratios = np.vstack([part.ratios, drawn])
        by_score = part.model.by_score(labelled, *self.sketch)
        importance = part.ratios[labelled.labels] * by_score * labelled.counts
        here, believed = labelled.at(at), labelled.at(part.ratios).proba
        again = self.weight[n] * ratios[:, self.codes] * by_score[few]
        return Replicates(
            Moves(self.still.slope[n], self.still.bias[n], ratios, at),
            here,
            LabelledReplicates(
                here.proba,
                labelled.labels,
                importance[None],
                compact(believed)[None],
                answers=labelled.answers,
            ),
            few,
            LabelledReplicates(
                here.proba[few],
                self.codes,
                again,
                _adapted(self.moved[n], ratios, reuse),
                answers=None if labelled.answers is None else labelled.answers[few],
            ),
            rng.standard_normal(drawn.shape),
            part.weight,
        )

    def proportions(self, found: Replicates) -> FloatArray:
        """Return class proportions of the batch as it is and in each replicate.

        Its labels are drawn as well.
        """
        rows, count = self.sketch
        ratios = found.moves.ratios
        believed = adapted(np.ascontiguousarray(rows), ratios[0])
        mean = count @ believed / count.sum()
        moved = _adapted(self.moved_rows[: len(ratios)], ratios)
        moved = _means(moved, self.row_weight[:1])
        # Labels fall as they fall, each row for itself: its class is one, and no other.
        spread = np.diag(mean) - (believed * count[:, None]).T @ believed / count.sum()
        values, vectors = np.linalg.eigh(spread / count.sum())
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        moved = mean + moved - moved[0]
        moved[1:] += found.noise @ (root @ vectors.T)
        moved = np.clip(moved, 0.0, 1.0)
        return np.asarray(moved / moved.sum(axis=1, keepdims=True))


def _standing_for_all(
    labelled: LabelledSummary, most: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return some rows of each class with their labels and counts, and a few surprises."""
    codes, proba = labelled.labels, labelled.proba
    count, n_classes = labelled.counts, proba.shape[1]
    parts = [np.flatnonzero((codes == k) & (count > 0)) for k in range(n_classes)]
    present = [rows for rows in parts if len(rows)]
    each = max(most // len(present), 1)
    if n_classes == 2:
        pairs = [_middles(rows, proba[rows, 1], count[rows], each) for rows in present]
    else:
        some = [rows[:: max(-(-len(rows) // each), 1)] for rows in present]
        pairs = [
            (few, count[few] * (count[rows].sum() / count[few].sum()))
            for few, rows in zip(some, present, strict=True)
        ]
    part, counts = np.concatenate([few for few, _ in pairs]), [one for _, one in pairs]
    if len(part) > 2 * most:
        # One row of each of very many classes is too much as well.
        whole, fewer_of = np.concatenate(counts), slice(None, None, -(-len(part) // most))
        part = part[fewer_of]
        counts = [whole[fewer_of] * (whole.sum() / whole[fewer_of].sum())]
    # Evenly spaced in certainty, each taken for the likeliest of the other classes.
    sure = part[np.argsort(kinds(proba[part, codes[part]]), kind="stable")]
    surprising = sure[np.linspace(0, len(sure) - 1, _SURPRISES).round().astype(np.intp)]
    others = proba[surprising].copy()
    others[np.arange(len(surprising)), codes[surprising]] = -1.0
    mass = 0.5 * min(n_classes, _MOST_SURPRISING) / _SURPRISES
    return (
        np.concatenate([part, surprising]),
        np.concatenate([codes[part], others.argmax(axis=1)]),
        np.concatenate([*counts, np.full(len(surprising), mass)]),
    )


def _middles(
    rows: IntArray, p: FloatArray, count: FloatArray, most: int
) -> tuple[IntArray, FloatArray]:
    """Return the middle rows of groups of neighbours in p, and what each group counts.

    Weights of a group drawn one by one add up to one of its count, drawn at once. At every level
    groups are as wide as what is drawn leaves it open, so they are narrow near both ends.
    """
    order = np.argsort(kinds(p), kind="stable")
    if len(rows) <= most:
        return rows[order], count[order]
    below = np.append(0.0, np.cumsum(count[order]))
    bounds = np.unique(np.searchsorted(below, even_in_spread(most) * below[-1]))
    bounds[[0, -1]] = 0, len(rows)
    return rows[order[(bounds[:-1] + bounds[1:]) // 2]], np.diff(below[bounds])


def _means(moved: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the weighted mean probabilities of each replicate."""
    weight, total = np.broadcast_to(weight, moved.shape[:2]), weight.sum(axis=1)
    if moved.ndim == 2:
        return both_columns(np.einsum("bn,bn->b", weight, moved) / total)
    return np.asarray(np.einsum("bn,bnk->bk", weight, moved) / total[:, None])


def _adapted(moved: FloatArray, ratios: FloatArray, reuse: bool = False) -> FloatArray:
    """Return probabilities adapted to the class proportions of each replicate.

    Those of many classes may take the place of what they are made from.
    """
    if moved.ndim == 2:
        positive = moved * ratios[:, 1:]
        total = (1 - moved) * ratios[:, :1]
        total += positive
        np.divide(positive, total, out=positive, where=total > 0)
        return positive
    found = np.multiply(moved, ratios[:, None, :], out=moved if reuse else None)
    total = found.sum(axis=2, keepdims=True)
    np.divide(found, total, out=found, where=total > 0)
    return found


def _recalibrated(proba: FloatArray, codes: IntArray, weight: FloatArray) -> Moves:
    """Return slopes and biases fitted to weighted rows, by one Newton step from none.

    The first are none. The others as they scatter around their mean: what the fit itself gets
    wrong is for the labelled rows to tell, not for the calibration to take back.
    """
    count, n_classes = weight[0], proba.shape[1]
    logs = np.log(np.maximum(proba, _SMALLEST))
    residual = -proba
    residual[np.arange(len(codes)), codes] += 1.0
    own = n_classes <= _MANY_CLASSES
    # How each logit moves with a class's slope and bias; many classes share one slope.
    score = np.hstack([residual * logs if own else (residual * logs).sum(1)[:, None], residual])
    spread = np.hstack([proba * logs, proba] if own else [(proba * logs).sum(1)[:, None], proba])
    hessian = -(spread * count[:, None]).T @ spread
    square, cross, plain = (count @ (proba * logs**power) for power in (2, 1, 0))
    slopes = np.arange(n_classes if own else 1)
    biases = len(slopes) + np.arange(n_classes)
    if own:
        hessian[slopes, slopes] += square
        hessian[slopes, biases] += cross
        hessian[biases, slopes] += cross
    else:
        hessian[0, 0] += square.sum()
        hessian[0, biases] += cross
        hessian[biases, 0] += cross
    hessian[biases, biases] += plain
    hessian[slopes, slopes] += _SLOPE_RIDGE
    hessian[biases, biases] += _BIAS_RIDGE
    step = np.linalg.solve(hessian, (weight[1:] @ score).T).T
    step -= step.mean(axis=0)
    # A step to where the quadratic model has no right to speak is cut short as a whole: saturated
    # probabilities leave its slopes all but free.
    length = np.abs(step).max(axis=1) / _MOST_STEP
    length = np.maximum(length, np.abs(step[:, slopes]).max(axis=1) / _MOST_SLOPE)
    step /= np.maximum(length, 1.0)[:, None]
    step = np.vstack([np.zeros(step.shape[1]), step])
    slope = np.broadcast_to(1 + step[:, slopes], (len(step), n_classes))
    return Moves(slope, step[:, biases], np.ones_like(slope), np.ones(n_classes))
