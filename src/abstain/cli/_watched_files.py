"""Files of a stream, read into a monitor: each row once, however often the command is given.

What was read before is passed over by name and size; of a file that has grown the new rows are
read. Times are brought to one clock, and labels that come later find their chunk by time or file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from abstain._inputs import IntArray
from abstain.arrow import ahead
from abstain.cli._labels import label_codes
from abstain.cli._predictions import Chunk, PredictionFiles, prediction_files
from abstain.cli._reading import Columns, Reading
from abstain.cli._streaming import Place
from abstain.cli._tables import check_columns, missing_column

if TYPE_CHECKING:
    from abstain.monitoring import Chunk as Watched
    from abstain.monitoring import Monitor

# More late rows in a file than this part of what is read at a time: it is in no order.
_MOST_LATE = 0.5


@dataclass
class WatchedFiles:
    """Reads files into a monitor.

    Attributes
    ----------
    monitor : Monitor
    columns : Columns
        Those of the scores.
    reading : Reading
    time, label : str or None
        The columns with the time and the true label.
    """

    monitor: Monitor
    columns: Columns
    reading: Reading
    time: str | None = None
    label: str | None = None
    # Whether times had a zone; None where none was read yet.
    _zoned: bool | None = field(default=None)

    def add(self, batch: Path) -> Iterator[Watched]:
        """Read what is new in files, and give the chunks that are complete then."""
        for file, files in self._files(batch):
            key, size = os.path.abspath(file), file.stat().st_size
            before = self.monitor.read.get(key, {"rows": 0, "bytes": -1})
            if size == before["bytes"]:
                continue
            if size < before["bytes"]:
                raise ValueError(
                    f"{file} is shorter than when it was read. Rows that were watched cannot be "
                    f"taken back: begin a new state, or give new rows as a file of their own."
                )
            yield from self._rows_of(file, files, key, before["rows"])
            self.monitor.read[key]["bytes"] = size

    def _rows_of(
        self, file: Path, files: PredictionFiles, key: str, start: int
    ) -> Iterator[Watched]:
        monitor, n = self.monitor, start
        for chunk in self._pieces(file, files, start):
            labels = None if self.label is None else self._labels(chunk, file)
            with _placed(file, chunk.begin):
                found = monitor.add(
                    self._scores(chunk, files),
                    self._times(chunk),
                    y_target=labels,
                    missing=self.reading.missing,
                    more=monitor.every is None,
                )
            late = sum(one.rows + one.missing for one in found if one.name.endswith("(late)"))
            if chunk.begin > start and late > _MOST_LATE * len(chunk):
                raise ValueError(
                    f"{file} is not in the order of its column {self.time!r}: most rows from "
                    f"row {chunk.begin:,} on are of times before it. Sort it by that column."
                )
            n += len(chunk)
            # The file is done when its size is noted.
            monitor.read[key] = {"rows": n, "bytes": 0}
            yield from found
        monitor.read.setdefault(key, {"rows": n, "bytes": 0})
        if n > start:
            files.check_scores(n)
        if monitor.every is None and (n > start or not start):
            yield from monitor.add([], name=monitor.free_name(_stem(file)))

    def relabel(self, labelled: Path) -> list[Watched]:
        """Give labels that came later to the chunks they are of; return these."""
        monitor, found = self.monitor, list[Any]()
        if self.label is None:
            raise ValueError("--labelled needs --label: the column with the true label.")
        if isinstance(monitor.every, int) or (monitor.every is not None and self.time is None):
            raise ValueError(
                "--labelled needs chunks by time, and --time to find the chunk of each label; or "
                "chunks that are a file each, and files of the same names."
            )
        parts = []
        for file, files in self._files(labelled):
            own = []
            for chunk in self._pieces(file, files, 0):
                codes = label_codes(chunk.table[self.label], self.label, file, monitor.policy)
                known = codes >= 0
                if chunk.gaps is not None:
                    known &= ~chunk.gaps
                with _placed(file, chunk.begin):
                    times = None if self.time is None else np.asarray(self._times(chunk))[known]
                scores = self._scores(chunk, files).filter(pa.array(known))
                own.append((scores, monitor.policy.classes[codes[known]], times))
            if monitor.every is None and any(len(y) for _, y, _ in own):
                scores, y, _ = _together(own)
                found.append(monitor.label(_stem(file), scores, y))
            parts += own
        if monitor.every is not None and any(len(y) for _, y, _ in parts):
            found += monitor.label_times(*_together(parts))
        return found

    def _files(self, path: Path) -> Iterator[tuple[Path, PredictionFiles]]:
        """Give the files that a path stands for, each with how it is read."""
        rule = self.monitor.policy
        files = prediction_files(path, self.columns, self.reading, rule=rule, stream=path.is_dir())
        for option, name in (("--time", self.time), ("--label", self.label)):
            if name is not None and name not in files.names:
                raise missing_column(files.files[0], name, option, self.reading)
        check_columns(files.files, [*files.scores.columns, *self._others], self.reading)
        for file in files.files:
            yield file, replace(files, files=[file])

    def _pieces(self, file: Path, files: PredictionFiles, start: int) -> Iterator[Chunk]:
        with closing(ahead(files.chunks(file, self._others, start=start))) as chunks:
            for chunk in chunks:
                if len(chunk):
                    files.note_gaps(chunk, file, chunk.begin)
                    yield chunk

    @property
    def _others(self) -> list[str]:
        return [name for name in (self.time, self.label) if name is not None]

    def _scores(self, chunk: Chunk, files: PredictionFiles) -> pa.Table:
        return chunk.scores.select(files.scores.names_for(self.monitor.policy.classes))

    def _labels(self, chunk: Chunk, file: Path) -> NDArray[Any]:
        name = str(self.label)
        codes: IntArray = label_codes(chunk.table[name], name, file, self.monitor.policy)
        labels = self.monitor.policy.classes.astype(object)[codes]
        labels[codes < 0] = None
        return labels

    def _times(self, chunk: Chunk) -> Any:
        """Return the times of rows, as the library takes them."""
        if self.time is None:
            return None
        column = chunk.table[self.time]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            column = _parsed(column)
        if pa.types.is_date(column.type):
            column = column.cast(pa.timestamp("us"))
        if not pa.types.is_timestamp(column.type):
            return np.array(column.to_pylist(), dtype=object)
        zoned = column.type.tz is not None
        if self._zoned not in (None, zoned):
            raise ValueError(
                f"column {self.time!r} has times with a zone here, and times without one before, "
                f"or the other way round. Give all of them a zone, or none."
            )
        self._zoned = zoned
        return column.cast(pa.timestamp("us", column.type.tz)).to_numpy()


def _parsed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts as times where all are ISO times with a zone, or all without; else as is."""
    for zone in (None, "UTC"):
        try:
            return column.cast(pa.timestamp("us", zone))
        except pa.ArrowInvalid:
            continue
    return column


def _together(parts: list[Any]) -> tuple[pa.Table, NDArray[Any], Any]:
    scores, y, times = zip(*parts, strict=True)
    joined = None if times[0] is None else np.concatenate(times)
    return pa.concat_tables(scores), np.concatenate(y), joined


def _stem(file: Path) -> str:
    """Return the name of a file without its endings."""
    return file.name.removesuffix(".gz").rpartition(".")[0] or file.name


@contextmanager
def _placed(file: Path, begin: int) -> Iterator[None]:
    """Say of an error which rows it is about."""
    try:
        yield
    except ValueError as error:
        raise Place(file, begin, True).of(error) from error
