"""The public surface, pinned: a new or lost name must be meant.

What a module shares with the rooms below it besides is importable but not in ``__all__``.
"""

import importlib
import pkgutil

import pytest

import abstain

PUBLIC = {
    "abstain": [
        "AbstainError",
        "Abstainer",
        "AbstainingClassifier",
        "Certificate",
        "Cost",
        "Decisions",
        "Policy",
        "Summary",
        "__version__",
        "estimate",
    ],
    "abstain.abstainer": [
        "Abstainer",
    ],
    "abstain.arrow": [
        "apply",
        "decide",
        "summarise",
    ],
    "abstain.batch_estimate": [
        "estimate",
    ],
    "abstain.calibration": [
        "AutoCalibration",
        "BetaCalibration",
        "BiasCorrectedTemperatureScaling",
        "Calibrator",
        "DirichletCalibration",
        "IdentityCalibration",
        "IsotonicCalibration",
        "NoBiasVectorScaling",
        "PlattScaling",
        "TemperatureScaling",
        "VectorScaling",
        "bootstrap_interval",
        "brier_score",
        "expected_calibration_error",
        "get",
        "log_loss",
    ],
    "abstain.certificates": [
        "Bound",
        "Certificate",
        "Evidence",
        "certify",
    ],
    "abstain.classifier": [
        "AbstainingClassifier",
        "abstention_scorer",
    ],
    "abstain.cuda": [
        "DeviceDecisions",
        "apply",
        "decide",
        "summarise",
    ],
    "abstain.cli": [
        "commands",
        "main",
        "run_command",
    ],
    "abstain.dask": [
        "apply",
        "decide",
        "summarise",
    ],
    "abstain.datasets": [
        "screening_clinic",
        "simulate_binary_normal",
        "simulate_four_class_normal",
    ],
    "abstain.deciding": [],
    "abstain.decisions": [
        "Decisions",
    ],
    "abstain.estimation": [
        "Estimate",
        "EstimatedValue",
    ],
    "abstain.evaluation": [
        "Dataset",
        "Evaluation",
        "ResultTable",
        "best_methods",
        "compare",
        "dirichlet_priors",
        "evaluate",
        "grouped_split",
        "risk_coverage",
        "shifted_rows",
        "signed_rank_test",
        "tweak_one_priors",
    ],
    "abstain.exceptions": [
        "AbstainError",
        "AssumptionWarning",
        "NotIdentifiable",
        "PolicyError",
        "RepairWarning",
        "TargetUnreachable",
    ],
    "abstain.keras": [
        "dropout_only",
        "sample_predictions",
    ],
    "abstain.metrics": [
        "AUROC",
        "Accuracy",
        "AveragePrecision",
        "BalancedAccuracy",
        "BaseConfusionMetric",
        "ConfusionMetric",
        "ErrorRate",
        "ExpectedCost",
        "F1",
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
    ],
    "abstain.mlflow": [
        "load_policy",
        "log_policy",
    ],
    "abstain.monitoring": [
        "RateController",
    ],
    "abstain.onnx": [
        "merge_with_model",
        "to_onnx",
    ],
    "abstain.paper": [
        "EXPERIMENTS",
        "Options",
    ],
    "abstain.plots": [
        "AbstentionCurveDisplay",
        "ConfusionAbstentionDisplay",
        "PriorsDisplay",
        "RegionDisplay",
        "ReliabilityDisplay",
        "RocAbstentionDisplay",
    ],
    "abstain.policy": [
        "Policy",
    ],
    "abstain.regions": [
        "GainThreshold",
        "Interval",
        "ProbabilityBoxes",
        "Region",
        "ScoreThreshold",
        "TopShare",
    ],
    "abstain.report": [
        "Report",
    ],
    "abstain.rules": [
        "Argmax",
        "BestGain",
        "DecisionRule",
        "Threshold",
    ],
    "abstain.scores": [
        "distance_from_half",
        "dropout_mean",
        "dropout_variance",
        "entropy",
        "get",
        "js_divergence",
        "margin",
        "max_probability",
        "register",
    ],
    "abstain.selection": [
        "Cost",
    ],
    "abstain.shift": [
        "AutoShift",
        "BBSEHard",
        "BBSESoft",
        "KnownPriors",
        "MaximumLikelihoodShift",
        "NoShift",
        "RLLSHard",
        "RLLSSoft",
        "ShiftEstimator",
        "adapt_proba",
        "check_label_shift",
        "detect_shift",
        "get",
    ],
    "abstain.spark": [
        "apply",
        "decide",
        "summarise",
    ],
    "abstain.sql": [
        "to_sql",
    ],
    "abstain.summaries": [],
    "abstain.torch": [
        "collect_logits",
        "dropout_only",
        "sample_predictions",
    ],
}


@pytest.mark.parametrize("module", PUBLIC)
def test_all_is_the_public_surface(module):
    if module in ("abstain.torch", "abstain.keras"):
        pytest.importorskip(module.removeprefix("abstain."))
    loaded = importlib.import_module(module)
    assert sorted(loaded.__all__) == PUBLIC[module]
    for name in loaded.__all__:
        assert getattr(loaded, name) is not None


def test_every_public_module_is_pinned():
    found = {
        f"abstain.{module.name}"
        for module in pkgutil.iter_modules(abstain.__path__)
        if not module.name.startswith("_")
    }
    assert found | {"abstain"} == set(PUBLIC)


def test_the_surface_is_small():
    names = {(name, module) for module, names in PUBLIC.items() for name in names}
    assert len({name for name, _ in names}) <= 135


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonesuch"):
        _ = abstain.nonesuch
