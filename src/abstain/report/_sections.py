"""Sections of the page that do not follow the slider, as markup that needs no script."""

from __future__ import annotations

import html
from typing import Any

from abstain.report._verdicts import DOUBTFUL, NOT_CHECKED, PLAUSIBLE
from abstain.report._words import NOT_DEFINED, decimals, percent, share

# How a verdict is coloured, and what marks it where colours are not seen.
_MARKS = {
    PLAUSIBLE: ("good", "&#10003;"),
    DOUBTFUL: ("bad", "&#10007;"),
    NOT_CHECKED: ("open", "?"),
}
# Few classes stay in their own order, which may mean something; of more, what moved most is first.
FEW_CLASSES = 10


def moved_section(facts: dict[str, Any]) -> str:
    """Return what moved, what was assumed and what the tests say."""
    moved, assumption = facts["moved"], facts["assumption"]
    text = _paragraph(moved["meaning"])
    if moved["test"] is not None:
        text += _paragraph(moved["test"]["finding"])
    text += _verdict("Label shift", moved["verdict"])
    if assumption is not None and assumption["alternative"] is not None:
        text += _paragraph(assumption["alternative"]["summary"])
    return text


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
            _ends(each) for each in moved["interval"]
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


def _ends(interval: list[float] | None) -> str:
    if interval is None or None in interval:
        return NOT_DEFINED
    return f"{share(interval[0])} to {share(interval[1])}"


def trust_section(facts: dict[str, Any]) -> str:
    """Say in words how calibration and the back-test came out."""
    trust, title = facts["trust"], facts["metric"]["title"]
    text = _verdict("Intervals", trust["verdict"])
    test = trust["back_test"]
    sentences = []
    if test is not None and test["points"]:
        sentences.append(
            f"Back-test: {len(test['points'])} batches of {_sizes(test['rows'])} rows with other "
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
    return text + "".join(_paragraph(sentence) for sentence in sentences)


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


def _sizes(ends: list[int]) -> str:
    low, high = (f"{end:,}" for end in ends)
    return low if low == high else f"{low} to {high}"
