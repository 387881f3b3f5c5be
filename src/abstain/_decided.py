"""What a bridge to an engine of frames gives back."""

from __future__ import annotations

from typing import Any, NamedTuple

from abstain.policy import Policy

__all__ = ["Decided"]


class Decided(NamedTuple):
    """A policy, and the frame that it decided about."""

    policy: Policy
    frame: Any
