"""Summarise, apply and decide, chunk by chunk; two passes where a rule is to be chosen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from abstain._inputs import Missing
from abstain._numerics import rate_bar
from abstain._rowwise import PolicyAndFrame, ScoreColumns, check_column
from abstain._summariser import Summariser
from abstain.arrow._rows import DecisionColumns, RowSample, sample_decisions
from abstain.arrow._source import Source, ahead, opened, pyarrow
from abstain.decisions import free_name

if TYPE_CHECKING:
    from abstain import Abstainer, Policy, Summary

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
    rows = _Rows(opened(source), abstainer.summariser(), scores)
    return _summarised(rows, abstainer, sample_weight, missing, batch_rows, progress)[0]


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
    rows = _Rows(opened(source), policy, scores)
    return _applied(rows, policy, missing, batch_rows, progress, check=True)


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
    how, given = abstainer.summariser(), opened(source)
    if given.once:
        raise ValueError(
            "`source` can be read only once, and deciding takes two passes: one to choose the "
            "rule, one to decide by it. Pass a dataset, a table or a list of batches, or a "
            "function that opens the stream again."
        )
    rows = _Rows(given, how, scores)
    summary, n_rows = _summarised(rows, abstainer, sample_weight, missing, batch_rows, progress)
    policy = abstainer.decide_summary(summary)
    frame = _applied(rows, policy, missing, batch_rows, progress, check=False, expected=n_rows)
    return PolicyAndFrame(policy, frame)


class _Rows:
    """A source, and which of its columns are scores."""

    def __init__(
        self, source: Source, reader: Summariser | Policy, scores: str | Sequence[str] | None
    ) -> None:
        self.source = source
        names = [str(name) for name in source.schema.names]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"`source` has more than one column called {twice[0]!r}.")
        empty = source.schema.empty_table()
        self.columns = ScoreColumns.of(empty, reader, scores)
        self.scores, self.others = [*self.columns.names], [*self.columns.others(empty)]

    def of(self, batch: Any) -> Any:
        """Return the scores of a batch, for the library."""
        return self.columns.values(pyarrow().Table.from_batches([batch]))


def _summarised(
    rows: _Rows,
    abstainer: Abstainer,
    sample_weight: str | None,
    missing: Missing,
    batch_rows: int,
    progress: bool | None,
) -> tuple[Summary, int]:
    columns = [*rows.scores]
    if sample_weight is not None:
        check_column(sample_weight, rows.source.schema.empty_table(), "sample_weight")
        columns.append(sample_weight)
    summary, n_rows = None, 0
    with rate_bar("summarising", show=progress) as advance:
        for batch in _nonempty(ahead(rows.source.batches(columns, batch_rows))):
            weight = None if sample_weight is None else batch.column(sample_weight).to_numpy(False)
            with _numbered(n_rows):
                part = abstainer.summarise(rows.of(batch), weight, missing=missing)
            summary = part if summary is None else summary.merge(part)
            n_rows += batch.num_rows
            advance(batch.num_rows)
    if summary is None:
        raise ValueError("`source` has no rows.")
    return summary, n_rows


def _applied(
    rows: _Rows,
    policy: Policy,
    missing: Missing,
    batch_rows: int,
    progress: bool | None,
    *,
    check: bool,
    expected: int | None = None,
) -> Any:
    pa = pyarrow()
    made, others = DecisionColumns(policy), rows.others
    theirs = [rows.source.schema.field(name) for name in others]
    ours = [field.with_name(free_name(field.name, tuple(others))) for field in made.schema]
    schema = pa.schema([*theirs, *ours])

    def batches() -> Iterator[Any]:
        n_rows = withheld = 0
        sample = RowSample(_CHECKED)
        with rate_bar("deciding", show=progress) as advance:
            for batch in _nonempty(ahead(rows.source.batches(None, batch_rows))):
                scores = rows.of(batch)
                with _numbered(n_rows):
                    found = policy.rows(scores, missing=missing)
                n_rows += batch.num_rows
                withheld += int(found.abstain.sum())
                if check:
                    sample.add(_with_score(scores))
                carried = batch.select(others)
                if found.rows is not None:
                    carried = carried.take(pa.array(found.rows))
                yield pa.RecordBatch.from_arrays(
                    [*carried.columns, *made.of(found)], schema=schema
                )
                advance(batch.num_rows)
        if expected is not None and n_rows != expected:
            raise ValueError(
                f"`source` gave {expected} rows when the rule was chosen and {n_rows} when it was "
                f"applied; it must give the same ones both times."
            )
        if check:
            _check_as_a_whole(policy, rows, sample, withheld, n_rows)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _check_as_a_whole(
    policy: Policy, rows: _Rows, sample: RowSample, withheld: int, n_rows: int
) -> None:
    """Warn of what ``Policy.apply`` warns of, once for all rows."""
    drawn = sample.scores
    if drawn is not None:
        names = rows.scores
        table = pyarrow().table(dict(zip(names, drawn.T, strict=True)))
        sample_decisions(policy, drawn if rows.columns.by_place else table)
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


def _nonempty(batches: Iterable[Any]) -> Iterator[Any]:
    return (batch for batch in batches if batch.num_rows)


def _with_score(scores: Any) -> Any:
    """Return the rows of which every score is there, as an array with a column per score."""
    if not isinstance(scores, np.ndarray):
        scores = np.column_stack([column.to_numpy() for column in scores.columns])
    if scores.dtype.kind != "f":
        return scores
    gaps = np.isnan(scores).any(axis=1)
    return scores[~gaps] if gaps.any() else scores
