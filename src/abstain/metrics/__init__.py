"""Metrics: what they are expected to be, what they are, and whom to withhold for them."""

from abstain.metrics._accuracy import Accuracy, BalancedAccuracy, ErrorRate
from abstain.metrics._auroc import AUROC
from abstain.metrics._average_precision import AveragePrecision
from abstain.metrics._base import Decision, Metric
from abstain.metrics._confusion import BaseConfusionMetric
from abstain.metrics._confusion_metric import ConfusionMetric
from abstain.metrics._curve import BudgetCurve, Point
from abstain.metrics._expected_cost import ExpectedCost
from abstain.metrics._mcc import MatthewsCorrelation
from abstain.metrics._net_benefit import NetBenefit
from abstain.metrics._partial_auroc import PartialAUROC
from abstain.metrics._precision_at_recall import PrecisionAtRecall, RecallAtPrecision
from abstain.metrics._precision_recall_f import F1, FBeta, Jaccard, Precision, Recall
from abstain.metrics._ranking import BestWindow, RankingMetric
from abstain.metrics._registry import from_dict, get, register, summaries
from abstain.metrics._sampled_metric import SampledMetric
from abstain.metrics._sensitivity_at_specificity import SensitivityAtSpecificity
from abstain.metrics._specificity_at_sensitivity import SpecificityAtSensitivity
from abstain.metrics._top_k import TopKAccuracy
from abstain.metrics._weighted_kappa import WeightedKappa

# What a metric and the rooms below share besides (curves, windows, plain data) is importable
# from here but not promised.
__all__ = [
    "AUROC",
    "F1",
    "Accuracy",
    "AveragePrecision",
    "BalancedAccuracy",
    "BaseConfusionMetric",
    "BestWindow",
    "BudgetCurve",
    "ConfusionMetric",
    "Decision",
    "ErrorRate",
    "ExpectedCost",
    "FBeta",
    "Jaccard",
    "MatthewsCorrelation",
    "Metric",
    "NetBenefit",
    "PartialAUROC",
    "Point",
    "Precision",
    "PrecisionAtRecall",
    "RankingMetric",
    "Recall",
    "RecallAtPrecision",
    "SampledMetric",
    "SensitivityAtSpecificity",
    "SpecificityAtSensitivity",
    "TopKAccuracy",
    "WeightedKappa",
    "from_dict",
    "get",
    "register",
    "summaries",
]
