"""Rows in Spark: summarised where they are, decided about where they are.

Each partition becomes a summary, summaries are merged by the executors in a tree, and the last
one alone comes to the driver. DataFrames and Arrow batches only: Spark Connect has no RDDs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from numpy.typing import NDArray

from abstain._inputs import IntArray, Missing
from abstain._rowwise import (
    PartSummary,
    PolicyAndFrame,
    RowRule,
    ScoreColumns,
    check_any_rows,
    check_missing,
    merge_summaries,
)
from abstain.abstainer import Abstainer
from abstain.exceptions import extra
from abstain.policy import Policy
from abstain.summaries import Summary

__all__ = ["apply", "decide", "summarise"]

# From one level of the tree to the next so many times fewer tasks merge summaries, and at first at
# most the square of that.
FAN_IN = 8
# Spark hands over batches of 10,000 rows. More at once are summed and decided about far quicker.
ROWS_SUMMED = 2**20
ROWS_DECIDED = 2**17
_SUMMARY = "summary binary"


def decide(
    frame: Any,
    abstainer: Abstainer,
    *,
    scores: str | Sequence[str] | None = None,
    sample_weight: str | None = None,
    missing: Missing = "error",
) -> PolicyAndFrame:
    """Choose a rule for all rows of a Spark DataFrame, and apply it to them.

    The rows are read twice: now, to choose; and when the frame that comes back is. Where the
    frame is dear to make, ``cache()`` it before.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Scores, and other columns beside them.
    abstainer : Abstainer
        A fitted one.
    scores : str or sequence of str, optional
        The names of the score columns. When not given, they are those named by the classes, with
        or without ``p_``. Several names that are not those of the classes are taken in their
        order, as the columns of an array are.
    sample_weight : str, optional
        The name of the column that says how much each row counts.
    missing : {"error", "refer", "drop"}
        What to do with a row without a score; as in :meth:`abstain.Abstainer.decide`.

    Returns
    -------
    PolicyAndFrame
        ``policy``, and ``frame``: not computed yet, see :func:`apply`.

    Notes
    -----
    The executors need this package too, in the same version. How far it is, Spark's own page
    shows.
    """
    part = PartSummary.of(_empty(frame), abstainer.summariser(), scores, sample_weight, missing)
    policy = abstainer.decide_summary(_whole_summary(frame, part))
    return PolicyAndFrame(policy, _applied(frame, policy, part.scores, missing))


def summarise(
    frame: Any,
    abstainer: Abstainer,
    *,
    scores: str | Sequence[str] | None = None,
    sample_weight: str | None = None,
    missing: Missing = "error",
) -> Summary:
    """Return the summary of all rows of a Spark DataFrame.

    Parameters
    ----------
    frame, abstainer, scores, sample_weight, missing
        As of :func:`decide`.

    Returns
    -------
    Summary
        The same, to the last bit, however the rows are cut into partitions.
    """
    part = PartSummary.of(_empty(frame), abstainer.summariser(), scores, sample_weight, missing)
    return _whole_summary(frame, part)


def apply(
    frame: Any,
    policy: Policy,
    *,
    scores: str | Sequence[str] | None = None,
    missing: Missing = "error",
) -> Any:
    """Decide about the rows of a Spark DataFrame by a rule that is there.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Scores, and other columns beside them.
    policy : Policy
        The rule.
    scores, missing
        As of :func:`decide`.

    Returns
    -------
    pyspark.sql.DataFrame
        Not computed yet. The columns that are no scores come first, then those of
        :meth:`abstain.Decisions.to_frame`. Where rows are withheld as one their ``gain`` is NaN:
        it is a figure of all rows together.
    """
    empty = _empty(frame)
    check_missing(missing)
    return _applied(frame, policy, ScoreColumns.of(empty, policy, scores), missing)


def _whole_summary(frame: Any, part: PartSummary) -> Summary:
    needed = [f"c{frame.columns.index(name)}" for name in part.columns]
    tree = _numbered(frame).select(*needed).mapInArrow(partial(_summary, part=part), _SUMMARY)
    for width in _widths(frame):
        tree = tree.repartition(width).mapInArrow(_merge_batches, _SUMMARY)
    return check_any_rows(
        merge_summaries(Summary.from_bytes(bytes(row[0])) for row in tree.collect())
    )


def _widths(frame: Any) -> list[int]:
    """Return in how many places summaries are merged, level by level, down to one.

    How many partitions there are cannot be asked without running what leads up to them. So there
    are at first as many places as keep all cores busy.
    """
    try:
        most = 2 * int(frame.sparkSession.sparkContext.defaultParallelism)
    except (AttributeError, NotImplementedError):  # Spark Connect has no context to ask
        most = FAN_IN
    widths = [min(most, FAN_IN**2)]
    while widths[-1] > FAN_IN:
        widths.append(-(-widths[-1] // FAN_IN))
    return [*widths, 1]


def _summary(batches: Iterator[Any], *, part: PartSummary) -> Iterator[Any]:
    """Yield the summary of one partition; nothing where no row of it counts."""
    return _as_batch(
        merge_summaries(map(part.summary, _gathered(batches, part.columns, ROWS_SUMMED)))
    )


def _merge_batches(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield some summaries merged; nothing where there are none."""
    rows = (data.as_py() for batch in batches for data in batch.column(0))
    return _as_batch(merge_summaries(map(Summary.from_bytes, rows)))


def _as_batch(summary: Summary | None) -> Iterator[Any]:
    import pyarrow as pa

    if summary is not None:
        data = pa.array([summary.to_bytes()], type=pa.binary())
        yield pa.RecordBatch.from_arrays([data], names=["summary"])


def _applied(frame: Any, policy: Policy, columns: ScoreColumns, missing: Missing) -> Any:
    types = _package()
    rule = RowRule.of(policy, columns, missing)
    kinds = {
        "bool": types.BooleanType(),
        "int64": types.LongType(),
        "double": types.DoubleType(),
        "string": types.StringType(),
    }
    carried, made = columns.others(frame), rule.frame(_empty(frame), _by_number).schema
    come = [frame.schema[name].dataType for name in carried]
    come += [kinds[str(kind)] for kind in made.types[len(carried) :]]
    fields = [types.StructField(f"c{at}", kind) for at, kind in enumerate(come)]
    decided = _numbered(frame).mapInArrow(
        partial(_rows, names=frame.columns, rule=rule), types.StructType(fields)
    )
    return decided.toDF(*made.names)


def _rows(batches: Iterator[Any], *, names: list[str], rule: RowRule) -> Iterator[Any]:
    """Yield the rows of one partition with what is decided about them, columns numbered."""
    for part in _gathered(batches, names, ROWS_DECIDED):
        made = rule.frame(part, _by_number).combine_chunks()
        yield from made.rename_columns([f"c{at}" for at in range(made.num_columns)]).to_batches()


def _by_number(values: NDArray[Any], numbers: IntArray, gaps: bool) -> Any:
    """Return a column of few distinct values."""
    import pyarrow as pa

    return pa.array(values.tolist()).take(pa.array(numbers, mask=numbers < 0 if gaps else None))


def _gathered(batches: Iterator[Any], names: list[str], n_rows: int) -> Iterator[Any]:
    """Yield the batches of a partition as tables of about so many rows, with their names."""
    import pyarrow as pa

    waiting, count = [], 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        if count >= n_rows:
            yield pa.Table.from_batches(waiting).rename_columns(names)
            waiting, count = [], 0
    if count:
        yield pa.Table.from_batches(waiting).rename_columns(names)


def _empty(frame: Any) -> Any:
    """Return the columns of a frame as a table without rows; names are all that is read of it."""
    _package()
    if not hasattr(frame, "mapInArrow"):
        raise TypeError(
            f"`frame` must be a Spark DataFrame; got {type(frame).__name__}. Make one with "
            f"spark.createDataFrame(frame), or call the Abstainer itself for rows that fit in "
            f"memory."
        )
    import pyarrow as pa

    nothing = pa.array([], pa.float64())
    return pa.Table.from_arrays([nothing] * len(frame.columns), names=frame.columns)


def _numbered(frame: Any) -> Any:
    """Return a frame with its columns numbered: not every name of a column can be named again."""
    return frame.toDF(*(f"c{at}" for at in range(len(frame.columns))))


def _package() -> Any:
    with extra("spark", "Rows in Spark need pyspark and pyarrow"):
        import pyarrow  # noqa: F401
        from pyspark.sql import types
    return types
