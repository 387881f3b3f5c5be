"""Label-shift estimators by name."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from abstain._numerics import Registry, plain
from abstain.shift._auto import AutoShift
from abstain.shift._base import ShiftEstimator
from abstain.shift._confusion import BBSEHard, BBSESoft, RLLSHard, RLLSSoft
from abstain.shift._fixed import KnownPriors, NoShift
from abstain.shift._maximum_likelihood import MaximumLikelihoodShift

S = TypeVar("S", bound=ShiftEstimator)

_ESTIMATORS: Registry[type[ShiftEstimator]] = Registry(
    "shift",
    [
        AutoShift,
        BBSEHard,
        BBSESoft,
        KnownPriors,
        MaximumLikelihoodShift,
        NoShift,
        RLLSHard,
        RLLSSoft,
    ],
    kind="ShiftEstimator",
    known_as={
        "bbse-soft bbse-hard": "bbse bbsc",
        "em": "bcts maximum-likelihood mlls saerens sld",
        "rlls-soft rlls-hard": "rlls",
        "none": "no off",
    },
    remedy="One of your own is known after abstain.shift.register(its class).",
)
#: What a policy file holds of its estimator.
KEYS = _ESTIMATORS.stored(lambda kind: {"parameters": kind.keys})


def register(estimator: type[S]) -> type[S]:
    """Make a shift estimator of your own known by its ``name``, to ``get`` and to policies.

    Parameters
    ----------
    estimator : type
        A class made from ``ShiftEstimator``, which all its parameters have a default of; it may
        stand above the class as a decorator. One registered before under the same name is
        replaced.

    Returns
    -------
    type
        The class.

    Raises
    ------
    ValueError
        If the name is that of a built-in estimator.

    Examples
    --------
    >>> from abstain import shift
    >>> @shift.register
    ... class Doubled(shift.ShiftEstimator):
    ...     def _fit(self, source, target):
    ...         twice = self.source_priors_ * [1.0, 2.0]
    ...         self.priors_ = twice / twice.sum()
    >>> shift.get("Doubled")
    Doubled()
    """
    _ESTIMATORS.register_class(estimator, ShiftEstimator)
    return estimator


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
