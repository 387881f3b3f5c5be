"""Rows in Dask: summarised where they are, decided about where they are.

Each partition becomes a summary, summaries are merged by the workers in a tree, and the last one
alone comes back. What goes out is what summarising needs, and then the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import ClassOrder, IntArray, Missing
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

# So many summaries are merged at once. Each is held in memory while it waits for the others.
FAN_IN = 8


def decide(
    frame: Any,
    abstainer: Abstainer,
    *,
    scores: str | Sequence[str] | None = None,
    sample_weight: str | None = None,
    missing: Missing = "error",
) -> PolicyAndFrame:
    """Choose a rule for all rows of a Dask DataFrame, and apply it to them.

    The rows are read twice: now, to choose; and when the frame that comes back is computed.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame or dask.array.Array
        Scores, and other columns beside them. An array has shape (n,) or (n, n_classes).
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
    It runs on whatever scheduler Dask runs on. Of a ``distributed.Client`` its own dashboard
    shows how far it is; of other schedulers, ``dask.diagnostics.ProgressBar``.
    """
    how = abstainer.summariser()
    given = _frame(frame, how.order)
    part = PartSummary.of(given._meta, how, scores, sample_weight, missing)
    policy = abstainer.decide_summary(_whole_summary(given, part))
    return PolicyAndFrame(policy, _applied(given, policy, part.scores, missing))


def summarise(
    frame: Any,
    abstainer: Abstainer,
    *,
    scores: str | Sequence[str] | None = None,
    sample_weight: str | None = None,
    missing: Missing = "error",
) -> Summary:
    """Return the summary of all rows of a Dask DataFrame or array.

    Parameters
    ----------
    frame, abstainer, scores, sample_weight, missing
        As of :func:`decide`.

    Returns
    -------
    Summary
        The same, to the last bit, however the rows are cut into partitions.
    """
    how = abstainer.summariser()
    given = _frame(frame, how.order)
    return _whole_summary(given, PartSummary.of(given._meta, how, scores, sample_weight, missing))


def apply(
    frame: Any,
    policy: Policy,
    *,
    scores: str | Sequence[str] | None = None,
    missing: Missing = "error",
) -> Any:
    """Decide about the rows of a Dask DataFrame by a rule that is there.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame or dask.array.Array
        Scores, and other columns beside them.
    policy : Policy
        The rule.
    scores, missing
        As of :func:`decide`.

    Returns
    -------
    dask.dataframe.DataFrame
        Not computed yet. The columns that are no scores come first, then those of
        :meth:`abstain.Decisions.to_frame`. Where rows are withheld as one their ``gain`` is NaN:
        it is a figure of all rows together.
    """
    given = _frame(frame, policy.order)
    check_missing(missing)
    return _applied(given, policy, ScoreColumns.of(given._meta, policy, scores), missing)


def _whole_summary(frame: Any, part: PartSummary) -> Summary:
    delayed = _package().delayed
    # One key of the graph, which each worker is sent once, and again when it was lost.
    sent = delayed(part, pure=False, traverse=False)
    # Nothing but these columns is read, where the frame comes from files that can do so.
    parts = frame[part.columns].to_delayed()
    # Summaries stay as they are on the worker that made them, and travel as their bytes.
    level = [delayed(PartSummary.summary, pure=False)(sent, one) for one in parts]
    while len(level) > 1:
        level = [
            delayed(merge_summaries, pure=False)(level[at : at + FAN_IN])
            for at in range(0, len(level), FAN_IN)
        ]
    return check_any_rows(level[0].compute())


def _applied(frame: Any, policy: Policy, columns: ScoreColumns, missing: Missing) -> Any:
    rule = RowRule.of(policy, columns, missing)
    sent = _package().delayed(rule, pure=True, traverse=False)
    meta = _rows(frame._meta, rule)
    return frame.map_partitions(_rows, sent, meta=meta)


def _rows(part: Any, rule: RowRule) -> Any:
    """Decide about the rows of one partition."""
    return rule.frame(part, _by_number)


def _by_number(values: NDArray[Any], numbers: IntArray, gaps: bool) -> Any:
    """Return a column of few distinct values; numbers with gaps as objects, to stay whole."""
    plain = values.tolist()
    if isinstance(plain[0], str):
        pandas: Any = import_module("pandas")
        return pandas.Series(plain).array.take(numbers, allow_fill=gaps)
    return np.array([*plain, None], dtype=object)[numbers] if gaps else np.array(plain)[numbers]


def _frame(frame: Any, order: ClassOrder) -> Any:
    """Return a Dask DataFrame as it is, and anything else of Dask as one.

    The columns of an array are named by the labels, a single one by the positive class.
    """
    package = _package()
    collection = package.is_dask_collection(frame) and hasattr(frame, "to_delayed")
    if collection and hasattr(frame, "_meta") and hasattr(frame, "map_partitions"):
        return frame if frame.ndim == 2 else frame.to_frame()
    if not (collection and hasattr(frame, "rechunk")):
        raise TypeError(
            f"`frame` must be a Dask DataFrame or array; got {type(frame).__name__}. Make one "
            f"with dask.dataframe.from_pandas(frame, npartitions=...), or call the Abstainer "
            f"itself for rows that fit in memory."
        )
    names = [f"p_{label}" for label in order.columns.tolist()]
    if frame.ndim == 1 or frame.shape[1] == 1:
        names = ["score" if order.positive is None else f"p_{order.positive}"]
    whole_rows = frame.reshape(-1, 1) if frame.ndim == 1 else frame.rechunk({1: -1})
    return package.dataframe.from_dask_array(whole_rows, columns=names)


def _package() -> Any:
    with extra("dask", "Rows in Dask need dask"):
        import dask.dataframe

        import dask
    return dask
