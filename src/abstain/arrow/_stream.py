"""Summarise, apply and decide, chunk by chunk; two passes where a rule is to be chosen.

What was decided about a chunk comes as columns whose types are known before the first row, and
no object is made for a row. A few rows are drawn: those with the lowest hashes of their numbers, a
fair draw that does not depend on how the stream is cut, and the same every time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray, Missing
from abstain._kernels.label_draws import STEP, mixed
from abstain._numerics import rate_bar
from abstain._rowwise import (
    PartSummary,
    PolicyAndFrame,
    ScoreColumns,
    about_no_rows,
    merge_summaries,
)
from abstain._summariser import Summariser
from abstain.arrow._source import Source, ahead, opened, pyarrow
from abstain.decisions import Decisions, free_name
from abstain.policy import Policy, decision_columns

if TYPE_CHECKING:
    from abstain import Abstainer, Summary

# Of so many rows everything that is estimated from rows hardly moves any more.
SIZE = 100_000


class DecisionColumns:
    """The columns that a rule gives to rows.

    Parameters
    ----------
    policy : Policy
        The rule.
    gaps_as_null : bool
        Whether a number that there is none of is null, as files have it, and not NaN.

    Attributes
    ----------
    schema : pyarrow.Schema
        Names and types, in the order of :meth:`abstain.Decisions.to_frame`.
    """

    def __init__(self, policy: Policy, *, gaps_as_null: bool = False) -> None:
        self._nulls = gaps_as_null
        empty = self._by_name(about_no_rows(policy))
        self.schema = pyarrow().schema([(name, array.type) for name, array in empty.items()])

    def of(self, decisions: Decisions) -> list[Any]:
        """Return the columns of some rows, as ``Policy.rows`` decided about them.

        Where rows are withheld as one, their gain is a figure of all rows of a stream together,
        which no chunk can tell: there is none.
        """
        return [*self._by_name(decisions).values()]

    def _by_name(self, decisions: Decisions) -> dict[str, Any]:
        pa, gaps = pyarrow(), decisions.missing is not None
        made = decision_columns(decisions, _by_number, gaps=gaps, of_part=True)
        return {
            name: pa.array(values, from_pandas=self._nulls)
            if isinstance(values, np.ndarray)
            else values
            for name, values in made.items()
        }


def _by_number(values: NDArray[Any], numbers: IntArray, gaps: bool) -> Any:
    """Return a column of few distinct values."""
    pa = pyarrow()
    array = pa.array(values)
    if pa.types.is_primitive(array.type) and not gaps:
        return pa.array(values[numbers], array.type)
    return array.take(pa.array(numbers, mask=numbers < 0 if gaps else None))


class RowSample:
    """The scores of at most ``size`` rows of a stream.

    Attributes
    ----------
    n_rows : int
        How many rows with a score have come.
    """

    def __init__(self, size: int = SIZE) -> None:
        self.n_rows, self._size = 0, size
        self._hashes: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self._numbers: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._rows: NDArray[Any] | None = None
        self._most = np.uint64(2**64 - 1)

    def add(self, rows: NDArray[Any]) -> None:
        """Take what is drawn of the next rows, each with its score or scores."""
        numbers = np.arange(self.n_rows, self.n_rows + len(rows))
        hashes = mixed((numbers.astype(np.uint64) + np.uint64(1)) * STEP)
        self.n_rows += len(rows)
        lucky = np.flatnonzero(hashes <= self._most)
        if not len(lucky):
            return
        self._hashes = np.concatenate([self._hashes, hashes[lucky]])
        self._numbers = np.concatenate([self._numbers, numbers[lucky]])
        drawn = rows[lucky]
        self._rows = drawn if self._rows is None else np.concatenate([self._rows, drawn])
        if len(self._hashes) > self._size:
            kept = np.argpartition(self._hashes, self._size - 1)[: self._size]
            self._hashes, self._numbers = self._hashes[kept], self._numbers[kept]
            self._rows = self._rows[kept]
            self._most = self._hashes.max()

    @property
    def scores(self) -> FloatArray | None:
        """The scores of the rows that were drawn, in the order they came in; None for no row."""
        if self._rows is None:
            return None
        return self._rows[np.argsort(self._numbers)]


def sample_decisions(policy: Policy, scores: Any) -> Decisions:
    """Apply a rule to rows that were drawn from many.

    Nothing is said of how many it withholds: that is counted on all of them.
    """
    return policy.apply(scores, at_most=len(scores)).judged(over_capacity=None)


#: Few enough to take next to no memory, and enough to hide what each chunk costs by itself.
BATCH_ROWS = 1 << 18
# What is checked on rows drawn from a stream needs no more of them.
_CHECKED = 20_000


def summarise(
    source: Any,
    abstainer: Abstainer,
    *,
    scores: str | Sequence[str] | None = None,
    sample_weight: str | None = None,
    missing: Missing = "error",
    batch_rows: int = BATCH_ROWS,
    progress: bool | None = None,
) -> Summary:
    """Summarise a stream, chunk by chunk.

    Parameters
    ----------
    source : Arrow stream
        A PyArrow dataset, scanner, reader, table or iterable of record batches, a Polars
        LazyFrame, a DuckDB relation, another object with ``__arrow_c_stream__``, or a function
        that opens one of these anew.
    abstainer : Abstainer
        Fitted.
    scores : str or sequence of str, optional
        The score column (of two classes that of the positive one), or one for each class; those
        that are named by the classes, with or without ``p_``, when not given.
    sample_weight : str, optional
        The column that says how much each row counts.
    missing : {"error", "refer", "drop"}
        What becomes of a row without a score; see :meth:`abstain.Abstainer.decide`.
    batch_rows : int
        About how many rows are in memory at a time.
    progress : bool, optional
        Whether to show rows per second on stderr; when not given, on a terminal and after two
        seconds.

    Returns
    -------
    Summary
        For :meth:`abstain.Abstainer.decide_summary`; it does not depend on how the stream is cut.
    """
    stream = _Stream(opened(source), missing, batch_rows, progress)
    return stream.summary(stream.part(abstainer.summariser(), scores, sample_weight))[0]


def apply(
    source: Any,
    policy: Policy,
    *,
    scores: str | Sequence[str] | None = None,
    missing: Missing = "error",
    batch_rows: int = BATCH_ROWS,
    progress: bool | None = None,
) -> Any:
    """Decide about the rows of a stream by a rule, as they come.

    Parameters
    ----------
    source, scores, missing, batch_rows, progress
        As for :func:`summarise`.
    policy : Policy
        The rule.

    Returns
    -------
    pyarrow.RecordBatchReader
        The columns of the source that are no scores, then those of
        :meth:`abstain.Decisions.to_frame`. Nothing is read before the reader is. Where rows are
        withheld as one their ``gain`` is NaN: it is a figure of all rows together.

    Warns
    -----
    AssumptionWarning
        At the end of the stream, as :meth:`abstain.Policy.apply` does of a batch; what is checked
        on rows is checked on 20,000 of them, drawn at random.
    """
    stream = _Stream(opened(source), missing, batch_rows, progress)
    return stream.decided(ScoreColumns.of(stream.empty, policy, scores), policy)


def decide(
    source: Any,
    abstainer: Abstainer,
    *,
    scores: str | Sequence[str] | None = None,
    sample_weight: str | None = None,
    missing: Missing = "error",
    batch_rows: int = BATCH_ROWS,
    progress: bool | None = None,
) -> PolicyAndFrame:
    """Choose a rule for a stream and decide about its rows: two passes over it.

    Parameters
    ----------
    source, abstainer, scores, sample_weight, missing, batch_rows, progress
        As for :func:`summarise`; the source must be one that can be read twice.

    Returns
    -------
    PolicyAndFrame
        ``policy``, with its estimate, and ``frame``, a ``pyarrow.RecordBatchReader`` as
        :func:`apply` returns it, which reads the source a second time.

    Raises
    ------
    ValueError
        If the source can be read only once, or gives other rows the second time.
    """
    how = abstainer.summariser()
    stream = _Stream(opened(source), missing, batch_rows, progress)
    if stream.source.once:
        raise ValueError(
            "`source` can be read only once, and deciding takes two passes: one to choose the "
            "rule, one to decide by it. Pass a dataset, a table or a list of batches, or a "
            "function that opens the stream again."
        )
    part = stream.part(how, scores, sample_weight)
    summary, n_rows = stream.summary(part)
    policy = abstainer.decide_summary(summary)
    return PolicyAndFrame(policy, stream.decided(part.scores, policy, expected=n_rows))


@dataclass(frozen=True)
class _Stream:
    """A source, and how it is read."""

    source: Source
    missing: Missing
    batch_rows: int
    progress: bool | None

    @property
    def empty(self) -> Any:
        """The columns, without any row."""
        names = [str(name) for name in self.source.schema.names]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"`source` has more than one column called {twice[0]!r}.")
        return self.source.schema.empty_table()

    def part(
        self, how: Summariser, scores: str | Sequence[str] | None, sample_weight: str | None
    ) -> PartSummary:
        """Return how each chunk is summarised."""
        return PartSummary.of(self.empty, how, scores, sample_weight, self.missing)

    def chunks(self, columns: list[str] | None) -> Iterator[Any]:
        """Yield the batches that have rows; those to come are read meanwhile."""
        batches = ahead(self.source.batches(columns, self.batch_rows))
        return (batch for batch in batches if batch.num_rows)

    def summary(self, part: PartSummary) -> tuple[Summary, int]:
        """Return the summary of all rows, and how many they are."""
        summary, n_rows = None, 0
        with rate_bar("summarising", show=self.progress) as advance:
            for batch in self.chunks(part.columns):
                with _numbered(n_rows):
                    found = part.summary(pyarrow().Table.from_batches([batch]))
                summary = merge_summaries([summary, found])
                n_rows += batch.num_rows
                advance(batch.num_rows)
        if summary is None:
            raise ValueError("`source` has no rows that count.")
        return summary, n_rows

    def decided(
        self, columns: ScoreColumns, policy: Policy, *, expected: int | None = None
    ) -> Any:
        """Return a reader of the rows with what is decided about them.

        How many there should be is known where they were summarised, and checked then; else they
        are new to the rule, and checked as ``Policy.apply`` checks a batch.
        """
        pa, given = pyarrow(), self.source.schema
        made, others = DecisionColumns(policy), [*columns.others(given.empty_table())]
        ours = [field.with_name(free_name(field.name, tuple(others))) for field in made.schema]
        schema = pa.schema([*(given.field(name) for name in others), *ours])

        def batches() -> Iterator[Any]:
            n_rows = withheld = 0
            sample = RowSample(_CHECKED)
            with rate_bar("deciding", show=self.progress) as advance:
                for batch in self.chunks(None):
                    scores = columns.values(pa.Table.from_batches([batch]))
                    with _numbered(n_rows):
                        found = policy.rows(scores, missing=self.missing)
                    n_rows += batch.num_rows
                    withheld += int(found.abstain.sum())
                    if expected is None:
                        sample.add(_with_score(scores))
                    carried = batch.select(others)
                    if found.rows is not None:
                        carried = carried.take(pa.array(found.rows))
                    yield pa.RecordBatch.from_arrays(
                        [*carried.columns, *made.of(found)], schema=schema
                    )
                    advance(batch.num_rows)
            if expected is None:
                _check_as_a_whole(policy, columns, sample, withheld, n_rows)
            elif n_rows != expected:
                raise ValueError(
                    f"`source` gave {expected} rows when the rule was chosen and {n_rows} when it "
                    f"was applied; it must give the same ones both times."
                )

        return pa.RecordBatchReader.from_batches(schema, batches())


def _check_as_a_whole(
    policy: Policy, columns: ScoreColumns, sample: RowSample, withheld: int, n_rows: int
) -> None:
    """Warn of what ``Policy.apply`` warns of, once for all rows."""
    drawn = sample.scores
    if drawn is not None:
        table = pyarrow().table(dict(zip(columns.names, drawn.T, strict=True)))
        sample_decisions(policy, drawn if columns.by_place else table)
    if n_rows:
        policy.warn_of_more(withheld, n_rows)


@contextmanager
def _numbered(begin: int) -> Iterator[None]:
    """Say in an error about rows that the library counts those of a chunk."""
    try:
        yield
    except ValueError as error:
        if not begin:
            raise
        raise ValueError(
            f"{error} (In a part of the stream: its row 0 is row {begin} of the stream.)"
        ) from error


def _with_score(scores: Any) -> Any:
    """Return the rows of which every score is there, as an array with a column per score."""
    if not isinstance(scores, np.ndarray):
        scores = np.column_stack([column.to_numpy() for column in scores.columns])
    if scores.dtype.kind != "f":
        return scores
    gaps = np.isnan(scores).any(axis=1)
    return scores[~gaps] if gaps.any() else scores
