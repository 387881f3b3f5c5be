"""Streams: a monitor whose alarms mean something, and a controller that keeps a rate."""

from __future__ import annotations

from abstain.monitoring._alarms import Alarm as Alarm
from abstain.monitoring._chunk import Chunk as Chunk
from abstain.monitoring._evidence import Seen as Seen
from abstain.monitoring._evidence import first_crossing as first_crossing
from abstain.monitoring._monitor import Monitor
from abstain.monitoring._rate_controller import RateController

__all__ = ["Monitor", "RateController"]
