"""Is it *label* shift? Whether the target's scores are a mixture of the source's classes.

The paper's adaptation rests on p(x | y) staying as it was (its Section 2). If no mixture of the
source's class-conditional score distributions looks like the target, it has not.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincc

from abstain._inputs import (
    FloatArray,
    IntArray,
    check_fraction,
    check_labels,
    check_proba,
    check_sample_weight,
)
from abstain._numerics import cuts_between
from abstain.exceptions import AssumptionWarning, warn_user
from abstain.shift._mixture_ratio import likelihood_ratio, simulated_ratio
from abstain.summaries import BatchSummary, LabelledSummary, RowSummary, shortened

# The rate of false alarms accepted unless asked otherwise, here and where a batch is adapted to.
LEVEL = 0.01

# Rows that each cell of scores should have, in each set. Few rows in many cells see more than
# many in few; how far that is from chi squared is simulated.
_ROWS_PER_CELL = 8
_MOST_CELLS = 24
# Parts at least of the rows that are predicted as one class: of few classes, and of many.
_PARTS = 3
_MANY_CLASSES = 128
# More classes than this are not checked: tables of twice as many cells would take minutes, and
# have a handful of rows for each class.
_MOST_CLASSES = 256
# Rows of a set that its quantiles are taken of.
_ENOUGH = 4_000


@dataclass(frozen=True)
class LabelShiftCheck:
    """Whether the target's scores are a mixture of the source's classes.

    Attributes
    ----------
    statistic : float
        Twice the log likelihood ratio between free cell counts and the best mixture, corrected
        for few rows.
    degrees_of_freedom : int
        Cells less classes.
    p_value : float
        How often chance alone gives a statistic as large under label shift.
    level : float
        The rate of false alarms accepted.
    priors : ndarray of shape (n_classes,)
        Proportions of the best mixture.
    cells : list of str
        What each cell holds: predicted class and range of its probability.
    observed, expected : ndarray of shape (n_cells,)
        Share of the target in each cell, and what the best mixture gives it.
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    level: float
    priors: FloatArray
    cells: list[str]
    observed: FloatArray
    expected: FloatArray

    @property
    def misfit(self) -> float:
        """The share of the target that would have to be elsewhere to fit, in [0, 1]."""
        return float(np.abs(self.observed - self.expected).sum() / 2)

    @property
    def fits(self) -> bool:
        """Whether label shift explains the target's scores, at the level."""
        return self.p_value >= self.level

    def named(self, classes: Sequence[Any]) -> Self:
        """Return the check of numbered classes with these names in their place."""
        cells = [
            re.sub(
                r"predicted class (\d+)", lambda m: f"predicted class {classes[int(m[1])]}", cell
            )
            for cell in self.cells
        ]
        return replace(self, cells=cells)

    def to_dict(self) -> dict[str, Any]:
        """Return what a policy keeps of the check, as plain data."""
        return {
            "p_value": self.p_value,
            "statistic": self.statistic,
            "degrees_of_freedom": self.degrees_of_freedom,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the check that ``to_dict`` described."""
        # A check that could not be made was once stored without a p-value.
        p_value = 1.0 if data["p_value"] is None else float(data["p_value"])
        nothing = np.empty(0)
        return cls(
            float(data["statistic"]),
            0 if data["p_value"] is None else int(data["degrees_of_freedom"]),
            p_value,
            float(data.get("level", LEVEL)),
            priors=nothing,
            cells=[],
            observed=nothing,
            expected=nothing,
        )

    def summary(self) -> str:
        """Say in plain words what was found."""
        if len(self.priors) > _MOST_CLASSES:
            return f"Label shift is not checked of more than {_MOST_CLASSES} classes."
        if self.degrees_of_freedom == 0:
            return "Label shift cannot be checked: too few rows, or scores with too few values."
        if self.fits:
            return (
                f"Label shift explains the target: some mixture of the source's classes scores "
                f"like it (p = {self.p_value:.3f})."
            )
        chance = "below 0.001" if self.p_value < 1e-3 else f"{self.p_value:.3f}"
        where = ""
        if self.cells:
            worst = int(np.argmax(np.abs(self.observed - self.expected)))
            where = (
                f" Of the target, {self.observed[worst]:.1%} is {self.cells[worst]}, where the "
                f"best mixture has {self.expected[worst]:.1%}."
            )
        return (
            f"Label shift does not explain the target: no mixture of the source's classes scores "
            f"like it (p {chance}).{where} What the classes look like has changed, so adapted "
            f"probabilities can be wrong; label some target rows and calibrate on them."
        )


def check_label_shift(
    proba_source: ArrayLike,
    proba_target: ArrayLike,
    y_source: ArrayLike,
    *,
    sample_weight_source: ArrayLike | None = None,
    sample_weight_target: ArrayLike | None = None,
    level: float = LEVEL,
    classes: Sequence[Any] | None = None,
    warn: bool = True,
) -> LabelShiftCheck:
    """Test whether the target's scores are a mixture of the source's class-conditional scores.

    Parameters
    ----------
    proba_source : array-like of shape (n_source, n_classes)
        Probabilities on the source; whether they are calibrated does not matter.
    proba_target : array-like of shape (n_target, n_classes)
        Probabilities on the target.
    y_source : array-like of shape (n_source,)
        True labels of the source, as column numbers.
    sample_weight_source, sample_weight_target : array-like, optional
        How much each row counts; a whole number equals repetition.
    level : float
        The rate of false alarms accepted, in [0, 1].
    classes : sequence, optional
        The label of each column, for the summary; column numbers when not given.
    warn : bool
        Whether to warn, with the evidence, if no mixture fits.

    Returns
    -------
    LabelShiftCheck

    Notes
    -----
    Rows are sorted into cells: the predicted class, cut at quantiles of its probability.
    Source counts in each class are multinomial; target counts are multinomial with a mixture of
    the classes' cell probabilities. The likelihood ratio of this model against free target
    probabilities is referred to the gamma distribution that has its mean and its variance in
    simulations of the fitted model: with many rows, chi squared with cells less classes degrees
    of freedom. Shifts inside a cell are not seen, nor is one that looks like another mixture.
    More than 256 classes are not checked: the p-value is then 1 with no degrees of freedom.

    Examples
    --------
    >>> import numpy as np
    >>> from abstain.shift import check_label_shift
    >>> p = np.linspace(0.01, 0.99, 400)
    >>> y = (np.arange(400) * 0.618 % 1 < p).astype(int)
    >>> source = np.column_stack([1 - p, p])
    >>> check_label_shift(source, source, y).fits
    True
    >>> middle = source[(p > 0.3) & (p < 0.7)]  # ends of the scale that no class lacks
    >>> check_label_shift(source, middle, y, warn=False).fits
    False
    """
    source = check_proba(proba_source, name="proba_source")
    n, k = source.shape
    target = check_proba(proba_target, name="proba_target", n_classes=k)
    codes = check_labels(y_source, n_classes=k, n_rows=n, name="y_source")
    accepted = check_fraction(level, name="level")
    weight_source = check_sample_weight(
        sample_weight_source, n_rows=n, name="sample_weight_source"
    )
    weight_target = check_sample_weight(
        sample_weight_target, n_rows=len(target), name="sample_weight_target"
    )
    result = label_shift_check(
        LabelledSummary(source, codes, weight_source),
        RowSummary(target, weight_target),
        level=accepted,
        classes=classes,
    )
    if warn and not result.fits:
        warn_user(result.summary(), AssumptionWarning)
    return result


def label_shift_check(
    source: LabelledSummary,
    target: BatchSummary,
    *,
    level: float = LEVEL,
    classes: Sequence[Any] | None = None,
) -> LabelShiftCheck:
    """Test whether a batch is a mixture of the validation data's classes, from summaries.

    The validation data may be compact: their rows then count in the cells they were joined in.
    """
    k = source.proba.shape[1]
    if k > _MOST_CLASSES:
        nothing = np.empty(0)
        return LabelShiftCheck(0.0, 0, 1.0, level, np.full(k, 1 / k), [], nothing, nothing)
    cell_source, cell_target, names = _cells(
        source, target, list(range(k) if classes is None else classes)
    )
    by_class = np.zeros((len(names), k))
    np.add.at(by_class, (cell_source, source.labels), _weight(source))
    counts = np.bincount(cell_target, weights=_weight(target), minlength=len(names)).astype(float)
    known = by_class.sum(axis=0) > 0
    ratio, mixture, shares = likelihood_ratio(by_class[:, known], counts)
    p_value = 1.0
    freedom = max(len(names) - int(known.sum()), 0)
    if freedom:
        mean, variance = simulated_ratio(by_class[:, known].sum(axis=0), shares, counts, mixture)
        p_value = float(gammaincc(mean**2 / variance, ratio * mean / variance))
        ratio *= freedom / mean
    priors = np.zeros(k)
    priors[known] = mixture
    return LabelShiftCheck(
        statistic=ratio,
        degrees_of_freedom=freedom,
        p_value=p_value,
        level=level,
        priors=priors,
        cells=names,
        observed=counts / counts.sum(),
        # As the source has the cells: shares fitted to both bend towards the target.
        expected=by_class[:, known] / by_class[:, known].sum(axis=0) @ mixture,
    )


def _weight(summary: LabelledSummary | BatchSummary) -> FloatArray:
    return np.ones(len(summary.proba)) if summary.weight is None else summary.weight


def _cells(
    source: LabelledSummary, target: BatchSummary, classes: list[Any]
) -> tuple[IntArray, IntArray, list[str]]:
    """Sort rows into cells by predicted class and its probability.

    Each predicted class is cut into as many parts as leave enough rows of either set in each.
    """
    # In bins, neighbours on both sides of a cut would be one row of the batch.
    sets = target.like_this(source.proba), target.proba
    weights = _weight(source), _weight(target)
    k = source.proba.shape[1]
    predicted = [np.argmax(proba, axis=1) for proba in sets]
    top = [
        np.take_along_axis(proba, best[:, None], axis=1)[:, 0]
        for proba, best in zip(sets, predicted, strict=True)
    ]
    if k > 2:
        # Compact validation data have fewer digits, and rows of one score must not part there.
        top = [shortened(one) for one in top]
    by_prediction = [
        # Narrow integers are sorted by their digits, in one pass.
        (
            np.argsort(best.astype(np.uint16), kind="stable"),
            np.concatenate([[0], np.cumsum(np.bincount(best, minlength=k))]),
        )
        for best in predicted
    ]
    cells = [np.zeros(len(proba), dtype=np.intp) for proba in sets]
    names: list[str] = []
    # Two classes have cells enough to look closely at each; many share the limit.
    most = max(_MOST_CELLS // k, _PARTS if k <= _MANY_CLASSES else _PARTS - 1)
    for i in range(k):
        here = [order[first[i] : first[i + 1]] for order, first in by_prediction]
        if len(here[0]) + len(here[1]) == 0:
            continue
        values = [top[s][here[s]] for s in range(2)]
        edges = _edges(values, [weights[s][here[s]] for s in range(2)], most, source.edges)
        for s in range(2):
            cells[s][here[s]] = len(names) + np.searchsorted(edges, values[s])
        bounds = [0.0, *edges.tolist(), 1.0]
        names += [
            f"predicted class {classes[i]} with probability {low:.2f} to {high:.2f}"
            for low, high in itertools.pairwise(bounds)
        ]
    return _joined(cells, weights, names)


def _edges(
    values: list[FloatArray], weights: list[FloatArray], most: int, allowed: FloatArray
) -> FloatArray:
    """Return where to cut: at quantiles of the two sets taken as one, each counting half.

    Of compact validation data only at the edges between which their rows were joined.
    """
    rows = min(float(weight.sum()) for weight in weights)
    parts = min(most, int(rows // _ROWS_PER_CELL))
    if parts < 2:
        return np.empty(0)
    levels = np.arange(1, parts) / parts
    both = np.concatenate([_quantiles(*one, levels) for one in zip(values, weights, strict=True)])
    cuts = cuts_between(np.concatenate(values), np.sort(both).reshape(-1, 2).mean(axis=1))
    if len(allowed):
        cuts = np.unique(allowed[np.abs(allowed[None, :] - cuts[:, None]).argmin(axis=1)])
    return cuts


def _quantiles(values: FloatArray, weight: FloatArray, levels: FloatArray) -> FloatArray:
    # Where to cut need not be exact.
    stride = max(len(values) // _ENOUGH, 1)
    values, weight = values[::stride], weight[::stride]
    order = np.argsort(values, kind="stable")
    middle = np.cumsum(weight[order]) - weight[order] / 2
    quantiles: FloatArray = np.interp(levels * weight.sum(), middle, values[order])
    return quantiles


def _joined(
    cells: list[IntArray], weights: tuple[FloatArray, FloatArray], names: list[str]
) -> tuple[IntArray, IntArray, list[str]]:
    """Join cells with too few rows of both sets together to the cell before."""
    source, target = cells
    total = np.bincount(source, weights=weights[0], minlength=len(names)) + np.bincount(
        target, weights=weights[1], minlength=len(names)
    )
    new = np.zeros(len(names), dtype=np.intp)
    kept: list[str] = []
    filled = 0.0
    for cell, count in enumerate(total):
        if not kept or (filled >= _ROWS_PER_CELL and total[cell:].sum() >= _ROWS_PER_CELL):
            kept.append(names[cell])
            filled = 0.0
        elif count:
            kept[-1] = f"{kept[-1]} or {names[cell]}"
        new[cell] = len(kept) - 1
        filled += count
    return new[source], new[target], kept
