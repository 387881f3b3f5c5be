"""What errors and referrals cost: the starting values of the page's cost calculator."""

from __future__ import annotations

from typing import Any

import numpy as np

from abstain.decisions import Decisions
from abstain.metrics import ExpectedCost


def costs(decisions: Decisions) -> dict[str, Any]:
    """Return the cost of each kind of error and of a referral.

    From the cost that the decisions were made with, or from a metric that is a cost; else every
    error costs 1 and a referral nothing, for the reader to change on the page.
    """
    k = len(decisions.classes)
    errors = 1.0 - np.eye(k)
    abstain = np.zeros(k)
    given = False
    selection = decisions.policy.selection
    cost = None if selection is None else selection.cost
    if cost is not None:
        given = True
        abstain = np.broadcast_to(np.asarray(cost.abstain, dtype=np.float64), (k,))
        errors = errors if cost.errors is None else cost.errors
    elif isinstance(decisions.policy.metric, ExpectedCost):
        given = True
        errors = np.asarray(decisions.policy.metric.costs)
    return {"errors": errors.tolist(), "abstain": float(abstain.mean()), "given": given}
