"""Decisions: what was decided about each row of a batch, and what it is expected to do."""

from __future__ import annotations

from abstain.policy import Decisions, GroupDecisions
from abstain.policy import check_decisions as check_decisions
from abstain.policy import free_name as free_name

__all__ = ["Decisions", "GroupDecisions"]
