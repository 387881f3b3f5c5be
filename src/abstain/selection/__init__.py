"""How much to withhold: a budget, a target, a cost."""

from abstain.selection._budget import budget_capacity
from abstain.selection._cost import Cost
from abstain.selection._target import check_target, choose_for_target

__all__ = ["Cost", "budget_capacity", "check_target", "choose_for_target"]
