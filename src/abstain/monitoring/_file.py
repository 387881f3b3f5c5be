"""The chunk that is still open, and the file in which a monitor waits for its next rows.

It has sums of chunks and the summary of the open one, and may come from anybody: it is read within
limits, and every key is checked before it is used.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from abstain._files import write_text
from abstain._inputs import FloatArray, seconds_of
from abstain._schema import checksum, is_nested
from abstain._schema._kinds import (
    Constant,
    Either,
    Keys,
    ListOf,
    MapOf,
    Number,
    Numbers,
    OneOf,
    Record,
    Text,
    Whole,
)
from abstain.monitoring._watched import KINDS
from abstain.summaries import Summary

_FORMAT, _VERSION = "abstain-monitor", 1
# Bytes of a file, and of the summary in it once it is unpacked; how deep its brackets stand.
_LARGEST, _LARGEST_SUMMARY, _DEEPEST = 2**28, 2**27, 10
MOST_CHUNKS = 100_000

_OR_NULL = {"null": None}
_NUMBER = Either(number=Number(), **_OR_NULL)
_TIME = Either(number=Number(-6e10, 2.5e11), **_OR_NULL)
_ENDS = ListOf(_NUMBER, _NUMBER)
_NAME = Text(least=1)
_ESTIMATED: Keys = {"value": _NUMBER, "interval": _ENDS, "level": Number(0, 1, open=True)}
_CHUNK: Keys = {
    "name": _NAME,
    "start": _TIME,
    "end": _TIME,
    "from": Either(text=Text(), **_OR_NULL),
    "to": Either(text=Text(), **_OR_NULL),
    "rows": Whole(),
    "missing": Whole(),
    "referred": Number(0, 2**53),
    "referral_rate": _NUMBER,
    "estimate": {"before": _ESTIMATED, "after": _ESTIMATED},
    "priors": Either(list=Numbers(("classes",), low=0, high=1), **_OR_NULL),
    "interval": Either(list=Numbers(("classes", 2), low=0, high=1), **_OR_NULL),
    "worlds": Either(object=MapOf(Number(0, 1), name=_NAME, most=8), **_OR_NULL),
    "realised": Either(
        object={"rows": Whole(), "before": _NUMBER, "after": _NUMBER, "order": Whole()},
        **_OR_NULL,
    ),
    "sums": {f"{kind}?": Numbers((kind, 5), least=1, most=64) for kind in KINDS},
}
_OPEN: Keys = {
    "summary": Text(2**28),
    "start": _TIME,
    "end": _TIME,
    "rows": Whole(),
    "labels?": MapOf(Text(2**28), name=_NAME, most=2**15),
}
_ALARM: Keys = {
    "kind": OneOf(*KINDS),
    "chunk": _NAME,
    "began": _NAME,
    "began_between": ListOf(_NAME, _NAME),
    "evidence": Number(),
    "text": Text(10_000),
    "advice": Text(10_000),
}
_STATE = Record(
    {
        "format": Constant(_FORMAT),
        "version": Constant(_VERSION),
        "policy": Text(),
        "metric": Text(2**20),
        "classes": ListOf(Text(), most=2**15),
        "level": Number(0, 1, open=True),
        "every": Either(text=Text(), number=Whole(1), **_OR_NULL),
        "floor": _NUMBER,
        "capacity": Either(number=Number(0), **_OR_NULL),
        "prior_range": Numbers((2, "classes"), low=0, high=1),
        "tolerance": Number(0, 100),
        "false_alarms": Number(0, 10),
        "queue": Number(0),
        "alarms": ListOf(Record(_ALARM), most=len(KINDS)),
        "cleared": {f"{kind}?": Whole() for kind in KINDS},
        "chunks": ListOf(Record(_CHUNK), most=MOST_CHUNKS),
        "open": Either(object=_OPEN, **_OR_NULL),
        "read?": MapOf(
            Record({"rows": Whole(), "bytes": Whole()}), name=Text(2**16), least=0, most=2**20
        ),
        "told?": ListOf(Text(2**16), most=2**10),
    }
)


@dataclass(frozen=True, eq=False)
class OpenChunk:
    """Rows of a chunk to which others may come.

    Attributes
    ----------
    summary : Summary
        Of all of them.
    rows : int
        How many came, with a score or without.
    start, end : float or None
        When they begin and end, in seconds.
    labels : dict of int to Summary
        Of those whose label is known, by the column of their class.
    """

    summary: Summary
    rows: int
    start: float | None = None
    end: float | None = None
    labels: Mapping[int, Summary] = field(default_factory=dict)

    def merge(self, other: Self | None) -> Self:
        """Return the chunk with the rows of both."""
        if other is None:
            return self
        ends = [(one.start, one.end) for one in (self, other)]
        known = [(a, b) for a, b in ends if a is not None and b is not None]
        labels = dict(self.labels)
        for column, found in other.labels.items():
            labels[column] = labels[column].merge(found) if column in labels else found
        return type(self)(
            self.summary.merge(other.summary),
            self.rows + other.rows,
            min((start for start, _ in known), default=None),
            max((end for _, end in known), default=None),
            labels,
        )


def part_of(scores: Any, rows: Any) -> Any:
    """Return some rows of scores, which may be a frame."""
    if isinstance(rows, slice) and rows == slice(None):
        return scores
    if hasattr(scores, "iloc"):
        return scores.iloc[rows]
    if hasattr(scores, "columns") or hasattr(scores, "schema"):
        at = np.arange(len(scores))[rows]
        return scores.take(at) if hasattr(scores, "take") else scores[at]
    return np.asarray(scores)[rows]


def span_of(seconds: FloatArray | None, time: Any) -> tuple[float | None, float | None]:
    """Return when rows begin and end; of no rows, the time that was given for them."""
    if seconds is None:
        return None, None
    if not len(seconds):
        if np.ndim(time):
            return None, None
        (at,) = seconds_of(time, 1)
        return float(at), float(at)
    return float(seconds.min()), float(seconds.max())


def write_state(
    path: str | os.PathLike[str], told: dict[str, Any], open_chunk: OpenChunk | None
) -> None:
    """Write what a monitor knows, and the summaries of the chunk that is open, if one is."""
    packed: dict[str, Any] | None = None
    if open_chunk is not None:
        packed = {
            "summary": _packed(open_chunk.summary),
            "start": open_chunk.start,
            "end": open_chunk.end,
            "rows": open_chunk.rows,
        }
        if open_chunk.labels:
            packed["labels"] = {str(k): _packed(one) for k, one in open_chunk.labels.items()}
    content = {"format": _FORMAT, "version": _VERSION, **told, "open": packed}
    write_text(path, json.dumps({**content, "sha256": checksum(content)}, allow_nan=False) + "\n")


def _packed(summary: Summary) -> str:
    return base64.b85encode(zlib.compress(summary.to_bytes(), 6)).decode()


def read_state(path: str | os.PathLike[str]) -> tuple[dict[str, Any], OpenChunk | None]:
    """Return what ``write_state`` wrote.

    Raises
    ------
    ValueError
        If the file is cut, changed, too large, or none of a monitor.
    """
    with open(path, "rb") as file:
        raw = file.read(_LARGEST + 1)
    if len(raw) > _LARGEST or is_nested(raw, _DEEPEST):
        raise ValueError(f"{path} is no state of a monitor: it is too large, too deep or cut.")
    try:
        content = json.loads(raw)
        written = content.pop("sha256") if isinstance(content, dict) else None
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise ValueError("it says of itself that it is something else")
        if written != checksum(content):
            raise ValueError("it was changed after it was written")
        _STATE.read(content, "state", {"classes": len(content.get("classes", ()))})
        return content, _opened(content["open"], len(content["classes"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is no state of a monitor: {error}.") from error


def _opened(packed: dict[str, Any] | None, n_classes: int) -> OpenChunk | None:
    if packed is None:
        return None
    labels = {}
    for column, text in packed.get("labels", {}).items():
        if column not in map(str, range(n_classes)):
            raise ValueError(f"there is no class {column}")
        labels[int(column)] = _unpacked(text)
    summary = _unpacked(packed["summary"])
    return OpenChunk(summary, packed["rows"], packed["start"], packed["end"], labels)


def _unpacked(text: str) -> Summary:
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b85decode(text), _LARGEST_SUMMARY)
        if unpacker.unconsumed_tail or not unpacker.eof:
            raise ValueError("its summary is too large or cut")
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"its summary is damaged: {error}") from error
    return Summary.from_bytes(data)
