"""Is it *label* shift? Whether the target's scores are a mixture of the source's classes.

The paper's adaptation rests on p(x | y) staying as it was (its Section 2). If no mixture of the
source's class-conditional score distributions looks like the target, it has not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincc

from abstain._inputs import (
    FloatArray,
    check_fraction,
    check_labels,
    check_proba,
    check_sample_weight,
    column_labels,
)
from abstain._schema import SHARE, Either, Keys, Number, Whole
from abstain.exceptions import AssumptionWarning, warn_user
from abstain.shift._cells import MOST_PARTS, Cells
from abstain.shift._mixture_ratio import likelihood_ratio, simulated_ratio
from abstain.summaries import BatchSummary, LabelledSummary, RowSummary

# The rate of false alarms accepted unless asked otherwise, here and where a batch is adapted to.
LEVEL = 0.01

# More classes than this are not checked: tables of twice as many cells would take minutes, and
# have a handful of rows for each class. They have no cells of their own, besides.
_MOST_CLASSES = MOST_PARTS
# Fewer rows of either set cannot tell.
_FEWEST_ROWS = 16


#: What a policy file holds of a check.
CHECK_KEYS: Keys = {
    "p_value": Either(null=None, number=SHARE),
    "statistic": Number(0),
    "degrees_of_freedom": Whole(0),
    "level?": SHARE,
}


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

    def checked(self) -> Self:
        """Return the check itself, which was made."""
        return self

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
                f"Label shift explains the batch: some mixture of the classes of the validation "
                f"data scores like it (p = {self.p_value:.3f})."
            )
        chance = "below 0.001" if self.p_value < 1e-3 else f"{self.p_value:.3f}"
        where = ""
        if self.cells:
            worst = int(np.argmax(np.abs(self.observed - self.expected)))
            where = (
                f" Of the batch, {self.observed[worst]:.1%} is {self.cells[worst]}, where the "
                f"best mixture has {self.expected[worst]:.1%}."
            )
        return (
            f"Label shift does not explain the batch: no mixture of the classes of the validation "
            f"data scores like it (p {chance}).{where} What the classes look like has changed, so "
            f"adapted probabilities can be wrong; label some of its rows and calibrate on them."
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
    Rows are sorted into cells: the predicted class, cut at quantiles of its probability on the
    source.
    Source counts in each class are multinomial; target counts are multinomial with a mixture of
    the classes' cell probabilities. The likelihood ratio of this model against free target
    probabilities is referred to the gamma distribution that has its mean and its variance in
    simulations of the fitted model: with many rows, chi squared with cells less classes degrees
    of freedom. Shifts inside a cell are not seen, nor is one that looks like another mixture.
    More than 128 classes are not checked: the p-value is then 1 with no degrees of freedom.

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
        classes=column_labels(classes, k).tolist(),
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
    names = range(source.proba.shape[1]) if classes is None else classes
    cells = Cells.of(source)
    return CellCounts(source, cells.counts(target), cells, names).checked(level)


@dataclass(frozen=True, eq=False)
class CellCounts:
    """How many rows lie in each cell of scores: what label shift is checked by.

    Attributes
    ----------
    source : LabelledSummary
        The validation rows.
    counts : ndarray of shape (n_cells,)
        Rows of the batch.
    cells : Cells
    classes : sequence
        The label of each column.
    """

    source: LabelledSummary
    counts: FloatArray
    cells: Cells
    classes: Sequence[Any]

    def checked(self, level: float = LEVEL) -> LabelShiftCheck:
        """Return the check, whose noise is simulated."""
        proba, labels = self.source.proba, self.source.labels
        k = proba.shape[1]
        if k > _MOST_CLASSES:
            nothing = np.empty(0)
            return LabelShiftCheck(0.0, 0, 1.0, level, np.full(k, 1 / k), [], nothing, nothing)
        by_class = np.zeros((len(self.counts), k))
        # Some rows that stand for all know no more than they are.
        counts = self.source.counts / self.source.thinned
        np.add.at(by_class, (self.cells.number(proba), labels), counts)
        known = by_class.sum(axis=0) > 0
        # A cell that neither set has a row in says nothing.
        some = (by_class.sum(axis=1) + self.counts) > 0
        by_class, counts = by_class[some][:, known], self.counts[some]
        ratio, mixture, shares = likelihood_ratio(by_class, counts)
        p_value = 1.0
        freedom = max(len(counts) - int(known.sum()), 0)
        if min(by_class.sum(), counts.sum()) < _FEWEST_ROWS:
            freedom = 0
        if freedom:
            mean, variance = simulated_ratio(by_class.sum(axis=0), shares, counts, mixture)
            p_value = float(gammaincc(mean**2 / variance, ratio * mean / variance))
            ratio *= freedom / mean
        priors = np.zeros(k)
        priors[known] = mixture
        names = np.array(self.cells.names(self.classes))[some]
        return LabelShiftCheck(
            statistic=ratio,
            degrees_of_freedom=freedom,
            p_value=p_value,
            level=level,
            priors=priors,
            cells=names.tolist(),
            observed=counts / counts.sum(),
            # As the source has the cells: shares fitted to both bend towards the target.
            expected=by_class / by_class.sum(axis=0) @ mixture,
        )
