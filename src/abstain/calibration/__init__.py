"""Calibration: scores of a classifier turned into probabilities that can be trusted."""

from __future__ import annotations

from abstain.calibration._auto import AutoCalibration
from abstain.calibration._base import Calibrator
from abstain.calibration._beta import BetaCalibration
from abstain.calibration._dirichlet import DirichletCalibration
from abstain.calibration._held_out import held_out as held_out
from abstain.calibration._identity import IdentityCalibration
from abstain.calibration._isotonic import FARTHEST as FARTHEST
from abstain.calibration._isotonic import IsotonicCalibration
from abstain.calibration._measures import BrierScore as BrierScore
from abstain.calibration._measures import (
    bootstrap_interval,
    brier_score,
    expected_calibration_error,
    log_loss,
)
from abstain.calibration._platt import PlattScaling
from abstain.calibration._registry import from_dict as from_dict
from abstain.calibration._registry import get
from abstain.calibration._scaling import fit_scaling as fit_scaling
from abstain.calibration._temperature import BiasCorrectedTemperatureScaling, TemperatureScaling
from abstain.calibration._vector import NoBiasVectorScaling, VectorScaling

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
]
