"""How much to withhold: a budget, a target or a cost; by the metric's order or by a score's."""

from __future__ import annotations

from abstain.selection._class_thresholds import choose_class_thresholds as choose_class_thresholds
from abstain.selection._cost import Cost
from abstain.selection._goals import RATES as RATES
from abstain.selection._goals import goals_of as goals_of
from abstain.selection._goals import raised_target as raised_target
from abstain.selection._goals import shown_short as shown_short
from abstain.selection._selection import KEYS as KEYS
from abstain.selection._selection import Selection as Selection
from abstain.selection._target import TOLERANCE as TOLERANCE
from abstain.selection._target import Family as Family
from abstain.selection._target import Memory as Memory
from abstain.selection._window_search import even_boundaries as even_boundaries

__all__ = ["Cost"]
