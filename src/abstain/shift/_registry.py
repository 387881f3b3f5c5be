"""Label-shift estimators by name."""

import difflib

from abstain.shift._base import ShiftEstimator
from abstain.shift._confusion import BBSEHard, BBSESoft, RLLSHard, RLLSSoft
from abstain.shift._fixed import KnownPriors, NoShift
from abstain.shift._maximum_likelihood import MaximumLikelihoodShift

__all__ = ["get"]

_ESTIMATORS: dict[str, type[ShiftEstimator]] = {
    estimator.name: estimator
    for estimator in (
        BBSEHard,
        BBSESoft,
        KnownPriors,
        MaximumLikelihoodShift,
        NoShift,
        RLLSHard,
        RLLSSoft,
    )
}


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
    if not isinstance(shift, str):
        raise TypeError(f"`shift` must be a name or a ShiftEstimator; got {type(shift).__name__}.")
    if shift not in _ESTIMATORS:
        near = difflib.get_close_matches(shift, _ESTIMATORS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"`shift` {shift!r} is not known.{hint} There are: {', '.join(sorted(_ESTIMATORS))}."
        )
    return _ESTIMATORS[shift]()
