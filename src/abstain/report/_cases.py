"""Who is referred: the cases the page lists, and the rate in each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from abstain._inputs import IntArray, both_columns, group_codes, group_names, row_names
from abstain.decisions import Decisions
from abstain.report._steps import Slider

if TYPE_CHECKING:
    from abstain.report._report import Report

# A row of the page takes 15 bytes and its id; more of them than this would not open quickly.
MOST_CASES = 1_000_000
MOST_GROUPS = 2_000
MOST_CLASSES = 8
# Beyond this a browser does not tell one whole number from the next.
EXACT = 2**53

Groups = tuple[list[str], IntArray]


@dataclass(frozen=True, eq=False)
class PageRows:
    """The rows that every figure is about: those that have a score and no known label.

    Attributes
    ----------
    decisions : Decisions
        What was decided about them.
    ids : list or None
        What they are called; None where they have numbers alone.
    groups : (list of str, ndarray) or None
        Names of groups, and the number of each row's.
    positions : ndarray of int or None
        Where they stood in what came; None where they are all.
    """

    decisions: Decisions
    ids: list[Any] | None
    groups: Groups | None
    positions: IntArray | None = None

    @classmethod
    def of(cls, report: Report) -> Self:
        """Return the rows of a report, and what is known of them."""
        decisions, n = report.decisions, len(report.decisions)
        ids = None if report.ids is None else row_names(report.ids, n_rows=n, name="ids")
        groups = None
        if report.groups is not None:
            # The largest first.
            labels, numbers = group_codes(report.groups, n_rows=n)
            order = np.argsort(-np.bincount(numbers), kind="stable")
            unordered = group_names(labels)
            names = [unordered[k] for k in order.tolist()]
            if len(names) > MOST_GROUPS:
                names = [*names[: MOST_GROUPS - 1], "all others"]
            rank = np.argsort(order).clip(max=len(names) - 1)
            groups = names, rank[numbers]
        if decisions.scored is decisions:
            return cls(decisions, ids, groups)
        at, came = decisions.scored_at, decisions.rows
        positions = at if came is None else came[at]
        return cls(
            decisions.scored,
            positions.tolist() if ids is None else [ids[k] for k in at.tolist()],
            None if groups is None else (groups[0], groups[1][at]),
            positions,
        )


def cases(about: PageRows, slider: Slider, *, id_name: str, group_name: str) -> dict[str, Any]:
    """Return the cases that any position of the slider refers.

    Each comes with a whole number whose binary digit k tells whether position k refers it.
    """
    decisions, ids, groups = about.decisions, about.ids, about.groups
    rows = np.flatnonzero(slider.marks)
    total = len(rows)
    # What was decided comes first, should not all of them fit.
    rows = rows[np.argsort(~decisions.abstain[rows], kind="stable")][:MOST_CASES]
    rows = np.sort(rows)
    proba = both_columns(decisions.compact[rows])
    predicted = decisions.choice.rule.predict(proba)
    names = [str(name) for name in decisions.classes.tolist()]
    if len(names) > MOST_CLASSES:
        columns = ["probability of the prediction"]
        shown = np.take_along_axis(proba, predicted[:, None], axis=1)
    else:
        columns, shown = [f"p({name})" for name in names], proba
    return {
        "id_name": id_name,
        "ids": rows.tolist() if ids is None else _exact([ids[row] for row in rows.tolist()]),
        "group_name": group_name if groups is not None else None,
        "groups": None if groups is None else groups[1][rows].tolist(),
        "predictions": [names[column] for column in predicted.tolist()],
        "columns": columns,
        "proba": shown.round(5).tolist(),
        "steps": slider.marks[rows].tolist(),
        "left_out": total - len(rows),
        "left_out_decided": int(decisions.abstain.sum() - decisions.abstain[rows].sum()),
    }


def _exact(ids: list[Any]) -> list[int] | list[str]:
    """Return ids as numbers where JSON and a browser keep those exactly, else as text."""
    if all(type(value) is int and -EXACT < value < EXACT for value in ids):
        return ids
    return ["" if value is None else str(value) for value in ids]
