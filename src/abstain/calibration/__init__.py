"""Calibration: scores of a classifier turned into probabilities that can be trusted."""

from abstain.calibration._base import Calibrator
from abstain.calibration._platt import PlattScaling
from abstain.calibration._registry import from_dict, get
from abstain.calibration._temperature import BiasCorrectedTemperatureScaling, TemperatureScaling

__all__ = [
    "BiasCorrectedTemperatureScaling",
    "Calibrator",
    "PlattScaling",
    "TemperatureScaling",
    "from_dict",
    "get",
]
