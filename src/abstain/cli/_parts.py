"""Writing decisions about a stream: parts of so many rows in a folder, or one file.

A part stands under a hidden name until it is whole. And the queue of the most pressing rows, no
more than people can look at: a row's place in it is known when all rows were seen. No more of them
is kept meanwhile than the queue is long; what a second pass goes by is where it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from abstain._inputs import FloatArray, IntArray, Mask
from abstain.arrow import DecisionColumns, ahead
from abstain.cli._predictions import Chunk, PredictionFiles
from abstain.cli._writing import column_layout
from abstain.decisions import Decisions
from abstain.policy import Policy, warn_of_unscored

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


class QueueEnd(NamedTuple):
    """The last row of a queue.

    Attributes
    ----------
    pressing : float
        How pressing it is.
    number : int
        Its number among all rows; of rows that are as pressing those behind it are let through.
    """

    pressing: float
    number: int

    def cut(self, decisions: Decisions, numbers: IntArray) -> Decisions:
        """Return decisions about rows of these numbers, with those alone withheld that it has."""
        outcome = decisions.outcome
        pressing, numbers = outcome.priority, numbers[decisions.scored_at]
        behind = (pressing == self.pressing) & (numbers > self.number)
        over = outcome.abstain & (behind | (pressing < self.pressing))
        return replace(decisions, outcome=outcome.let_through(over, self.pressing))


class Queue:
    """The rows of a stream that are withheld, of which no more than so many are.

    Parameters
    ----------
    at_most : int or None
        How many; None for all.

    Attributes
    ----------
    n_withheld, n_unscored : int
        How many rows the rule withholds, those without a score among them, and how many are these.
    """

    def __init__(self, at_most: int | None) -> None:
        self.at_most, self.n_withheld, self.n_unscored = at_most, 0, 0
        self._pressing: FloatArray = np.empty(0)
        self._numbers: IntArray = np.empty(0, dtype=np.int64)

    def add(self, decisions: Decisions, begin: int) -> None:
        """Take the rows of a chunk, of which the first has this number."""
        rows = np.flatnonzero(decisions.abstain)
        unscored: Mask | None = decisions.missing
        self.n_withheld += len(rows)
        self.n_unscored += 0 if unscored is None else int(unscored.sum())
        if self.at_most is None:
            return
        self._pressing = np.concatenate([self._pressing, decisions.priority[rows]])
        self._numbers = np.concatenate([self._numbers, begin + places(decisions)[rows]])
        if len(self._numbers) > 2 * self.at_most:
            self._shorten(self.at_most)

    def _shorten(self, most: int) -> None:
        first = np.lexsort((self._numbers, -self._pressing))[:most]
        self._pressing, self._numbers = self._pressing[first], self._numbers[first]

    @property
    def end(self) -> QueueEnd | None:
        """Where the queue ends, once all rows were seen; None where it may be of any length."""
        if self.at_most is None:
            return None
        self._shorten(self.at_most)
        if not self.at_most:
            return QueueEnd(np.inf, -1)
        if self.n_withheld <= self.at_most:
            return QueueEnd(-np.inf, -1)
        return QueueEnd(float(self._pressing[-1]), int(self._numbers[-1]))

    def check(self, policy: Policy, n_rows: int) -> int:
        """Warn of what ``Policy.apply`` warns of; return how many rows go to a person."""
        if self.at_most is None:
            policy.warn_of_more(self.n_withheld, n_rows)
            return self.n_withheld
        warn_of_unscored(self.n_unscored, n_rows, self.at_most)
        return min(self.n_withheld, max(self.at_most, self.n_unscored))


def places(decisions: Decisions) -> IntArray:
    """Return where the rows stood before some were dropped."""
    return np.arange(len(decisions)) if decisions.rows is None else decisions.rows
