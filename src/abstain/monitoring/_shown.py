"""A monitor as people read it: a line, some lines, what a notebook shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abstain._display import block, doubts, facts, sentence, table
from abstain._numerics import aligned
from abstain._words import number, percent, share, span

if TYPE_CHECKING:
    from abstain.monitoring._monitor import Monitor

_MOST_SHOWN = 12


def headline_of(monitor: Monitor) -> str:
    """Return what there is in a line."""
    n = len(monitor.chunks)
    if not n:
        return "no chunk yet"
    ordered = monitor.in_time()
    told = "no alarm"
    if monitor.alarms:
        told = f"alarms: {', '.join(alarm.kind for alarm in monitor.alarms)}"
    chunks = "1 chunk" if n == 1 else f"{n:,} chunks"
    ends = ordered[0].name if n == 1 else f"{ordered[0].name} to {ordered[-1].name}"
    return f"{chunks}, {ends}, {told}"


def text_of(monitor: Monitor) -> str:
    """Say what was seen as lines: the alarms, then the last chunks."""
    said = [f"Monitor: {headline_of(monitor)}."]
    said += [f"ALARM {alarm.kind}: {alarm}" for alarm in monitor.alarms]
    if monitor.capacity is not None and monitor.queue >= 1:
        said.append(f"Waiting for a person: {monitor.queue:,.0f} rows more than capacity.")
    if not monitor.chunks:
        return "\n".join(said)
    heads, rows = _table(monitor)
    skipped = len(monitor.chunks) - len(rows)
    said += ["", *aligned([heads, *rows])]
    return "\n".join([*said, f"and {skipped:,} chunks before."] if skipped else said)


def _table(monitor: Monitor) -> tuple[list[str], list[list[str]]]:
    metric = monitor.policy.metric.name
    heads = ["chunk", "rows", "referred", f"{metric}, estimated", "interval", "realised"]
    rows = []
    for one in monitor.in_time()[-_MOST_SHOWN:]:
        after, true = one.estimate.after, one.realised
        rate = one.referral_rate
        rows.append(
            [
                one.name,
                f"{one.rows:,}",
                share(rate) if np.isfinite(rate) else "",
                number(after.value),
                span(after.interval),
                "" if true is None else f"{number(true.after)} ({true.rows:,} labels)",
            ]
        )
    return heads, rows


def html_of(monitor: Monitor) -> str:
    """Return what a notebook shows."""
    heads, rows = _table(monitor) if monitor.chunks else ([], [])
    allowed = percent(monitor.false_alarms)
    return block(
        "Monitor",
        headline_of(monitor),
        doubts(f"{alarm.kind}: {alarm}" for alarm in monitor.alarms),
        facts(
            [
                ("metric", monitor.policy.metric.name),
                ("chunks", None if monitor.every is None else f"every {monitor.every}"),
                ("floor", monitor.floor),
                ("false alarms", f"at most {allowed} a year, however often one looks"),
            ]
        ),
        table(heads, rows) if rows else sentence("No chunk yet.", soft=True),
    )
