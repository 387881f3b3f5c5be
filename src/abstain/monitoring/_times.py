"""The months, weeks, days and hours that times lie in."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, check_whole
from abstain.exceptions import ArgumentError

_UNITS = {"month": "M", "week": "D", "day": "D", "hour": "h"}
# Monday is the first day; 1970 began on a Thursday.
_THURSDAY, _WEEK = 3, 7


def check_every(every: Any) -> str | int | None:
    """Return how a stream is cut: a period, a number of rows, or None for batch by batch."""
    if every is None:
        return None
    if isinstance(every, str):
        head, _, rest = every.partition(" ")
        if rest in ("row", "rows") and head.replace(",", "").isdigit():
            every = int(head.replace(",", ""))
        elif every in _UNITS:
            return every
        else:
            raise ArgumentError(
                f"`every` must be {', '.join(_UNITS)} or a number of rows such as "
                f'"1000 rows"; got {every!r}.',
                "every",
            )
    return check_whole(every, name="every", least=1, most=2**53)


def period_starts(seconds: FloatArray, every: str) -> NDArray[np.int64]:
    """Return the begin of the period that each time lies in, in seconds."""
    days = np.floor(seconds).astype(np.int64).astype("datetime64[s]").astype("datetime64[D]")
    if every == "week":
        number = days.astype(np.int64)
        days = (number - (number + _THURSDAY) % _WEEK).astype("datetime64[D]")
    elif every == "month":
        days = days.astype("datetime64[M]")
    elif every == "hour":
        return np.floor(seconds / 3600).astype(np.int64) * 3600
    return days.astype("datetime64[s]").astype(np.int64)


def period_end(start: int, every: str) -> int:
    """Return where the period that begins there ends."""
    begin = np.datetime64(start, "s")
    if every == "month":
        end = begin.astype("datetime64[M]") + np.timedelta64(1, "M")
    else:
        end = begin + np.timedelta64({"week": 7 * 24, "day": 24, "hour": 1}[every], "h")
    return int(end.astype("datetime64[s]").astype(np.int64))


def named(seconds: float, every: str | int | None = None) -> str:
    """Return a time in UTC as people write it, as finely as chunks are cut."""
    text = datetime.fromtimestamp(seconds, UTC).isoformat(sep=" ", timespec="minutes")[:16]
    return text[: {"month": 7, "week": 10, "day": 10}.get(str(every), 16)]
