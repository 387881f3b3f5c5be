"""Times of rows, as seconds in UTC, and the months, weeks, days and hours that they lie in."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, check_whole
from abstain.exceptions import ArgumentError

_UNITS = {"month": "M", "week": "D", "day": "D", "hour": "h"}
_HOW = (
    "Pass datetimes, ISO text such as '2026-03-01T08:00:00+01:00', or a NumPy array of datetime64."
)
# The years that a datetime can have.
_FIRST, _LAST = -62_135_596_800, 253_402_300_799
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


def seconds_of(time: Any, n_rows: int) -> FloatArray:
    """Return the times of rows as seconds since 1970 in UTC; one time is that of all rows.

    Times of several zones are all brought to UTC. Those without a zone are taken to be in UTC, and
    may not stand beside others that have one.
    """
    found = np.asarray(time)
    if found.dtype.kind in "US":
        found = found.astype(object)
    if found.dtype.kind == "M":
        seconds = found.astype("datetime64[us]")
        if np.isnat(seconds).any():
            raise _without(int(np.flatnonzero(np.isnat(seconds.ravel()))[0]))
        values = seconds.astype(np.int64) / 1e6
    elif found.dtype == object:
        values = np.array(_of_objects(found.ravel().tolist()))
    else:
        raise ArgumentError(f"`time` must be times; got {found.dtype}. {_HOW}", "time")
    values = np.asarray(values, dtype=np.float64).ravel()
    if len(values) and (values.min() < _FIRST or values.max() > _LAST):
        raise ArgumentError("`time` must lie in the years 1 to 9999.", "time")
    if len(values) == 1 and found.ndim == 0:
        return np.full(n_rows, values[0])
    if len(values) != n_rows:
        raise ArgumentError(
            f"`time` must have one entry per row; {n_rows} rows, {len(values)} times.", "time"
        )
    return values


def _without(row: int) -> ArgumentError:
    return ArgumentError(
        f"`time` is missing in row {row}. Leave out rows without a time, or pass one time for "
        f"all.",
        "time",
    )


def _of_objects(times: list[Any]) -> list[float]:
    known: dict[Any, datetime] = {}
    zones: set[bool] = set()
    for row, one in enumerate(times):
        if one in known:
            continue
        try:
            read = datetime.fromisoformat(one) if isinstance(one, str) else one
            if isinstance(read, np.datetime64):
                read = read.astype("datetime64[us]").item()
        except ValueError as error:
            raise ArgumentError(f"`time` in row {row} is none: {one!r}. {_HOW}", "time") from error
        # A pandas NaT is a datetime that equals nothing.
        if read is None or read != read:
            raise _without(row)
        if not isinstance(read, datetime):
            raise ArgumentError(f"`time` in row {row} is none: {one!r}. {_HOW}", "time")
        zones.add(read.tzinfo is not None)
        known[one] = read if read.tzinfo is not None else read.replace(tzinfo=UTC)
    if len(zones) > 1:
        raise ArgumentError(
            "`time` mixes times with a zone and times without one, so that their order is not "
            "known. Give all of them a zone, or none.",
            "time",
        )
    return [known[one].timestamp() for one in times]


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
        end = begin.astype("datetime64[M]") + 1
    else:
        end = begin + np.timedelta64({"week": 7 * 24, "day": 24, "hour": 1}[every], "h")
    return int(end.astype("datetime64[s]").astype(np.int64))


def named(seconds: float, every: str | int | None = None) -> str:
    """Return a time in UTC as people write it, as finely as chunks are cut."""
    text = datetime.fromtimestamp(seconds, UTC).isoformat(sep=" ", timespec="minutes")[:16]
    return text[: {"month": 7, "week": 10, "day": 10}.get(str(every), 16)]
