"""The metric without labels: what it is on everything and on the kept, and how sure that is."""

from abstain.estimation._estimate import Estimate, EstimatedValue
from abstain.estimation._estimate import estimate_choice as estimate_choice
from abstain.estimation._estimate import estimate_rows as estimate_rows
from abstain.estimation._moves import Move as Move
from abstain.estimation._moves import calibration_moves as calibration_moves
from abstain.estimation._moves import prior_moves as prior_moves

__all__ = [
    "Estimate",
    "EstimatedValue",
]
