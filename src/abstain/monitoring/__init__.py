"""Streams: a monitor whose alarms mean something, and a controller that keeps a rate."""

from __future__ import annotations

from abstain.monitoring._alarms import Alarm as Alarm
from abstain.monitoring._chunk import Chunk as Chunk
from abstain.monitoring._monitor import Monitor
from abstain.monitoring._rate_controller import RateController

__all__ = ["Monitor", "RateController"]
