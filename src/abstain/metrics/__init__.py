"""Metrics: what they are expected to be, what they are, and whom to withhold for them."""

from abstain.metrics._atoms import Atoms
from abstain.metrics._auroc import AUROC
from abstain.metrics._average_precision import AveragePrecision
from abstain.metrics._base import Choice, Metric
from abstain.metrics._curve import BudgetCurve
from abstain.metrics._net_benefit import NetBenefit
from abstain.metrics._partial_auroc import PartialAUROC
from abstain.metrics._precision_recall import PrecisionAtRecall, RecallAtPrecision
from abstain.metrics._ranking import RankingMetric
from abstain.metrics._registry import from_dict, get, registered
from abstain.metrics._sensitivity_at_specificity import SensitivityAtSpecificity
from abstain.metrics._specificity_at_sensitivity import SpecificityAtSensitivity

__all__ = [
    "AUROC",
    "Atoms",
    "AveragePrecision",
    "BudgetCurve",
    "Choice",
    "Metric",
    "NetBenefit",
    "PartialAUROC",
    "PrecisionAtRecall",
    "RankingMetric",
    "RecallAtPrecision",
    "SensitivityAtSpecificity",
    "SpecificityAtSensitivity",
    "from_dict",
    "get",
    "registered",
]
