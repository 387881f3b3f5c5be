"""Facts to one HTML page: no server, no network, nothing but this file.

The facts travel in the page as JSON; its script draws them and never writes markup from them.
"""

import html
import json
from importlib.resources import files
from typing import Any

from abstain.report._words import NOT_DEFINED, decimals

__all__ = ["render", "script_safe_json"]

# Of ten 90% intervals, seven or fewer that hold are a reason to say so.
ENOUGH_INSIDE = 0.75
_NARROW = {
    False: "So the intervals on this page are too narrow: they hold the noise of the unknown "
    "labels alone, not how uncertain the class proportions and the calibration are.",
    True: "So the intervals on this page are too narrow for these data; more validation rows "
    "would help.",
}


def render(facts: dict[str, Any]) -> str:
    """Return the page."""
    step = facts["steps"][facts["chosen"]]
    parts = {
        "title": html.escape(facts["title"]),
        "headline": html.escape(step["headline"]),
        "metric": html.escape(facts["metric"]["title"]),
        "style": _read("page.css"),
        "moved": _moved(facts["moved"]),
        "trust": _trust(facts["trust"], facts["metric"]["title"]),
        "reproduce": _reproduce(facts["reproduce"]),
        "facts": script_safe_json(facts),
        "script": _read("page.js"),
    }
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
    return text


def _read(name: str) -> str:
    return files("abstain.report").joinpath(name).read_text(encoding="utf-8")


def _moved(moved: dict[str, Any]) -> str:
    """Return the table of class proportions, and what the tests say, in words."""
    intervals = moved["interval"] or [None] * len(moved["classes"])
    rows = "".join(
        f"<tr><th scope='row'>{html.escape(name)}</th><td>{then:.1%}</td><td>{now:.1%}</td>"
        f"<td>{_ends(interval)}</td></tr>"
        for name, then, now, interval in zip(
            moved["classes"], moved["validation"], moved["target"], intervals, strict=True
        )
    )
    said = [moved["meaning"]]
    if moved["test"] is not None:
        said.append(moved["test"]["summary"])
    text = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in said)
    if moved["check"] is not None:
        kind, mark = ("good", "Plausible") if moved["check"]["fits"] else ("bad", "Doubtful")
        text += (
            f"<p class='verdict {kind}'><strong>{mark}.</strong> "
            f"{html.escape(moved['check']['summary'])}</p>"
        )
    return (
        f"{text}<div class='scroll'><table><caption>Class proportions</caption><thead><tr>"
        f"<th scope='col'>class</th><th scope='col'>validation</th>"
        f"<th scope='col'>now (estimated)</th><th scope='col'>90% interval</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _ends(interval: list[float] | None) -> str:
    if interval is None or None in interval:
        return NOT_DEFINED
    return f"{interval[0]:.1%} to {interval[1]:.1%}"


def _trust(trust: dict[str, Any], title: str) -> str:
    """Say in words how calibration and the back-test came out."""
    sentences = []
    if trust["reason"] is not None:
        sentences.append(trust["reason"])
    test = trust["back_test"]
    if test is not None and test["points"]:
        sentences.append(
            f"Back-test: {len(test['points'])} batches of {_sizes(test['rows'])} rows with other "
            f"class proportions were drawn from validation rows that the calibration had not "
            f"seen. The estimated {title} missed the realised one by "
            f"{decimals(test['mean_gap'])} on average, by {decimals(test['largest_gap'])} at "
            f"most; the 90% interval held it in {test['inside']} of {len(test['points'])}."
        )
        if test["undecided"]:
            sentences.append(
                f"In {test['undecided']} more batches nothing could be estimated: one class was "
                f"too rare."
            )
        if test["inside"] < ENOUGH_INSIDE * len(test["points"]):
            sentences.append(_NARROW[test["with_priors"]])
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
    return "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences)


def _sizes(ends: list[int]) -> str:
    low, high = (f"{end:,}" for end in ends)
    return low if low == high else f"{low} to {high}"


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
