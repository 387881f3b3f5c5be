"""Files that hold more than their size: compressed text, and workbooks, which are archives.

A few kilobytes can unpack to more than a machine has. What is far beyond any table is refused
before it is unpacked, or when it turns out to be.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa

from abstain._files import checksums, version_of

#: A file may unpack to this much whatever its size, ...
_ENOUGH = 1 << 28
#: ... and to this many times its size; tables seldom reach 30.
_MOST_TIMES = 200
#: The parts of a workbook, of which usual ones have a dozen.
_MOST_PARTS = 10_000
_CHUNK = 1 << 20
# Files of more bytes are streamed. How the names end of what is unpacked as it is read.
_SUMMED = 10_000_000
_PACKED = (".br", ".bz2", ".gz", ".lz4", ".zst")
# How a document says that it brings its own rules, in the encodings that XML is written in.
_RULES = tuple("<!DOCTYPE".encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be"))


@contextmanager
def unpacked(path: Path) -> Iterator[Counted]:
    """Open a file for reading bytes, unpacked where its ending says that it is packed.

    Raises
    ------
    ValueError
        If it cannot be unpacked, or has far more in it than a table has.
    """
    with pa.input_stream(str(path), compression="detect") as stream:
        yield Counted(path, stream)


class Counted(io.BufferedIOBase):
    """What comes out of a file, counted, as long as it is not out of all proportion to its size.

    Attributes
    ----------
    lines, quotes : int
        How many ends of lines and signs of quotation have come.
    """

    def __init__(self, path: Path, stream: Any) -> None:
        self.lines = self.quotes = self._count = 0
        self._path, self._stream = path, stream
        self._version = version_of(path)
        self._size = path.stat().st_size
        self._most = max(_ENOUGH, _MOST_TIMES * self._size)
        # Of what is neither packed nor large, for who asks for its checksum.
        summed = self._size <= _SUMMED and path.suffix.lower() not in _PACKED
        self._sum = sha256() if summed else None

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Return so many bytes, or all that are left."""
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(_CHUNK), b""))
        try:
            part: bytes = self._stream.read(size)
        except (OSError, pa.ArrowException) as error:
            raise ValueError(f"{self._path} cannot be read: {error}") from error
        self._count += len(part)
        if self._count > self._most:
            raise ValueError(
                f"{self._path} unpacks to more than {_MOST_TIMES} times its size, which no table "
                f"does. If it is one, unpack it first."
            )
        if self._sum is not None:
            self._sum.update(part)
            if self._count == self._size:
                checksums[self._version] = self._sum.hexdigest()
        self.lines += part.count(b"\n")
        self.quotes += part.count(b'"')
        return part

    def read1(self, size: int = -1, /) -> bytes:
        """Return bytes that are at hand."""
        return self.read(_CHUNK if size < 0 else size)


def check_archive(path: Path) -> None:
    """Refuse a workbook that is none, holds far more than a table, or brings rules of its own.

    Excel writes no document type; with one, a few lines can stand for gigabytes of text, or for
    another file.
    """
    from zipfile import BadZipFile, ZipFile
    from zlib import error as BadStream  # noqa: N812 - an exception, called so there

    try:
        with ZipFile(path) as archive:
            parts = archive.infolist()
            total = sum(part.file_size for part in parts)
            most = max(_ENOUGH, _MOST_TIMES * path.stat().st_size)
            if total > most or len(parts) > _MOST_PARTS:
                raise ValueError(
                    f"{path} unpacks to {total:,} bytes in {len(parts):,} parts, which no "
                    f"workbook of its size does. If Excel can open it, save it anew, or as CSV."
                )
            for part in parts:
                if part.filename.lower().endswith((".xml", ".rels", ".vml")):
                    _check_part(path, archive, part)
    except (BadZipFile, BadStream, EOFError, NotImplementedError, RuntimeError) as error:
        what = "it is encrypted" if "encrypted" in str(error) else str(error)
        raise ValueError(
            f"{path} cannot be read as a workbook: {what}. If Excel can open it, save it anew, or "
            f"as CSV."
        ) from error


def _check_part(path: Path, archive: Any, part: Any) -> None:
    last = b""
    with archive.open(part) as stream:
        while chunk := stream.read(_CHUNK):
            last = last[-32:] + chunk
            if any(mark in last for mark in _RULES):
                raise ValueError(
                    f"{path} has a document type in {part.filename!r}, which no workbook has; it "
                    f"is not read. If Excel can open it, save it anew, or as CSV."
                )
