"""Facts to one HTML page: no server, no network, nothing but this file.

The facts travel in the page as JSON; its script draws them and never writes markup from them.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from functools import partial
from importlib.resources import files
from typing import Any

from abstain._words import (
    FEW_DECIMALS,
    NOT_DEFINED,
    chance,
    estimate,
    listed,
    number,
    percent,
    share,
)
from abstain.evaluation import count_in_words, operating_remarks
from abstain.report._cases import pack
from abstain.report._trust import DOUBTFUL, NOT_CHECKED, PLAUSIBLE

_BASIS = {
    True: "from calibrated probabilities adapted to the estimated class proportions, rectified by "
    "the labelled rows.",
    False: "from calibrated probabilities as they are, rectified by the labelled rows.",
}
# How a verdict is coloured, and what marks it where colours are not seen.
_MARKS = {
    PLAUSIBLE: ("good", "&#10003;"),
    DOUBTFUL: ("bad", "&#10007;"),
    NOT_CHECKED: ("open", "?"),
}
# Few classes stay in their own order, which may mean something; of more, what moved most is first.
FEW_CLASSES = 10
MOST_NAMED = 12
# What the shares at the rule's threshold are of.
_AT_THRESHOLD = {
    "sensitivity": "sensitivity: of the positives, found",
    "specificity": "specificity: of the negatives, cleared",
    "ppv": "PPV: of those called positive, right",
    "npv": "NPV: of those called negative, right",
    "missed": "missed cases: positives called negative",
}
_SURROGATES = re.compile("[\ud800-\udfff]")


def render(facts: dict[str, Any]) -> str:
    """Return the page."""
    step, moved = facts["steps"][facts["chosen"]], facts["moved"]
    written = {
        "title": html.escape(facts["title"]),
        "headline": html.escape(step["headline"]),
        "metric": html.escape(facts["metric"]["title"]),
        "level": percent(facts["level"]),
        "basis": _BASIS[moved["adapted"]],
        "notice": _notice(facts),
        "about": _about(facts),
        "operating": promises_section(facts) + operating_section(facts),
        # What moved, and what the test says.
        "moved": paragraph(moved["meaning"])
        + ("" if moved["test"] is None else paragraph(moved["test"]["finding"])),
        "shares": worlds_table(facts) + shares_table(facts),
        "trust": trust_section(facts),
        "reproduce": _reproduce(facts["reproduce"]),
    }
    scripts = ("base", "charts", "figures", "tables", "cases", "slider")
    return filled("page.html", written, pack(facts), scripts)


def filled(
    template: str, written: dict[str, str], facts: dict[str, Any], scripts: Sequence[str]
) -> str:
    """Return a page: its template with what is written, its style, its facts and its scripts.

    Parameters
    ----------
    template : str
        The file, with a marker for each part.
    written : dict of str to str
        The parts, which are markup.
    facts : dict
        What the scripts draw.
    scripts : sequence of str
        Their names, in the order in which they run.
    """
    # A lone surrogate, as of a file name that is no text, cannot be written; JSON spells it out.
    parts = {name: _SURROGATES.sub("\ufffd", text) for name, text in written.items()}
    # One function around all of it keeps its names to itself.
    code = "".join(_read(f"script/{name}.js") for name in scripts)
    parts |= {
        "style": _read("page.css"),
        "script": f'"use strict";\n(() => {{\n{code}}})();',
        "facts": script_safe_json(facts),
    }
    # One pass, so that text of the user's that looks like a marker stays text.
    pieces = _read(template).split("{{")
    return pieces[0] + "".join(
        parts[piece.split("}}", 1)[0]] + piece.split("}}", 1)[1] for piece in pieces[1:]
    )


def script_safe_json(facts: dict[str, Any]) -> str:
    r"""Return JSON that cannot end the script element it stands in.

    Examples
    --------
    >>> print(script_safe_json({"id": "</script>"}))
    {"id":"\u003c/script\u003e"}
    """
    text = json.dumps(facts, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return _SURROGATES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _read(name: str) -> str:
    return files("abstain.report").joinpath(name).read_text(encoding="utf-8")


def _about(facts: dict[str, Any]) -> str:
    """Return what stands below the answer: of whom it is, and what it rests on."""
    positive, aside = facts["positive"], facts["set_aside"] or {}
    said = [
        facts["team"]
        or "The figure is of the cases that are not referred, as the model predicts them: what a "
        "person answers about the others is not in it."
    ]
    if not facts["before"]["by_rule"]:
        said.append("If nobody is referred, each case is predicted as its most probable class.")
    if positive is not None:
        others = [name for name in facts["classes"] if name != positive]
        said.append(f"Positive class: {positive} (the other is {', '.join(others)}).")
    if aside.get("label_known"):
        said.append(f"No figure is about the {aside['label_known']:,} cases with a known label.")
    target = "" if facts["target"] is None else paragraph(facts["target"])
    verdict = _verdict("What the figure rests on", facts["moved"]["verdict"])
    return f"{paragraph(' '.join(said))}{target}{verdict}"


def operating_section(facts: dict[str, Any]) -> str:
    """Return what the rule does at its own threshold; nothing of more than two classes."""
    point = facts["operating_point"]
    if point is None:
        return ""
    rows = []
    for name, what in _AT_THRESHOLD.items():
        write = count_in_words if name == "missed" else _estimate
        both = (point[name][moment] for moment in ("before", "after"))
        rows.append((what, [write(one["value"], one["interval"]) for one in both]))
    caption = (
        f"What the predictions are worth as they are made, positive being {point['positive']}; as "
        f"decided, wherever the slider stands."
    )
    heads = [f"estimated, with {percent(facts['level'])} interval", "nobody referred", "the rest"]
    remarks = "".join(paragraph(f"{said}.") for said in operating_remarks(point))
    return (
        f"<section aria-labelledby='h-threshold'><h2 id='h-threshold'>At the rule's own "
        f"threshold</h2>{remarks}{table('operating', caption, heads, rows)}</section>"
    )


def table(
    name: str, caption: str, heads: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]
) -> str:
    """Return a table in a place of its own: rows have a name and cells, which are markup."""
    head = "".join(f"<th scope='col'>{one}</th>" for one in heads)
    body = "".join(
        f"<tr><th scope='row'>{html.escape(row)}</th>"
        f"{''.join(cell if cell.startswith('<td') else f'<td>{cell}</td>' for cell in cells)}</tr>"
        for row, cells in rows
    )
    return (
        f"<div class='wide'><div class='scroll'><table id='{name}'><caption>{html.escape(caption)}"
        f"</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></div>"
    )


def promises_section(facts: dict[str, Any]) -> str:
    """Return what is promised of those released and acted on, where arms were asked for."""
    if not facts["promised"]:
        return ""
    said = "".join(paragraph(f"{sentence}.") for sentence in facts["promised"])
    return (
        f"<section aria-labelledby='h-arms'><h2 id='h-arms'>What is promised</h2>{said}</section>"
    )


def _notice(facts: dict[str, Any]) -> str:
    """Return a box with what speaks against the figures; nothing if all is well."""
    assumption, intervals = facts["assumption"], facts["trust"]["verdict"]
    doubts = [] if assumption is None else [*assumption["doubts"]]
    if intervals["state"] == DOUBTFUL:
        doubts.append(f"Intervals are too narrow: in a back-test, {intervals['summary']}")
    return notice("What speaks against these figures", doubts)


def notice(title: str, said: Iterable[str]) -> str:
    """Return a box with what must not be overlooked; nothing where there is nothing."""
    items = "".join(f"<li>{html.escape(one)}</li>" for one in said)
    return items and (
        f"<section class='notice' aria-labelledby='h-notice'><h2 id='h-notice'>"
        f"<span aria-hidden='true'>&#9888;&#65038;</span> {title}</h2>"
        f"<ul>{items}</ul></section>"
    )


def _reproduce(facts: dict[str, Any]) -> str:
    command = (
        f"<pre tabindex='0'><code>{html.escape(facts['command'])}</code></pre>"
        if facts["command"]
        else "<p>Made in Python with <code>abstain.report.Report</code>.</p>"
    )
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    inputs = "".join(
        f"<li><code>{html.escape(name)}</code> <span class='hash'>{digest}</span></li>"
        for name, digest in facts["inputs"].items()
    )
    listed = f"<p>Input files, with SHA-256:</p><ul>{inputs}</ul>" if inputs else ""
    return (
        f"{command}{listed}<p>Made {html.escape(facts['created'])} with {html.escape(versions)}; "
        f"calibration {html.escape(facts['calibration'])}.</p>"
    )


def worlds_table(facts: dict[str, Any]) -> str:
    """Return what may have happened: a bar for each world, and what it would say by itself."""
    title, assumption = facts["metric"]["title"], facts["assumption"]
    worlds = None if assumption is None else assumption["worlds"]
    if worlds is None:
        return ""
    rows = []
    for one in worlds:
        bar = f"<span style='width:{100 * one['weight']:.0f}%' aria-hidden='true'></span>"
        both = (one[moment] for moment in ("before", "after"))
        cells = [_estimate(found["value"], found["interval"]) for found in both]
        rows.append((one["title"], [f"<td class='bar'>{bar}{chance(one['weight'])}</td>", *cells]))
    caption = (
        f"What may have happened to the new cases and what the {title} would be then. The figures "
        f"of this page weigh all of it."
    )
    heads = ("what happened", "how probable", "nobody referred", "the rest")
    return table("worlds", caption, heads, rows)


_estimate = partial(estimate, least=FEW_DECIMALS)


def shares_table(facts: dict[str, Any]) -> str:
    """Return the table of class proportions, as wide as names of many classes need."""
    moved = facts["moved"]
    columns = {
        "validation": [share(part) for part in moved["validation"]],
        f"now ({'estimated' if moved['adapted'] else 'mean probability'})": [
            share(part) for part in moved["target"]
        ],
    }
    if moved["interval"] is not None:
        columns[f"{percent(facts['level'])} interval"] = [
            " to ".join(map(share, each)) if each and None not in each else NOT_DEFINED
            for each in moved["interval"]
        ]
    order = list(range(len(moved["classes"])))
    caption = "Class proportions"
    if len(order) > FEW_CLASSES:
        caption += ", what moved most first"
        order = sorted(order, key=lambda k: -abs(moved["target"][k] - moved["validation"][k]))
    rows = [(moved["classes"][k], [cells[k] for cells in columns.values()]) for k in order]
    return table("shares", caption, ("class", *columns), rows)


def trust_section(facts: dict[str, Any]) -> str:
    """Say in words how calibration and the back-test came out."""
    trust, title = facts["trust"], facts["metric"]["title"]
    text = _verdict("Intervals", trust["verdict"])
    test = trust["back_test"]
    sentences = []
    if test is not None and test["points"]:
        fewest, most = (f"{end:,}" for end in test["rows"])
        sizes = fewest if fewest == most else f"{fewest} to {most}"
        sentences.append(
            f"Back-test: {len(test['points'])} batches of {sizes} rows with other "
            f"class proportions were drawn from validation rows that the calibration had not "
            f"seen. The estimated {title} missed the realised one by "
            f"{number(test['mean_gap'], FEW_DECIMALS)} on average, "
            f"by {number(test['largest_gap'], FEW_DECIMALS)} at most."
        )
        if test["left_out"]:
            sentences.append(
                f"Too few validation rows to make more or fewer of: "
                f"{listed(test['left_out'], MOST_NAMED)}. In these batches they keep their share."
            )
        if test["undecided"]:
            sentences.append(
                f"In {test['undecided']} more batches nothing could be estimated: one class was "
                f"too rare."
            )
    if trust["reliability"] is not None:
        sentences.append(
            f"Calibration: on {trust['reliability']['rows']:,} unseen validation rows, "
            f"probabilities and frequencies differ by "
            f"{number(trust['reliability']['error'], FEW_DECIMALS)} on average."
        )
    sentences.append(
        f"Certificate: {trust['certificate']}"
        if trust["certificate"] is not None
        else "Certificate: none was asked for. The figures are estimates, not guarantees."
    )
    return text + "".join(map(paragraph, sentences))


def _verdict(what: str, verdict: dict[str, str]) -> str:
    kind, mark = _MARKS[verdict["state"]]
    return (
        f"<p class='verdict {kind}'><strong><span aria-hidden='true'>{mark}</span> {what}: "
        f"{verdict['state']}.</strong> {html.escape(verdict['summary'])}</p>"
    )


def paragraph(sentence: str) -> str:
    """Return a sentence as a paragraph."""
    return f"<p>{html.escape(sentence)}</p>"
