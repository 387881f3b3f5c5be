"""Label-shift estimators by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from abstain._numerics import Registry, plain
from abstain.shift._auto import AutoShift
from abstain.shift._base import ShiftEstimator
from abstain.shift._confusion import BBSEHard, BBSESoft, RLLSHard, RLLSSoft
from abstain.shift._fixed import KnownPriors, NoShift
from abstain.shift._maximum_likelihood import MaximumLikelihoodShift

_ESTIMATORS: Registry[type[ShiftEstimator]] = Registry(
    "shift",
    [
        (estimator.name, estimator)
        for estimator in (
            AutoShift,
            BBSEHard,
            BBSESoft,
            KnownPriors,
            MaximumLikelihoodShift,
            NoShift,
            RLLSHard,
            RLLSSoft,
        )
    ],
    kind="ShiftEstimator",
    known_as={
        "bbse": ("bbse-soft", "bbse-hard"),
        "bbsc": ("bbse-soft", "bbse-hard"),
        "bcts": ("em",),
        "maximum-likelihood": ("em",),
        "mlls": ("em",),
        "rlls": ("rlls-soft", "rlls-hard"),
        "saerens": ("em",),
        "sld": ("em",),
        "no": ("none",),
        "off": ("none",),
    },
)


def get(shift: str | ShiftEstimator) -> ShiftEstimator:
    """Return the label-shift estimator of that name, or the given one.

    Parameters
    ----------
    shift : str or ShiftEstimator
        A registered name, or an estimator, which is returned as it is.

    Returns
    -------
    ShiftEstimator

    Examples
    --------
    >>> from abstain import shift
    >>> shift.get("em")
    MaximumLikelihoodShift()
    """
    if isinstance(shift, ShiftEstimator):
        return shift
    return _ESTIMATORS[shift]()


def from_dict(data: dict[str, Any] | None) -> ShiftEstimator | None:
    """Return the estimator that ``to_dict`` described."""
    if data is None:
        return None
    estimator: ShiftEstimator = _ESTIMATORS[data["name"]]()
    # The level of a test that once decided whether to adapt.
    given = {key: value for key, value in data["parameters"].items() if key != "level"}
    if "prior" in given:
        given["prior"] = tuple(given["prior"])
    return estimator.set_params(**given)


def to_dict(estimator: ShiftEstimator | None) -> dict[str, Any] | None:
    """Return the estimator's name and parameters; None where these are more than plain data."""
    if estimator is None or estimator.name not in _ESTIMATORS:
        return None
    parameters = {
        key: np.asarray(value).tolist() if isinstance(value, np.ndarray | tuple) else value
        for key, value in estimator.get_params(deep=False).items()
    }
    if plain(parameters) != parameters:
        return None
    return {"name": estimator.name, "parameters": parameters}
