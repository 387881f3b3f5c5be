"""Facts to one HTML page: no server, no network, nothing but this file.

The facts travel in the page as JSON; its script draws them and never writes markup from them.
"""

from __future__ import annotations

import html
import json
import re
from importlib.resources import files
from typing import Any

from abstain.report._packing import pack
from abstain.report._words import (
    DOUBTFUL,
    NOT_CHECKED,
    NOT_DEFINED,
    PLAUSIBLE,
    decimals,
    percent,
    share,
)

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
_SURROGATES = re.compile("[\ud800-\udfff]")
# The script in the order it runs.
_SCRIPTS = [
    f"script/{name}.js" for name in ("base", "charts", "figures", "tables", "cases", "slider")
]


def render(facts: dict[str, Any]) -> str:
    """Return the page."""
    step = facts["steps"][facts["chosen"]]
    written = {
        "title": html.escape(facts["title"]),
        "headline": html.escape(step["headline"]),
        "metric": html.escape(facts["metric"]["title"]),
        "style": _read("page.css"),
        "level": percent(facts["level"]),
        "basis": _BASIS[facts["moved"]["adapted"]],
        "notice": _notice(facts),
        "about": _about(facts),
        "moved": moved_section(facts),
        "shares": worlds_table(facts) + shares_table(facts),
        "trust": trust_section(facts),
        "reproduce": _reproduce(facts["reproduce"]),
        # One function around all of it keeps its names to itself.
        "script": f'"use strict";\n(() => {{\n{"".join(map(_read, _SCRIPTS))}}})();',
    }
    # A lone surrogate, as of a file name that is no text, cannot be written; JSON spells it out.
    parts = {name: _SURROGATES.sub("\ufffd", text) for name, text in written.items()}
    parts["facts"] = script_safe_json(pack(facts))
    # One pass, so that text of the user's that looks like a marker stays text.
    pieces = _read("page.html").split("{{")
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
    """Return what stands below the answer: the positive class, the target, who is left out."""
    said = []
    if facts["positive"] is not None:
        others = [name for name in facts["classes"] if name != facts["positive"]]
        said.append(f"Positive class: {facts['positive']} (the other is {', '.join(others)}).")
    if facts["target"] is not None:
        said.append(facts["target"])
    set_aside = facts["set_aside"]
    if set_aside:
        words = {
            "no_score": "have no score and go to a person besides",
            "label_known": "have a known label",
        }
        counts = [f"{set_aside[key]:,} {what}" for key, what in words.items() if set_aside[key]]
        if counts:
            said.append(f"No figure is about these cases: {', '.join(counts)}.")
    return "".join(map(_paragraph, said))


def _notice(facts: dict[str, Any]) -> str:
    """Return a box with what speaks against the figures; nothing if all is well."""
    assumption, intervals = facts["assumption"], facts["trust"]["verdict"]
    doubts = [] if assumption is None else [*assumption["doubts"]]
    if intervals["state"] == DOUBTFUL:
        doubts.append(f"Intervals are too narrow: in a back-test, {intervals['summary']}")
    if not doubts:
        return ""
    items = "".join(f"<li>{html.escape(doubt)}</li>" for doubt in doubts)
    return (
        f"<section class='notice' aria-labelledby='h-notice'><h2 id='h-notice'>"
        f"<span aria-hidden='true'>&#9888;&#65038;</span> What speaks against these figures</h2>"
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


def moved_section(facts: dict[str, Any]) -> str:
    """Return what moved, what was assumed and what the tests say."""
    moved, assumption = facts["moved"], facts["assumption"]
    text = _paragraph(moved["meaning"])
    if moved["test"] is not None:
        text += _paragraph(moved["test"]["finding"])
    worlds = None if assumption is None else assumption["worlds"]
    text += _verdict("Label shift" if worlds is None else "What happened", moved["verdict"])
    return text


def worlds_table(facts: dict[str, Any]) -> str:
    """Return what may have happened: a bar for each world, and what it would say by itself."""
    title, assumption = facts["metric"]["title"], facts["assumption"]
    worlds = None if assumption is None else assumption["worlds"]
    if worlds is None:
        return ""
    rows = "".join(
        f"<tr><th scope='row'>{html.escape(one['title'])}</th><td class='bar'>"
        f"<span style='width:{100 * one['weight']:.0f}%' aria-hidden='true'></span>"
        f"{percent(round(one['weight'], 2))}</td>"
        f"<td>{_alone(one['before'])}</td><td>{_alone(one['after'])}</td></tr>"
        for one in worlds
    )
    return (
        f"<div class='wide'><div class='scroll'><table id='worlds'>"
        f"<caption>What may have happened to the new cases "
        f"and what the {html.escape(title)} would be then. The figures of this page weigh all of "
        f"it.</caption><thead><tr><th scope='col'>what happened</th>"
        f"<th scope='col'>how probable</th><th scope='col'>nobody referred</th>"
        f"<th scope='col'>the rest</th></tr></thead><tbody>{rows}</tbody></table></div></div>"
    )


def _alone(value: dict[str, Any]) -> str:
    """Return a value and its interval; a dash where it is not defined."""
    ends = [value["value"], *value["interval"]]
    if None in ends:
        return NOT_DEFINED
    middle, low, high = map(decimals, ends)
    return f"{middle} ({low} to {high})"


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
            NOT_DEFINED if each is None or None in each else " to ".join(map(share, each))
            for each in moved["interval"]
        ]
    order = list(range(len(moved["classes"])))
    caption = "Class proportions"
    if len(order) > FEW_CLASSES:
        caption += ", what moved most first"
        order = sorted(order, key=lambda k: -abs(moved["target"][k] - moved["validation"][k]))
    head = "".join(f"<th scope='col'>{name}</th>" for name in ("class", *columns))
    rows = "".join(
        f"<tr><th scope='row'>{html.escape(moved['classes'][k])}</th>"
        + "".join(f"<td>{cells[k]}</td>" for cells in columns.values())
        + "</tr>"
        for k in order
    )
    return (
        f"<div class='wide'><div class='scroll'><table id='shares'><caption>{caption}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></div>"
    )


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
            f"{decimals(test['mean_gap'])} on average, by {decimals(test['largest_gap'])} at most."
        )
        if test["left_out"]:
            sentences.append(
                f"Too few validation rows to make more or fewer of: {_some(test['left_out'])}."
                f" In these batches they keep their share."
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
            f"{decimals(trust['reliability']['error'])} on average."
        )
    sentences.append(
        f"Certificate: {trust['certificate']}"
        if trust["certificate"] is not None
        else "Certificate: none was asked for. The figures are estimates, not guarantees."
    )
    return text + "".join(map(_paragraph, sentences))


def _verdict(what: str, verdict: dict[str, str]) -> str:
    kind, mark = _MARKS[verdict["state"]]
    return (
        f"<p class='verdict {kind}'><strong><span aria-hidden='true'>{mark}</span> {what}: "
        f"{verdict['state']}.</strong> {html.escape(verdict['summary'])}</p>"
    )


def _paragraph(sentence: str) -> str:
    return f"<p>{html.escape(sentence)}</p>"


def _some(names: list[str], most: int = 12) -> str:
    """Return names in a row; of very many the first, and how many there are more."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
