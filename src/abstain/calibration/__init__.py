"""Calibration: scores of a classifier turned into probabilities that can be trusted."""

from __future__ import annotations

from abstain.calibration._base import Calibrator
from abstain.calibration._dirichlet import DirichletCalibration
from abstain.calibration._folds import held_out as held_out
from abstain.calibration._isotonic import IsotonicCalibration
from abstain.calibration._measures import BrierScore as BrierScore
from abstain.calibration._measures import (
    bootstrap_interval,
    brier_score,
    expected_calibration_error,
    log_loss,
)
from abstain.calibration._registry import KEYS as KEYS
from abstain.calibration._registry import AutoCalibration, get, register
from abstain.calibration._registry import from_dict as from_dict
from abstain.calibration._scaling import (
    BetaCalibration,
    BiasCorrectedTemperatureScaling,
    IdentityCalibration,
    NoBiasVectorScaling,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from abstain.calibration._scaling_fit import fit_scaling as fit_scaling

__all__ = [
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
    "register",
]
