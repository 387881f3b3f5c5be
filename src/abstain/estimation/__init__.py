"""The metric without labels: what it is on everything and on the kept, and how sure that is."""

from abstain.estimation._estimate import Estimate, EstimatedValue, estimate_choice, estimate_rows
from abstain.estimation._moves import Move, calibration_moves, prior_moves

__all__ = [
    "Estimate",
    "EstimatedValue",
    "Move",
    "calibration_moves",
    "estimate_choice",
    "estimate_rows",
    "prior_moves",
]
