"""Metrics: what they are expected to be, what they are, and whom to withhold for them."""

from abstain.metrics._atoms import Atoms
from abstain.metrics._auroc import AUROC
from abstain.metrics._base import Choice, Decision, Metric
from abstain.metrics._ranking import RankingMetric
from abstain.metrics._registry import from_dict, get, registered
from abstain.metrics._sensitivity_at_specificity import SensitivityAtSpecificity
from abstain.metrics._weighted_kappa import WeightedKappa
from abstain.metrics._window_search import most_valuable_window, smallest_window

__all__ = [
    "AUROC",
    "Atoms",
    "Choice",
    "Decision",
    "Metric",
    "RankingMetric",
    "SensitivityAtSpecificity",
    "WeightedKappa",
    "from_dict",
    "get",
    "most_valuable_window",
    "registered",
    "smallest_window",
]
