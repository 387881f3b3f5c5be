"""How results show themselves in a notebook: small blocks of HTML that stand alone.

Text goes in as it is and is escaped here. Colours are those of the notebook's theme, light or
dark, but for the mark of what is doubted.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import Any

from abstain import _words as words

# Classes and rows that are shown; a repr is looked at, not read.
MOST_CLASSES = 8
MOST_ROWS = 24
_LONGEST = 60
_DOUBT = 700

_STYLE = (
    ".abstain-shown{font-size:13px;line-height:1.45;max-width:46em}"
    ".abstain-shown p{margin:.35em 0}"
    ".abstain-shown .head{font-size:14px}"
    ".abstain-shown table{border-collapse:collapse;margin:.4em 0;font-size:inherit}"
    ".abstain-shown tr{background:none!important}"
    ".abstain-shown th,.abstain-shown td{padding:.15em .9em .15em 0;text-align:left;"
    "vertical-align:top;border:0;border-bottom:1px solid rgba(128,128,128,.3);white-space:normal;"
    "max-width:none}"
    ".abstain-shown th{font-weight:600}"
    ".abstain-shown td.n,.abstain-shown th.n{text-align:right;font-variant-numeric:tabular-nums;"
    "white-space:nowrap}"
    ".abstain-shown .doubt{border-left:3px solid #d97706;padding-left:.7em}"
    ".abstain-shown .soft{opacity:.75}"
    ".abstain-shown code{font-size:12px;background:none;color:inherit;padding:0}"
)


def escape(text: str) -> str:
    """Return text that is no markup; half a character, which cannot be sent, is marked."""
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"))


def block(kind: str, headline: str, *parts: str) -> str:
    """Return one block: what it is, the answer in a line, and what these functions made."""
    head = f'<p class="head"><b>{escape(kind)}</b> {escape(headline)}</p>'
    inner = "".join(part for part in parts if part)
    return f'<div class="abstain-shown"><style>{_STYLE}</style>{head}{inner}</div>'


def sentence(text: str, *, soft: bool = False) -> str:
    """Return a line of text."""
    return f'<p class="soft">{escape(text)}</p>' if soft else f"<p>{escape(text)}</p>"


def doubts(found: Iterable[str]) -> str:
    """Return what speaks against the figures, each set off as a line of its own."""
    return "".join(f'<p class="doubt">{escape(_cut(text, _DOUBT))}</p>' for text in found)


def facts(rows: Iterable[tuple[str, Any]]) -> str:
    """Return facts by name; those that are None are left out."""
    inner = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(_cut(value, 300))}</td></tr>"
        for name, value in rows
        if value is not None
    )
    return f"<table>{inner}</table>" if inner else ""


def table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table; the first column is text, the others are numbers as they were written.

    Of many rows the first are shown, and how many there are besides.
    """
    shown = rows[:MOST_ROWS]
    lines = [_row(heads, "th"), *(_row(row, "td") for row in shown)]
    more = len(rows) - len(shown)
    return f"<table>{''.join(lines)}</table>" + (
        sentence(f"and {more:,} more rows: .to_frame() has all", soft=True) if more else ""
    )


def intervals(rows: Sequence[tuple[str, float, tuple[float, float]]], level: float) -> str:
    """Return estimates with their intervals, each with a picture on one scale."""
    ends = [end for _, value, ends in rows for end in (value, *ends) if math.isfinite(end)]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    inner = "".join(
        f'<tr><th>{escape(_cut(name))}</th><td class="n">{words.number(value)}</td>'
        f'<td class="n">{words.span(ends)}</td><td>{_picture(value, ends, low, high)}</td></tr>'
        for name, value, ends in rows
    )
    heads = (
        f'<th></th><th class="n">estimate</th><th class="n">{words.percent(level)} interval</th>'
    )
    return f"<table><tr>{heads}<th></th></tr>{inner}</table>"


def proportions(names: Sequence[Any], before: Any, now: Any) -> str:
    """Return class proportions then and now; of many classes those that moved most."""
    order = [*range(len(names))]
    if len(names) > MOST_CLASSES:
        order = sorted(sorted(order, key=lambda k: -abs(now[k] - before[k]))[:MOST_CLASSES])
    inner = "".join(
        f'<tr><td>{escape(_cut(names[k]))}</td><td class="n">{words.share(before[k])}</td>'
        f'<td class="n">{words.share(now[k])}</td></tr>'
        for k in order
    )
    heads = '<th>class</th><th class="n">validation</th><th class="n">batch (estimated)</th>'
    rest = len(names) - len(order)
    return f"<table><tr>{heads}</tr>{inner}</table>" + (
        sentence(f"and {rest:,} more classes, which moved less", soft=True) if rest else ""
    )


def next_steps(*calls: str) -> str:
    """Return what to call next."""
    return (
        f'<p class="soft">Next: {", ".join(f"<code>{escape(call)}</code>" for call in calls)}</p>'
    )


def _row(parts: Iterable[Any], tag: str) -> str:
    cells = (
        f"<{tag}{' class=n' if place else ''}>{escape(_cut(part))}</{tag}>"
        for place, part in enumerate(parts)
    )
    return f"<tr>{''.join(cells)}</tr>"


def _picture(value: float, ends: tuple[float, float], low: float, high: float) -> str:
    """Return an interval and its estimate as a line and a dot."""
    if not all(map(math.isfinite, (value, *ends))):
        return ""
    width = 150
    at = [5 + (width - 10) * (x - low) / ((high - low) or 1.0) for x in (*ends, value)]
    return (
        f'<svg width="{width}" height="14" aria-hidden="true">'
        f'<line x1="{at[0]:.1f}" x2="{at[1]:.1f}" y1="7" y2="7" stroke="currentColor" '
        f'stroke-width="2" opacity=".55"/><circle cx="{at[2]:.1f}" cy="7" r="4" '
        f'fill="currentColor"/></svg>'
    )


def _cut(value: Any, most: int = _LONGEST) -> str:
    text = str(value)
    return text if len(text) <= most else text[: most - 1] + "…"
