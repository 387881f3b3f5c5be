"""Names of tables and columns: those that are given, checked, and those that come out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from abstain._inputs import shown
from abstain.policy import Policy
from abstain.sql._dialects import Dialect
from abstain.sql._steps import OURS

#: PostgreSQL cuts longer names, so that two of them may become one.
_LONGEST = 63
# Beyond these BigQuery keeps no column.
_FREE = re.compile(r"[^\w]")


def check_table(table: Any) -> tuple[str, ...]:
    """Return the parts of a table's name: of text those between its dots."""
    parts = table.split(".") if isinstance(table, str) else table
    if not isinstance(parts, Sequence) or isinstance(parts, bytes) or not 1 <= len(parts) <= 3:
        raise ValueError(
            f"`table` must be a name such as 'scores' or 'clinic.scores', or a tuple of up to "
            f"three names where one of them has a dot in it; got {shown(table)}."
        )
    return tuple(_checked(part, "table") for part in parts)


def check_scores(scores: Any, policy: Policy) -> list[str]:
    """Return the names of the score columns: one per class, or one of the positive class."""
    names = check_columns([scores] if isinstance(scores, str) else scores, "scores")
    n_classes = len(policy.classes)
    if len(names) == 1 and n_classes == 2:
        policy.order.need_positive("`scores` has one column: it is that of the positive class")
        return names
    if len(names) != n_classes:
        order = ", ".join(map(repr, policy.columns.tolist()[:10]))
        raise ValueError(
            f"`scores` must name one column per class, in the order {order}"
            f"{', ...' if n_classes > 10 else ''}"
            f"{', or one column with the score of the positive class' if n_classes == 2 else ''}; "
            f"got {len(names)}."
        )
    return names


def check_columns(names: Any, argument: str) -> list[str]:
    """Return names of columns, all of them different."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise TypeError(f"`{argument}` must be a list of column names; got {shown(names)}.")
    checked = [_checked(name, argument) for name in names]
    if len(set(checked)) < len(checked):
        raise ValueError(f"`{argument}` names a column twice: {shown(checked)}.")
    for name in checked:
        if name.lower().startswith(OURS):
            raise ValueError(
                f"`{argument}` must not hold names that begin with {OURS!r}, as {name!r} does: "
                f"the query calls its own steps so. Rename the column in a view."
            )
    return checked


def _checked(name: Any, argument: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"`{argument}` must hold names as text; got {shown(name)}.")
    if not name:
        raise ValueError(f"`{argument}` must not hold an empty name.")
    _check_text(name, f"A name in `{argument}`")
    return name


def check_labels(policy: Policy) -> None:
    """Refuse class labels that no text of a query can hold."""
    for label in policy.classes.tolist():
        if isinstance(label, str):
            _check_text(label, "A class label")


def _check_text(text: str, what: str) -> None:
    if "\x00" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError(
            f"{what} holds a character that no SQL text can, a zero byte or half a character: "
            f"{shown(text)}. Rename it."
        )


def output_names(
    policy: Policy, dialect: Dialect, prefix: str | None, theirs: Iterable[str], proba: bool
) -> list[str]:
    """Return what the columns of ours are called: probabilities, prediction, abstain, policy.

    With no prefix given it is ``abstain_`` if one of them would else be called as a column that
    is known to be there. Engines take upper and lower case for the same, so that is no difference.
    """
    plain = [f"p_{label}" for label in policy.classes.tolist()] if proba else []
    plain += ["prediction", "abstain", "policy"]
    if prefix is not None:
        _check_text(prefix, "`prefix`")
    known = {name.lower() for name in theirs}
    for before in ("", "abstain_") if prefix is None else (prefix,):
        names = _distinct([before + name for name in plain], dialect)
        if not known & {name.lower() for name in names}:
            return names
    clash = sorted(known & {name.lower() for name in names})
    raise ValueError(
        f"Columns of the table are called as those of the decisions would be: "
        f"{', '.join(map(repr, clash))}. Pass another prefix=..., such as prefix='rule_'."
    )


def _distinct(names: list[str], dialect: Dialect) -> list[str]:
    """Return names short enough, and none of them twice."""
    found: list[str] = []
    used = {name.lower() for name in names[-3:]}
    for number, name in enumerate(names):
        if dialect.name == "bigquery":
            name = _FREE.sub("_", name)
        last = number >= len(names) - 3
        if _size(name) > _LONGEST or (not last and name.lower() in used):
            end = f"_{number}"
            while _size(name) + len(end) > _LONGEST:
                name = name[:-1]
            name += end
        used.add(name.lower())
        found.append(name)
    return found


def _size(name: str) -> int:
    return len(name.encode())
