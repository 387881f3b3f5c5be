"""What becomes of the rows where arms promise something: released, seen by a person, acted on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abstain._words import class_in_words, percent, share
from abstain.certificates import ARMS, Bound

if TYPE_CHECKING:
    from abstain.policy._decisions import Decisions


@dataclass(frozen=True)
class Arm:
    """An arm, and what is in it.

    Parameters
    ----------
    name : {"release", "person", "act"}
        What becomes of its rows: predicted to be negative, withheld, predicted to be positive.
    rows : int
        How many these are, of those with a score and no known label.
    share : float
        Of how much of the batch, by weight.
    positives : float
        How many of them are expected to be positive. Those released go unseen.
    promises : dict of Bound
        What was promised of it and is proved, by name.
    """

    name: str
    rows: int
    share: float
    positives: float
    promises: dict[str, Bound]


def arms_of(decisions: Decisions) -> tuple[Arm, ...] | None:
    """Return what becomes of rows by their arm; None where the rule has none."""
    selection, certificate = decisions.policy.selection, decisions.certificate
    if selection is None or selection.arms is None:
        return None
    outcome = decisions.outcome
    weight = np.ones(len(outcome.abstain)) if outcome.weight is None else outcome.weight
    positive = outcome.proba[:, 1] * weight
    bounds = {} if certificate is None else certificate.bounds
    arm_of_row = np.where(outcome.abstain, 1, 2 * outcome.columns)
    found = []
    for number, name in enumerate(("release", "person", "act")):
        here = arm_of_row == number
        own = {what: bound for what, bound in bounds.items() if 2 * ARMS[what] == number}
        part = float(weight[here].sum() / max(weight.sum(), 1e-300))
        found.append(Arm(name, int(here.sum()), part, float(positive[here].sum()), own))
    return tuple(found)


def arms_in_words(decisions: Decisions) -> list[str]:
    """Say of each arm how many rows it has, how many positives of these, and what is promised."""
    arms, certificate = decisions.arms, decisions.certificate
    if arms is None:
        return []
    positive, said = class_in_words(decisions.classes[1]), []
    verbs = {"release": "Released", "person": "To a person", "act": "Acted on"}
    for arm in arms:
        unseen = " and go unseen" if arm.name == "release" else ""
        proved = ", ".join(f"{name} {bound.value:.15g}" for name, bound in arm.promises.items())
        said.append(
            f"{verbs[arm.name]}: {arm.rows:,} rows ({share(arm.share)}), of which about "
            f"{arm.positives:,.1f} are expected to be {positive}{unseen}"
            + (f"; promised: {proved}" if proved else "")
        )
    if certificate is not None and certificate.bounds:
        over = ""
        if certificate.prior_range is not None:
            low, high = (float(side[1]) for side in certificate.prior_range)
            over = f" of {positive} from {percent(low)} to {percent(high)}"
        said.append(
            f"What is promised holds at every prevalence{over}, all of it with "
            f"{percent(certificate.confidence)} confidence"
        )
    return said
