"""How good decisions turned out to be: realised metrics, comparisons, significance, tables."""

from abstain.evaluation._progress import progress
from abstain.evaluation._significance import best_methods, signed_rank_test
from abstain.evaluation._table import Cell, ResultTable

__all__ = ["Cell", "ResultTable", "best_methods", "progress", "signed_rank_test"]
