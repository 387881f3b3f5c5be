"""Facts to one HTML page: no server, no network, nothing but this file.

The facts travel in the page as JSON; its script draws them and never writes markup from them.
"""

from __future__ import annotations

import html
import json
import re
from importlib.resources import files
from typing import Any

from abstain.report._packed import packed
from abstain.report._sections import moved_section, shares_table, trust_section
from abstain.report._verdicts import DOUBTFUL
from abstain.report._words import percent

_BASIS = {
    True: "from calibrated probabilities adapted to the estimated class proportions, rectified by "
    "the labelled rows.",
    False: "from calibrated probabilities as they are, rectified by the labelled rows.",
}
_SURROGATES = re.compile("[\ud800-\udfff]")
# The script in the order it runs; one function around all of it keeps its names to itself.
_SCRIPTS = ("base", "charts", "figures", "tables", "cases", "slider")


def render(facts: dict[str, Any]) -> str:
    """Return the page."""
    step = facts["steps"][facts["chosen"]]
    parts = {
        "facts": script_safe_json(packed(facts)),
    }
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
        "shares": shares_table(facts),
        "trust": trust_section(facts),
        "reproduce": _reproduce(facts["reproduce"]),
        "script": _script(),
    }
    # A lone surrogate, as of a file name that is no text, cannot be written; JSON spells it out.
    parts |= {name: _SURROGATES.sub("\ufffd", text) for name, text in written.items()}
    page = _read("page.html")
    # One pass, so that text of the user's that looks like a marker stays text.
    pieces = page.split("{{")
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


def _script() -> str:
    parts = "".join(_read(f"script/{name}.js") for name in _SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}}})();'


def _about(facts: dict[str, Any]) -> str:
    """Return what stands below the answer: the positive class, the target, who is left out."""
    said = []
    if facts["positive"] is not None:
        others = [name for name in facts["classes"] if name != facts["positive"]]
        said.append(f"Positive class: {facts['positive']} (the other is {', '.join(others)}).")
    if facts["target"] is not None:
        said.append(facts["target"])
    aside = facts["set_aside"]
    if aside:
        words = {
            "no_score": "have no score and go to a person besides",
            "label_known": "have a known label",
        }
        counts = [f"{aside[key]:,} {what}" for key, what in words.items() if aside[key]]
        if counts:
            said.append(f"No figure is about these cases: {', '.join(counts)}.")
    return "".join(f"<p>{html.escape(sentence)}</p>" for sentence in said)


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
