"""The section of a model card that says what a rule does: Markdown, from the facts of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from abstain._words import estimate, percent, share

_MARKUP = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]<>|~&$"})
_RATES = {"sensitivity": "Sensitivity", "specificity": "Specificity", "ppv": "PPV", "npv": "NPV"}


def model_card(facts: dict[str, Any]) -> str:
    """Return the section: what is referred, how well the rest does, what that rests on."""
    chosen = facts["steps"][facts["chosen"]]
    parts = [
        f"## Referral to a person\n\n{_text(chosen['headline'])}",
        _table(("what", "as decided"), _decision(facts, chosen)),
        "### Performance, estimated without labels of the batch\n\n"
        + _table(("figure", "all cases", "cases not referred"), _performance(facts, chosen)),
        "### What these figures rest on\n\n" + _list(_grounds(facts)),
        "### Where they come from\n\n" + _list(_origin(facts)),
    ]
    return "\n\n".join(parts) + "\n"


def _decision(facts: dict[str, Any], chosen: dict[str, Any]) -> Iterable[Sequence[str]]:
    yield "optimised for", facts["metric"]["title"]
    yield "referred", f"{chosen['text']['rate']} of {facts['rows']:,} cases: {chosen['region']}"
    if chosen["rule"]:
        yield "the rest", chosen["rule"]
    if facts["target"]:
        yield "target", facts["target"]
    moved = facts["moved"]
    shares = zip(moved["validation"], moved["target"], strict=True)
    for name, (then, now) in zip(moved["classes"], shares, strict=True):
        yield f"class {name}", f"{share(then)} at validation, {share(now)} estimated in the batch"
    yield "calibration", facts["reproduce"]["calibration"]


def _performance(facts: dict[str, Any], chosen: dict[str, Any]) -> Iterable[Sequence[str]]:
    def cells(title: str, *each: dict[str, Any]) -> Sequence[str]:
        return title, *(estimate(one["value"], one["interval"], facts["level"]) for one in each)

    yield cells(facts["metric"]["title"], facts["before"], chosen)
    point = facts["operating_point"]
    for key, title in _RATES.items():
        if point is not None and key in point:
            yield cells(f"{title} of its predictions", point[key]["before"], point[key]["after"])


def _grounds(facts: dict[str, Any]) -> Iterable[str]:
    if facts["assumption"] is not None:
        yield facts["assumption"]["summary"]
        yield from facts["assumption"]["doubts"]
    yield facts["trust"]["verdict"]["summary"]
    yield (
        f"The figures are of the cases not referred. What a person answers about the others is "
        f"not in them; {percent(facts['level'])} intervals are meant to hold that often."
    )


def _origin(facts: dict[str, Any]) -> Iterable[str]:
    made = facts["reproduce"]
    yield f"Made {made['created']} with " + ", ".join(
        f"{name} {number}" for name, number in made["versions"].items()
    )
    if made["command"]:
        yield f"Command: {made['command']}"
    for name, checksum in made["inputs"].items():
        yield f"File {name}: SHA-256 {checksum}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *([_text(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _list(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {_text(one)}" for one in sentences)


def _text(text: str) -> str:
    """Return text as Markdown shows it: names of classes and files may hold anything."""
    return " ".join(text.split()).translate(_MARKUP)
