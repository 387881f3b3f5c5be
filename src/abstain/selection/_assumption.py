"""Does label shift explain recent scores? From a compact source, as a deployed policy has it.

Label shift (the paper's Section 2) makes the target's scores a mixture of the source's score
distributions of each class; if no mixture fits, something else has changed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.special import gammaincc

from abstain._inputs import FloatArray
from abstain.selection._source import Source

__all__ = ["AssumptionCheck", "check_mixture"]

# Below this p-value the assumption is said to fail.
LEVEL = 0.01
# Cells in which fewer examples than this are expected are left out.
_LEAST_EXPECTED = 5.0
_ROUNDS = 5


@dataclass(frozen=True)
class AssumptionCheck:
    """Whether a mixture of the source's classes explains recent scores.

    Parameters
    ----------
    p_value : float
        How likely a misfit like this one is if only the class proportions moved; NaN when there
        are too few rows to tell.
    statistic : float
        The misfit, about a chi-squared variable.
    degrees_of_freedom : int
        How many cells were compared, less the proportions that were fitted.
    """

    p_value: float
    statistic: float
    degrees_of_freedom: int

    @property
    def passes(self) -> bool:
        """Whether there is no evidence against label shift."""
        return not self.p_value < LEVEL

    def __str__(self) -> str:
        if np.isnan(self.p_value):
            return "too few rows to tell whether label shift explains them"
        if self.passes:
            return f"label shift explains the recent scores (p = {self.p_value:.3g})"
        return (
            f"no class proportions explain the recent scores (p = {self.p_value:.3g}): more than "
            f"the proportions has changed, so priors and estimates are not to be trusted"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the check as plain data."""
        known = np.isfinite(self.p_value)
        return {
            "p_value": self.p_value if known else None,
            "statistic": self.statistic,
            "degrees_of_freedom": self.degrees_of_freedom,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "AssumptionCheck":
        """Return the check that ``to_dict`` described."""
        p_value = float("nan") if data["p_value"] is None else float(data["p_value"])
        return cls(p_value, float(data["statistic"]), int(data["degrees_of_freedom"]))


def check_mixture(
    source: Source, proba: FloatArray, sample_weight: FloatArray | None = None
) -> AssumptionCheck:
    r"""Compare recent rows with the best mixture of the source's classes.

    Parameters
    ----------
    source : Source
        A compact source.
    proba : ndarray of shape (n, n_classes)
        Calibrated probabilities of recent rows, not adapted.
    sample_weight : ndarray of shape (n,), optional
        How much each row counts.

    Returns
    -------
    AssumptionCheck

    Notes
    -----
    Rows are counted in cells (most probable class, level of its probability). With shares t of
    the n recent rows and f_c of the n_c source rows of class c, the proportions q minimise

    .. math::

        \sum_b \frac{(t_b - \sum_c q_c f_{cb})^2}
        {\sum_c q_c f_{cb} / n + \sum_c q_c^2 f_{cb} / n_c},

    which is about chi-squared with (cells - classes) degrees of freedom under label shift.
    """
    n_classes = proba.shape[1]
    n_cells = n_classes * (len(source.edges) + 1)
    recent = np.bincount(source.cells(proba), weights=sample_weight, minlength=n_cells)
    # Weights that are not counts carry less information than their sum.
    n = len(proba) if sample_weight is None else recent.sum() ** 2 / (sample_weight**2).sum()
    table = np.zeros((n_classes, n_cells))
    weight = np.ones(len(source.codes)) if source.weight is None else source.weight
    np.add.at(table, (source.codes, source.cells(source.proba)), weight)
    n_source = np.maximum(table.sum(axis=1), 1e-12)
    shares, rates = recent / recent.sum(), table / n_source[:, None]
    priors, variance = np.full(n_classes, 1 / n_classes), np.ones(n_cells)
    for _ in range(_ROUNDS):
        mixture = priors @ rates
        variance = mixture / n + (priors**2 / n_source) @ rates
        known = np.flatnonzero(variance > 0)
        deviation = np.sqrt(variance[known])
        priors, _ = nnls((rates[:, known] / deviation).T, shares[known] / deviation)
        priors /= max(priors.sum(), 1e-12)
    mixture = priors @ rates
    compared = (mixture * n >= _LEAST_EXPECTED) & (variance > 0)
    misfit = float((((shares - mixture) ** 2)[compared] / variance[compared]).sum())
    # Recent rows in cells the source never had are a misfit too, as far as there are many.
    unseen = float(shares[mixture == 0].sum() * n)
    misfit += max(0.0, unseen - _LEAST_EXPECTED)
    free = int(compared.sum()) - int(np.count_nonzero(priors))
    if free < 1:
        return AssumptionCheck(float("nan"), misfit, max(free, 0))
    return AssumptionCheck(float(gammaincc(free / 2, misfit / 2)), misfit, free)
