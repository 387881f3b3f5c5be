"""The public surface, pinned: a new or lost name must be meant."""

import importlib

import pytest

PUBLIC = {
    "abstain": [
        "AbstainError",
        "Abstainer",
        "AbstainingClassifier",
        "Decisions",
        "Policy",
        "__version__",
    ],
    "abstain.baselines": [
        "ScoreThreshold",
        "choose_by_samples",
        "choose_by_score",
        "choose_class_thresholds",
        "distance_from_half",
        "dropout_variance",
        "entropy",
        "get",
        "js_divergence",
        "margin",
        "max_probability",
        "random_order",
        "registered",
    ],
    "abstain.calibration": [
        "AutoCalibration",
        "BetaCalibration",
        "BiasCorrectedTemperatureScaling",
        "BrierScore",
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
        "from_dict",
        "get",
        "log_loss",
    ],
    "abstain.datasets": [
        "ScreeningClinic",
        "Simulation",
        "screening_clinic",
        "simulate_binary_normal",
        "simulate_four_class_normal",
    ],
    "abstain.evaluation": [
        "Cell",
        "Dataset",
        "Evaluation",
        "Realised",
        "ResultTable",
        "RiskCoverage",
        "best_methods",
        "compare",
        "dirichlet_priors",
        "evaluate",
        "grouped_split",
        "progress",
        "risk_coverage",
        "shifted_rows",
        "signed_rank_test",
        "tweak_one_priors",
    ],
    "abstain.keras": ["dropout_only", "sample_predictions"],
    "abstain.paper": [
        "EXPERIMENTS",
        "Experiment",
        "Options",
        "Result",
        "TableExperiment",
        "TableResult",
    ],
    "abstain.plots": ["RegionDisplay", "ReliabilityDisplay", "RocAbstentionDisplay"],
    "abstain.shift": [
        "BBSEHard",
        "BBSESoft",
        "KnownPriors",
        "LabelShiftCheck",
        "MaximumLikelihoodShift",
        "NoShift",
        "RLLSHard",
        "RLLSSoft",
        "ShiftEstimator",
        "ShiftTest",
        "adapt_proba",
        "check_label_shift",
        "detect_shift",
        "get",
        "ratio_of_priors",
    ],
    "abstain.torch": ["dropout_only", "sample_predictions"],
}


@pytest.mark.parametrize("module", PUBLIC)
def test_all_is_the_public_surface(module):
    loaded = importlib.import_module(module)
    assert list(loaded.__all__) == PUBLIC[module]
    assert list(loaded.__all__) == sorted(loaded.__all__)
    for name in loaded.__all__:
        assert getattr(loaded, name) is not None


def test_unknown_name_is_an_attribute_error():
    import abstain

    with pytest.raises(AttributeError, match="nonesuch"):
        _ = abstain.nonesuch
