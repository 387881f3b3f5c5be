"""Rules at work: keeping a stream at a rate while its mix drifts."""

from __future__ import annotations

from abstain.monitoring._rate_controller import RateController

__all__ = ["RateController"]
