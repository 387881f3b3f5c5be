"""Metrics: their expected and observed values, and what abstaining does to them."""

from abstain.metrics._accuracy import Accuracy, BalancedAccuracy, ErrorRate
from abstain.metrics._base import Choice, Metric
from abstain.metrics._class_ratios import F1, FBeta, Jaccard, Precision, Recall
from abstain.metrics._confusion_metric import ConfusionMetric
from abstain.metrics._expected_cost import ExpectedCost
from abstain.metrics._mcc import MatthewsCorrelation
from abstain.metrics._registry import from_dict, get, register, registered, summaries
from abstain.metrics._top_k import TopKAccuracy
from abstain.metrics._weighted_kappa import WeightedKappa

__all__ = [
    "F1",
    "Accuracy",
    "BalancedAccuracy",
    "Choice",
    "ConfusionMetric",
    "ErrorRate",
    "ExpectedCost",
    "FBeta",
    "Jaccard",
    "MatthewsCorrelation",
    "Metric",
    "Precision",
    "Recall",
    "TopKAccuracy",
    "WeightedKappa",
    "from_dict",
    "get",
    "register",
    "registered",
    "summaries",
]
