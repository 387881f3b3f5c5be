"""Metrics: what they are expected to be, what they are, and whom to withhold for them."""

from __future__ import annotations

from abstain.metrics._accuracy import SHARES as SHARES
from abstain.metrics._accuracy import Accuracy, BalancedAccuracy, ErrorRate, MatthewsCorrelation
from abstain.metrics._accuracy import CellShare as CellShare
from abstain.metrics._areas import AUROC, AveragePrecision, PartialAUROC
from abstain.metrics._base import BudgetCurve as BudgetCurve
from abstain.metrics._base import Decision as Decision
from abstain.metrics._base import Metric
from abstain.metrics._base import Point as Point
from abstain.metrics._base import check_decision as check_decision
from abstain.metrics._confusion import BaseConfusionMetric, ConfusionMetric
from abstain.metrics._confusion_solver import Candidate as Candidate
from abstain.metrics._confusion_solver import ConfusionBatch as ConfusionBatch
from abstain.metrics._confusion_solver import helps as helps
from abstain.metrics._confusion_solver import solve_joint as solve_joint
from abstain.metrics._expected_cost import ExpectedCost
from abstain.metrics._operating_point import (
    SensitivityAtSpecificity,
    SpecificityAtSensitivity,
)
from abstain.metrics._precision_at_recall import NetBenefit, PrecisionAtRecall, RecallAtPrecision
from abstain.metrics._precision_recall_f import F1, FBeta, Jaccard, Precision, Recall
from abstain.metrics._ranking import RankingMetric
from abstain.metrics._registry import KEYS as KEYS
from abstain.metrics._registry import from_dict as from_dict
from abstain.metrics._registry import from_name as from_name
from abstain.metrics._registry import get, register, summaries
from abstain.metrics._registry import get_several as get_several
from abstain.metrics._registry import is_own as is_own
from abstain.metrics._registry import to_dict as to_dict
from abstain.metrics._registry import whole_name as whole_name
from abstain.metrics._sampled_metric import SampledMetric
from abstain.metrics._top_k import TopKAccuracy
from abstain.metrics._weighted_kappa import WeightedKappa

__all__ = [
    "AUROC",
    "F1",
    "Accuracy",
    "AveragePrecision",
    "BalancedAccuracy",
    "BaseConfusionMetric",
    "ConfusionMetric",
    "ErrorRate",
    "ExpectedCost",
    "FBeta",
    "Jaccard",
    "MatthewsCorrelation",
    "Metric",
    "NetBenefit",
    "PartialAUROC",
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
    "get",
    "register",
    "summaries",
]
