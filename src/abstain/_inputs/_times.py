"""Times of rows, as seconds in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from abstain._inputs._checks import FloatArray
from abstain.exceptions import ArgumentError

_HOW = (
    "Pass datetimes, ISO text such as '2026-03-01T08:00:00+01:00', or a NumPy array of datetime64."
)
# The years that a datetime can have.
_FIRST, _LAST = -62_135_596_800, 253_402_300_799


def check_time(time: Any, n_rows: int) -> FloatArray:
    """Return times of rows as numbers: any numbers as they are, all others in seconds."""
    found = np.asarray(time)
    if found.dtype.kind not in "iuf":
        return seconds_of(time, n_rows)
    if found.shape not in ((), (n_rows,)):
        raise ArgumentError(
            f"`time` must have one entry per row; {n_rows} rows, times of shape {found.shape}.",
            "time",
        )
    values = np.broadcast_to(found.astype(np.float64), (n_rows,))
    if not np.isfinite(values).all():
        raise _without(int(np.flatnonzero(~np.isfinite(values))[0]))
    return values


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
