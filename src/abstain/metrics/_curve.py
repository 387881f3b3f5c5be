"""The metric against the share withheld: what a budget buys."""

from dataclasses import dataclass

from abstain._inputs import FloatArray
from abstain.regions import Region

__all__ = ["BudgetCurve"]


@dataclass(frozen=True, eq=False)
class BudgetCurve:
    """The best choice for each of many budgets.

    Parameters
    ----------
    budgets : ndarray of shape (n_budgets,)
        Largest share of the weight that may be withheld.
    values : ndarray of shape (n_budgets,)
        The metric estimated for what is kept.
    withheld : ndarray of shape (n_budgets,)
        The weight withheld: at most the budget, 0 where abstaining does not help.
    regions : tuple of Region
        What is withheld.
    """

    budgets: FloatArray
    values: FloatArray
    withheld: FloatArray
    regions: tuple[Region, ...]
