"""Named arrays and facts as bytes, and back: nothing in them is ever run.

First what it is and the version; then the length of a JSON object with the facts and the shape of
each array; the object; the arrays, little-endian; a checksum of everything before it.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MAGIC = b"abstain summary"
_VERSION = 1
_HEAD = struct.Struct("<15sBI")
_CHECKSUM = 32
# Facts are a few short lines.
_LONGEST_FACTS = 65_536
_TYPES = {
    "bins": "<i4",
    "sums": "<i8",
    "ends": "<f8",
    "rows": "<f8",
    "weight": "<f8",
    "count": "<i8",
    "edge": "<f8",
    "moments": "<i8",
}
_OF_TWO, _OF_MORE = {"bins", "sums", "ends"}, {"rows", "count", "edge", "moments"}
_WHOLE = ("n_rows", "n_classes", "units", "n_missing", "missing_units")
_FACTS = {*_WHOLE, "maker", "weighted", "lightest"}


def packed(facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """Return facts and arrays as bytes."""
    parts = {
        name: np.ascontiguousarray(array, dtype=_TYPES[name])
        for name, array in sorted(arrays.items())
    }
    shapes = {name: list(array.shape) for name, array in parts.items()}
    told = json.dumps({"facts": facts, "arrays": shapes}, sort_keys=True).encode()
    body: list[Any] = [_HEAD.pack(_MAGIC, _VERSION, len(told)), told]
    body += [array.data.cast("B") for array in parts.values() if array.size]
    checksum = hashlib.sha256()
    for part in body:
        checksum.update(part)
    return b"".join([*body, checksum.digest()])


def unpacked(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the facts and arrays in bytes.

    Raises
    ------
    ValueError
        If they are not what ``packed`` gives.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"`data` must be bytes; got {type(data).__name__}.")
    view = memoryview(data)
    if len(view) < _HEAD.size + _CHECKSUM or view[: len(_MAGIC)] != _MAGIC:
        raise ValueError("The bytes are no summary: they do not begin as one does.")
    _, version, length = _HEAD.unpack_from(view)
    if version != _VERSION:
        raise ValueError(
            f"The bytes are a summary of version {version}; this library reads version "
            f"{_VERSION}. Use the same version of abstain on all machines."
        )
    body, written = view[:-_CHECKSUM], view[-_CHECKSUM:]
    if hashlib.sha256(body).digest() != written:
        raise ValueError("The bytes of the summary are cut or damaged: the checksum differs.")
    try:
        return _read(body, length)
    except (KeyError, TypeError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(f"The bytes are no summary: {error!r}.") from error


def _read(body: memoryview, length: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    start = _HEAD.size + length
    if length > _LONGEST_FACTS or start > len(body):
        raise ValueError("The bytes are no summary: the facts are too long.")
    told = json.loads(bytes(body[_HEAD.size : start]))
    facts, shapes = told["facts"], told["arrays"]
    _check_facts(facts)
    named = _OF_TWO if facts["n_classes"] == 2 else _OF_MORE
    if facts["weighted"] and named is _OF_MORE:
        named = named | {"weight"}
    if {*shapes} != named:
        raise ValueError("The bytes are no summary: other arrays are there than should be.")
    arrays = {}
    for name, shape in shapes.items():
        if not all(type(size) is int and 0 <= size < 2**40 for size in shape):
            raise ValueError(f"The bytes are no summary: {name!r} has no shape.")
        size = int(np.prod(shape, dtype=object))
        kind = np.dtype(_TYPES[name])
        if not 1 <= len(shape) <= 3 or start + size * kind.itemsize > len(body):
            raise ValueError(f"The bytes are no summary: {name!r} is not all there.")
        array = np.frombuffer(body, kind, size, start).reshape(shape)
        arrays[name] = array.astype(kind.newbyteorder("="), copy=False)
        start += size * kind.itemsize
    if start != len(body):
        raise ValueError("The bytes are no summary: there is more than should be.")
    if len(arrays.get("rows", np.empty((0, 0))).shape) != 2:
        raise ValueError("The bytes are no summary: 'rows' is no table.")
    if "rows" in arrays and arrays["rows"].shape[1] != facts["n_classes"]:
        raise ValueError("The bytes are no summary: 'rows' has other classes than it says.")
    return facts, arrays


def _check_facts(facts: dict[str, Any]) -> None:
    if {*facts} != _FACTS or type(facts["weighted"]) is not bool:
        raise ValueError("The bytes are no summary: other facts are there than should be.")
    if not all(type(facts[name]) is int and 0 <= facts[name] < 2**63 for name in _WHOLE):
        raise ValueError("The bytes are no summary: a number is none that rows can have.")
    if facts["n_classes"] < 2 or type(facts["maker"]) is not str:
        raise ValueError("The bytes are no summary: classes or maker are missing.")
    lightest = facts["lightest"]
    if type(lightest) is not float or not lightest > 0:
        raise ValueError("The bytes are no summary: a weight is none that rows can have.")
