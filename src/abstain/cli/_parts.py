"""Writing decisions about a stream: parts of so many rows in a folder, or one file.

A part stands under a hidden name until it is whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pyarrow as pa

from abstain.arrow import DecisionColumns, ahead
from abstain.cli._predictions import Chunk, PredictionFiles
from abstain.cli._queue import QueueEnd, places
from abstain.cli._writing import column_layout
from abstain.policy import Policy

#: A few seconds of work: what is lost when a run is killed.
PART_ROWS = 1 << 22


@dataclass(frozen=True)
class Part:
    """Rows of one file that are written together.

    Attributes
    ----------
    name : str
        The name of the part in its folder.
    file : Path
        Where the rows come from.
    begin, end : int
        The first row, and the one behind the last, in that file.
    number : int
        The number of the first row among those of all files.
    """

    name: str
    file: Path
    begin: int
    end: int
    number: int

    def __len__(self) -> int:
        return self.end - self.begin


def parts_of(files: Iterable[Path], counts: Iterable[int], *, whole: bool = False) -> list[Part]:
    """Return the parts of files of so many rows; a file without rows is a part without rows.

    ``whole``: a part for each file, however large.
    """
    parts: list[Part] = []
    number = 0
    for file, count in zip(files, counts, strict=True):
        most = max(count, 1) if whole else PART_ROWS
        for begin in range(0, max(count, 1), most):
            end = min(begin + most, count)
            name = f"part-{len(parts):05d}.parquet"
            parts.append(Part(name, file, begin, end, number + begin))
        number += count
    return parts


def part_chunks(
    files: PredictionFiles, parts: list[Part]
) -> Iterator[tuple[Part, Iterator[Chunk]]]:
    """Yield parts of one file with their chunks, in order, reading the file once.

    Raises
    ------
    ValueError
        If the file does not have as many rows as it had.
    """
    first, last = parts[0], parts[-1]
    asked = [name for name in (files.columns.identifier, *files.others) if name is not None]
    chunks = ahead(files.chunks(first.file, asked, start=first.begin))

    def pieces() -> Iterator[tuple[Part, Chunk | None]]:
        waiting, at = list(parts), first.begin
        for chunk in chunks:
            if at + len(chunk) > last.end:
                raise _changed(last.file)
            for part in waiting:
                low, high = max(part.begin, at), min(part.end, at + len(chunk))
                if low < high:
                    yield part, chunk.slice(low - at, high - low)
            at += len(chunk)
            waiting = [part for part in waiting if part.end > at]
        if at != last.end:
            raise _changed(last.file)
        if not len(last):
            yield last, None

    with closing(chunks):
        for part, found in groupby(pieces(), key=lambda piece: piece[0]):
            yield part, (chunk for _, chunk in found if chunk is not None)


def _changed(file: Path) -> ValueError:
    return ValueError(
        f"{file} has another number of rows than when it was read first; it must not change while "
        f"it is decided about."
    )


class Tables:
    """Chunks as they are written: the row's name, the other columns, what was decided.

    Parameters
    ----------
    files : PredictionFiles
        Where they come from.
    policy : Policy
        The rule.
    end : QueueEnd, optional
        Where people's capacity is used up.

    Attributes
    ----------
    schema : pyarrow.Schema
        Of what is written.
    renamed : dict
        Which of our columns had to be called something else.
    """

    def __init__(
        self, files: PredictionFiles, policy: Policy, end: QueueEnd | None = None
    ) -> None:
        self._files, self._policy, self._end = files, policy, end
        self._identifier = files.columns.identifier
        self._scores = files.scores.names_for(policy.classes)
        self._made = DecisionColumns(policy, gaps_as_null=True)
        self._theirs = files.schema()
        self._sha = policy.sha256[:12]
        ours = self._made.schema
        names, self.renamed = column_layout(self._identifier, files.others, ours.names)
        kind = pa.int64()
        if self._identifier is not None:
            kind = self._theirs.field(self._identifier).type
        theirs = [self._theirs.field(name).type for name in files.others]
        kinds = [kind, *theirs, *ours.types, pa.string()]
        self.schema = pa.schema([*zip(names, kinds, strict=True)])

    def of(self, chunk: Chunk, number: int) -> tuple[pa.Table, int]:
        """Return the rows of a chunk with what was decided, and how many are withheld."""
        found = self._policy.rows(
            chunk.scores.select(self._scores),
            missing="error" if chunk.gaps is None else self._files.reading.missing,
        )
        table, numbers = chunk.table.cast(self._theirs), number + places(found)
        if found.rows is not None:
            table = table.take(pa.array(found.rows))
        if self._end is not None:
            found = self._end.cut(found, numbers)
        if self._identifier is None:
            names = pa.array(numbers)
        else:
            names = table.column(self._identifier)
            if pa.types.is_string(names.type):
                names = names.fill_null("")
        others = [table.column(name) for name in self._files.others]
        ours = self._made.of(found)
        sha = pa.repeat(self._sha, len(found))
        made = pa.table([names, *others, *ours, sha], schema=self.schema)
        return made, int(found.abstain.sum())
