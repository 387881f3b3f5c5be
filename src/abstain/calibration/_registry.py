"""Calibrators by name, and back from the data a policy stores."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from abstain._inputs import Scale
from abstain._numerics import Registry
from abstain.calibration._auto import AutoCalibration
from abstain.calibration._base import Calibrator
from abstain.calibration._beta import BetaCalibration
from abstain.calibration._dirichlet import DirichletCalibration
from abstain.calibration._identity import IdentityCalibration
from abstain.calibration._isotonic import IsotonicCalibration
from abstain.calibration._platt import PlattScaling
from abstain.calibration._temperature import BiasCorrectedTemperatureScaling, TemperatureScaling
from abstain.calibration._vector import NoBiasVectorScaling, VectorScaling

__all__ = ["from_dict", "get"]

_CALIBRATORS: Registry[type[Calibrator]] = Registry(
    "calibration",
    [
        (calibrator.name, calibrator)
        for calibrator in (
            AutoCalibration,
            BetaCalibration,
            BiasCorrectedTemperatureScaling,
            DirichletCalibration,
            IdentityCalibration,
            IsotonicCalibration,
            NoBiasVectorScaling,
            PlattScaling,
            TemperatureScaling,
            VectorScaling,
        )
    ],
    kind="Calibrator",
    known_as={
        "logistic": ("platt",),
        "sigmoid": ("platt",),
        "temp": ("temperature",),
        "ts": ("temperature",),
        "vs": ("vector",),
        "matrix": ("dirichlet",),
        "no": ("identity",),
        "none": ("identity",),
        "off": ("identity",),
    },
)


def get(
    calibration: str | Calibrator, *, scale: Scale, estimating_shift: bool = True
) -> Calibrator:
    """Return the calibrator of that name, or the given one.

    Parameters
    ----------
    calibration : str or Calibrator
        A registered name, or a calibrator, which is returned as it is.
    scale : {"probabilities", "logits"}
        What the scores are; a given calibrator must have been made for the same.
    estimating_shift : bool
        Whether a label shift will be estimated from the result, which "auto" takes into account.

    Returns
    -------
    Calibrator

    Examples
    --------
    >>> from abstain import calibration
    >>> calibration.get("platt", scale="logits")
    PlattScaling(scale='logits')
    """
    if isinstance(calibration, Calibrator):
        if calibration.scale != scale:
            raise ValueError(
                f"`calibration` was made for scale={calibration.scale!r}, but the scores are "
                f"{scale}. Make it with scale={scale!r}."
            )
        return calibration
    if calibration == AutoCalibration.name:
        return AutoCalibration(scale=scale, estimating_shift=estimating_shift)
    return _CALIBRATORS[calibration](scale=scale)


def from_dict(data: dict[str, Any], *, classes: NDArray[Any]) -> Calibrator:
    """Return the fitted calibrator that ``Calibrator.to_dict`` described.

    Parameters
    ----------
    data : dict
        What ``to_dict`` returned.
    classes : ndarray of shape (n_classes,)
        The label of each column.

    Returns
    -------
    Calibrator
    """
    return _CALIBRATORS[data["name"]].from_dict(data, classes=classes)
