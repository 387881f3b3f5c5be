"""How much to withhold."""

from abstain.selection._budget import budget_capacity

__all__ = ["budget_capacity"]
