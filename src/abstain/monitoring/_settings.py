"""What a monitor is asked to watch, checked: capacity, the range of proportions, rates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import FloatArray, check_number
from abstain.certificates import check_prior_range
from abstain.exceptions import ArgumentError
from abstain.monitoring._watched import allowed_range
from abstain.policy import Policy

# A budget is clearly above itself from here on.
_CLEARLY = 1.1


def positive(value: Any, name: str, most: float) -> float:
    found = check_number(value, name=name)
    if not 0 < found <= most:
        raise ArgumentError(f"`{name}` must be above 0 and at most {most:g}; got {value!r}.", name)
    return found


def capacity_of(capacity: float | None, policy: Policy) -> float | int | None:
    """Return what people can look at; where nobody said, the budget of the policy and a tenth."""
    if capacity is None:
        budget = None if policy.selection is None else policy.selection.budget
        # A count is of one batch, and chunks are others.
        return None if budget is None or isinstance(budget, int) else min(_CLEARLY * budget, 1.0)
    if isinstance(capacity, int) and not isinstance(capacity, bool) and capacity >= 1:
        return capacity
    found = check_number(capacity, name="capacity")
    if not 0 < found < 1:
        raise ArgumentError(
            f"`capacity` must be a share of the rows, between 0 and 1, or a whole number of rows "
            f"in each chunk; got {capacity!r}.",
            "capacity",
        )
    return found


def range_of(
    policy: Policy, prior_range: tuple[ArrayLike, ArrayLike] | None, tolerance: float
) -> FloatArray:
    """Return the least and the greatest proportion of each class that the rule is made for."""
    given = prior_range
    if given is None and policy.certificate is not None:
        given = policy.certificate.prior_range
    if given is None:
        return allowed_range(policy.priors, tolerance)
    return np.array(check_prior_range(given, len(policy.classes)))
