"""How a class is predicted from probabilities: decision rules, as data."""

from __future__ import annotations

from abstain.rules._rules import KEYS as KEYS
from abstain.rules._rules import Argmax, BestGain, DecisionRule, Threshold, register
from abstain.rules._rules import Part as Part
from abstain.rules._rules import from_dict as from_dict

__all__ = ["Argmax", "BestGain", "DecisionRule", "Threshold", "register"]
