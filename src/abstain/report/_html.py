"""Facts to one HTML page: no server, no network, nothing but this file.

The facts travel in the page as JSON; its script draws them and never writes markup from them.
"""

import html
import json
from importlib.resources import files
from typing import Any

from abstain.report._words import NOT_DEFINED, decimals, percent

__all__ = ["render", "script_safe_json"]

_BASIS = {
    True: "from calibrated probabilities adapted to the estimated class proportions, rectified by "
    "the labelled rows.",
    False: "from calibrated probabilities as they are, rectified by the labelled rows.",
}
_NARROW = (
    "That is fewer than chance explains: take the intervals on this page as too narrow for these "
    "data. More validation rows would help."
)


def render(facts: dict[str, Any]) -> str:
    """Return the page."""
    step = facts["steps"][facts["chosen"]]
    parts = {
        "title": html.escape(facts["title"]),
        "headline": html.escape(step["headline"]),
        "metric": html.escape(facts["metric"]["title"]),
        "style": _read("page.css"),
        "level": percent(facts["level"]),
        "basis": _BASIS[facts["moved"]["adapted"]],
        "notice": _notice(facts["assumption"]),
        "target": "" if facts["target"] is None else f"<p>{html.escape(facts['target'])}</p>",
        "moved": _moved(facts),
        "trust": _trust(facts),
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


def _notice(assumption: dict[str, Any] | None) -> str:
    """Return a box with what speaks against the figures; nothing if all is well."""
    if assumption is None or not assumption["doubts"]:
        return ""
    doubts = "".join(f"<li>{html.escape(doubt)}</li>" for doubt in assumption["doubts"])
    return (
        f"<section class='notice' aria-labelledby='h-notice'><h2 id='h-notice'>"
        f"<span aria-hidden='true'>&#9888;&#65038;</span> What speaks against these figures</h2>"
        f"<ul>{doubts}</ul></section>"
    )


def _moved(facts: dict[str, Any]) -> str:
    """Return the table of class proportions, what was assumed and what the tests say, in words."""
    moved, assumption = facts["moved"], facts["assumption"]
    columns = {
        "validation": [f"{share:.1%}" for share in moved["validation"]],
        f"now ({'estimated' if moved['adapted'] else 'mean probability'})": [
            f"{share:.1%}" for share in moved["target"]
        ],
    }
    if moved["interval"] is not None:
        columns[f"{percent(facts['level'])} interval"] = [
            _ends(each) for each in moved["interval"]
        ]
    head = "".join(f"<th scope='col'>{name}</th>" for name in ("class", *columns))
    rows = "".join(
        f"<tr><th scope='row'>{html.escape(name)}</th>"
        + "".join(f"<td>{cell}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in zip(moved["classes"], *columns.values(), strict=True)
    )
    said = [moved["meaning"]]
    if moved["test"] is not None:
        said.append(moved["test"]["summary"])
    text = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in said)
    check = moved["check"]
    if assumption is not None:
        text += f"<p>{html.escape(assumption['summary'])}</p>"
        if assumption["alternative"] is not None:
            text += f"<p>{html.escape(assumption['alternative']['summary'])}</p>"
    # What fits was said with what was assumed; what does not has more to it.
    if check is not None and (assumption is None or not check["fits"]):
        kind, mark = ("good", "Plausible") if check["fits"] else ("bad", "Doubtful")
        text += (
            f"<p class='verdict {kind}'><strong>{mark}.</strong> "
            f"{html.escape(check['summary'])}</p>"
        )
    return (
        f"{text}<div class='scroll'><table><caption>Class proportions</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _ends(interval: list[float] | None) -> str:
    if interval is None or None in interval:
        return NOT_DEFINED
    return f"{interval[0]:.1%} to {interval[1]:.1%}"


def _trust(facts: dict[str, Any]) -> str:
    """Say in words how calibration and the back-test came out."""
    trust, title = facts["trust"], facts["metric"]["title"]
    sentences = []
    if trust["reason"] is not None:
        sentences.append(trust["reason"])
    test = trust["back_test"]
    if test is not None and test["points"]:
        sentences.append(
            f"Back-test: {len(test['points'])} batches of {_sizes(test['rows'])} rows with other "
            f"class proportions were drawn from validation rows that the calibration had not "
            f"seen. The estimated {title} missed the realised one by "
            f"{decimals(test['mean_gap'])} on average, by {decimals(test['largest_gap'])} at most."
        )
        sentences.append(_coverage(test))
        if test["left_out"]:
            sentences.append(
                f"Too few validation rows to make more or fewer of: {', '.join(test['left_out'])}."
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
    return "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences)


def _coverage(test: dict[str, Any]) -> str:
    """Say how many intervals held, and how many are meant to."""
    said = (
        f"Coverage: {test['inside']} of {len(test['points'])} intervals held the realised value, "
        f"where {percent(test['level'])} are meant to."
    )
    return f"{said} {_NARROW}" if test["too_few"] else said


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
