"""Decide which predictions of a classifier should go to a person instead.

The front door: everything else is reached through its room (``abstain.metrics``, ...).
Names load on first use, so that ``import abstain`` and the command line start at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from abstain.abstainer import Abstainer
    from abstain.batch_estimate import estimate
    from abstain.certificates import Certificate
    from abstain.classifier import AbstainingClassifier
    from abstain.decisions import Decisions
    from abstain.exceptions import AbstainError
    from abstain.policy import Policy
    from abstain.selection import Cost
    from abstain.summaries import Summary

__version__ = "0.1.0"

__all__ = [
    "AbstainError",
    "Abstainer",
    "AbstainingClassifier",
    "Certificate",
    "Cost",
    "Decisions",
    "Policy",
    "Summary",
    "__version__",
    "estimate",
]

_HOMES = {
    "AbstainError": "abstain.exceptions",
    "Abstainer": "abstain.abstainer",
    "AbstainingClassifier": "abstain.classifier",
    "Certificate": "abstain.certificates",
    "Cost": "abstain.selection",
    "Decisions": "abstain.decisions",
    "Policy": "abstain.policy",
    "Summary": "abstain.summaries",
    "estimate": "abstain.batch_estimate",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'abstain' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
