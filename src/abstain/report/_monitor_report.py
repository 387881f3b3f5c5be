"""MonitorReport: the page about a stream that is watched: how well, what moved, which alarms."""

from __future__ import annotations

import html
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np

from abstain._inputs import shown
from abstain._numerics import plain
from abstain._words import (
    FEW_DECIMALS,
    NOT_DEFINED,
    chance,
    class_in_words,
    listed,
    metric_title,
    number,
    percent,
    places,
)
from abstain._words import estimate as in_words
from abstain._words import share as share_in_words
from abstain.monitoring import Chunk, Monitor
from abstain.report._html import filled, notice, paragraph, table
from abstain.report._page import Page, versions
from abstain.shift import WORLDS_IN_WORDS

SCHEMA_VERSION = 1
# Classes that are drawn, those that moved most, and those that stand in the table.
_DRAWN, _LISTED = 6, 12
# Names in the sentence about classes that are left out.
_NAMED = 5
_SCRIPTS = ("base", "charts", "monitor")


@dataclass(frozen=True, eq=False, repr=False)
class MonitorReport(Page):
    """A page about a stream: the metric over time, what moved, who is referred, and the alarms.

    One self-contained HTML file: it needs no network, and its tables no script. In a notebook it
    shows itself.

    Parameters
    ----------
    monitor : Monitor
        What was watched.
    title : str
        The page's title.

    Attributes
    ----------
    facts : dict
        Everything the page says, as plain data; computed when first asked for.

    Examples
    --------
    >>> from abstain import Abstainer
    >>> from abstain.datasets import screening_clinic
    >>> from abstain.monitoring import Monitor
    >>> from abstain.report import MonitorReport
    >>> clinic = screening_clinic(1000, 2000, random_state=0)
    >>> abstainer = Abstainer("auroc", budget=0.2, calibration="platt", scale="logits")
    >>> policy = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target).policy
    >>> monitor = Monitor(policy, every="1000 rows")
    >>> chunks = monitor.add(clinic.scores_target)
    >>> MonitorReport(monitor).headline
    'No alarm in 2 chunks.'
    """

    monitor: Monitor
    _: KW_ONLY
    title: str = "Is the rule still the right one?"

    def __post_init__(self) -> None:
        if not isinstance(self.monitor, Monitor):
            raise TypeError(f"`monitor` must be a Monitor; got {shown(self.monitor)}.")

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Everything the page says, as plain data."""
        return facts_of(self)

    @property
    def headline(self) -> str:
        """The answer, in a sentence."""
        n, kinds = len(self.facts["chunks"]), [one["kind"] for one in self.facts["alarms"]]
        of = f"{n:,} chunk{'' if n == 1 else 's'}"
        if not kinds:
            return f"No alarm in {of}."
        return f"{len(kinds)} alarm{'' if len(kinds) == 1 else 's'} in {of}: {', '.join(kinds)}."

    def to_html(self) -> str:
        """Return the page."""
        facts, level = self.facts, percent(self.facts["level"])
        heads = ("chunk", "cases", f"estimated, nobody referred ({level} interval)",
                 f"estimated, the rest ({level} interval)", "realised, the rest")  # fmt: skip
        left = facts["classes_left_out"]
        written = {
            "title": html.escape(facts["title"]),
            "headline": html.escape(self.headline),
            "about": paragraph(_about(facts)),
            "notice": notice("What needs a person", map(str, self.monitor.alarms)),
            "cards": _cards(facts),
            "metric": html.escape(facts["metric"]["title"]),
            "level": level,
            "left_out": html.escape(
                f" Of {left} other classes, which moved less, see the data." if left else ""
            ),
            "metric_table": _table(facts, "metric-table", heads, _metric_cells),
            "proportions_table": _table(
                facts,
                "proportions-table",
                ("chunk", *facts["classes"], *facts["more_classes"], "what probably happened"),
                _proportion_cells,
            ),
            "referred_table": _table(
                facts,
                "referred-table",
                ("chunk", "referred", "share referred", "without a score"),
                lambda one: [
                    f"{one['referred']:,.0f}",
                    "" if one["rate"] is None else share_in_words(one["rate"]),
                    f"{one['missing']:,}",
                ],
            ),
            "made": paragraph(_made(facts)),
        }
        return filled("monitor.html", written, facts, _SCRIPTS)

    def __repr__(self) -> str:
        return f"<MonitorReport on {self.monitor!r}>"


def facts_of(report: MonitorReport) -> dict[str, Any]:
    """Return the facts of a page about a stream."""
    monitor, policy = report.monitor, report.monitor.policy
    chunks, metric = monitor.in_time(), policy.metric
    order = _by_movement(chunks, len(policy.classes))
    names = [class_in_words(name) for name in policy.classes.tolist()]
    at = {one.name: k for k, one in enumerate(chunks)}
    values = [one.estimate.after.value for one in chunks]
    capacity = monitor.capacity
    found = {
        "schema_version": SCHEMA_VERSION,
        "title": report.title,
        "metric": {
            "name": metric.name,
            "title": metric_title(metric.name),
            "places": places(values, FEW_DECIMALS),
            "range": [end if np.isfinite(end) else None for end in metric.value_range],
        },
        "level": policy.level,
        "every": monitor.every,
        "floor": monitor.floor,
        "capacity": capacity if isinstance(capacity, float) else None,
        "at_most": capacity if isinstance(capacity, int) else None,
        "queue": monitor.queue,
        "false_alarms": monitor.false_alarms,
        "classes": [names[j] for j in order[:_DRAWN]],
        "more_classes": [names[j] for j in order[_DRAWN:_LISTED]],
        "classes_left_out": max(len(names) - _LISTED, 0),
        "alarms": [{**one.to_dict(), "at": at[one.chunk]} for one in monitor.alarms],
        "chunks": [_chunk(one, order[:_LISTED]) for one in chunks],
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
    }
    small: dict[str, Any] = plain(found, digits=5)
    for one, told in zip(small["chunks"], chunks, strict=True):
        # Seconds have more digits than figures.
        one |= {"start": told.start, "end": told.end}
    return small


def _by_movement(chunks: list[Chunk], n_classes: int) -> list[int]:
    """Return the classes, what moved most first; two as they stand, the positive one first."""
    if n_classes == 2:
        return [1, 0]
    known = np.array([one.priors for one in chunks if one.priors is not None])
    moved = np.ptp(known, axis=0) if len(known) else np.zeros(n_classes)
    return [int(j) for j in np.argsort(-moved, kind="stable")]


def _chunk(chunk: Chunk, order: list[int]) -> dict[str, Any]:
    realised, estimate = chunk.realised, chunk.estimate
    world = None
    if chunk.worlds is not None:
        best = max(chunk.worlds, key=lambda one: chunk.worlds[one])  # type: ignore[index]
        world = [WORLDS_IN_WORDS[best], chunk.worlds[best]]
    return {
        "name": chunk.name,
        "rows": chunk.rows,
        "missing": chunk.missing,
        "referred": chunk.referred,
        "rate": chunk.referral_rate,
        "before": [estimate.before.value, *estimate.before.interval],
        "after": [estimate.after.value, *estimate.after.interval],
        "realised": None
        if realised is None
        else {"rows": realised.rows, "before": realised.before, "after": realised.after},
        "priors": None if chunk.priors is None else chunk.priors[order],
        "interval": None if chunk.interval is None else chunk.interval[order],
        "world": world,
    }


def _about(facts: dict[str, Any]) -> str:
    years = 1 / facts["false_alarms"]
    return (
        f"Watched chunk by chunk, without labels where there are none. While nothing changes "
        f"there is at most one false alarm in {years:,.3g} years, however often one looks."
    )


def _cards(facts: dict[str, Any]) -> str:
    chunks = facts["chunks"]
    if not chunks:
        return ""
    last, title = chunks[-1], facts["metric"]["title"]
    value, *ends = last["after"]
    rows = sum(one["rows"] + one["missing"] for one in chunks)
    rate = NOT_DEFINED if last["rate"] is None else percent(last["rate"])
    waiting = facts["queue"]
    cards = [
        ("Cases", f"{rows:,}", f"in {len(chunks):,} chunks"),
        (f"{title}, the rest, in {last['name']}", number(value, facts["metric"]["places"]),
         "" if None in ends else " to ".join(number(one, 3) for one in ends)),
        (f"Referred in {last['name']}", rate,
         f"{waiting:,.0f} wait for a person" if waiting >= 1 else ""),
    ]  # fmt: skip
    return "".join(
        f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>"
        f"<dd class='muted'>{html.escape(more)}</dd></div>"
        for name, value, more in cards
    )


def _table(facts: dict[str, Any], name: str, heads: tuple[str, ...], cells: Any) -> str:
    rows = [(one["name"], [html.escape(cell) for cell in cells(one)]) for one in facts["chunks"]]
    return table(name, "Chunks in the order of time", [html.escape(one) for one in heads], rows)


def _metric_cells(one: dict[str, Any]) -> list[str]:
    sides = [
        in_words(one[side][0], one[side][1:], least=FEW_DECIMALS) for side in ("before", "after")
    ]
    real = one["realised"]
    told = "" if real is None else f"{number(real['after'], 3)} ({real['rows']:,} labels)"
    return [f"{one['rows']:,}", *sides, told]


def _proportion_cells(one: dict[str, Any]) -> list[str]:
    shares = [] if one["priors"] is None else [*map(share_in_words, one["priors"])]
    world = "" if one["world"] is None else f"{one['world'][0]} ({chance(one['world'][1])})"
    return [*shares, world]


def _made(facts: dict[str, Any]) -> str:
    said = listed([f"{name} {number}" for name, number in facts["versions"].items()], _NAMED)
    return f"Made {facts['created']} with {said}."
