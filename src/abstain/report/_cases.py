"""Who is referred: the cases the page lists, how it carries them, and the rate in each group.

A row takes about 15 bytes: the number of its id, where ids are numbers (4), which of a few sets
of slider positions refers it (1), its prediction (1) and each probability in steps of 1e-4 (2),
all of it in base64. So hundreds of thousands of rows open at once.
"""

from __future__ import annotations

import base64
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import IntArray, Mask, both_columns, group_codes, group_names, row_names
from abstain.decisions import Decisions

if TYPE_CHECKING:
    from abstain.report._report import Report
    from abstain.report._steps import Slider

# A row of the page takes 15 bytes and its id; more of them than this would not open quickly.
MOST_CASES = 1_000_000
MOST_GROUPS = 2_000
MOST_CLASSES = 8
# Beyond this a browser does not tell one whole number from the next.
EXACT = 2**53

# What stands where nothing is predicted.
NOT_PREDICTED = "\u2013"
#: What a probability of 1 is packed as.
UNITS = 10_000
_DIGITS = re.compile(r"[0-9]+")
_WHOLE = re.compile(r"-?[0-9]{1,4000}")
_NUMBER = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?([eE][-+]?[0-9]{1,4})?")

Groups = tuple[list[str], IntArray]


@dataclass(frozen=True, eq=False)
class PageRows:
    """The rows of a report: those that every figure is about, and those that nothing predicts.

    Attributes
    ----------
    decisions : Decisions
        What was decided about the rows that have a score and no known label.
    n_rows : int
        How many rows there are in all.
    at, missing : ndarray of int
        Where these stand among all, and where those without a score do, which are referred.
    positions : ndarray of int or None
        Where they stood in what came; None where they are all.
    ids : list or None
        What all rows are called; None where they have numbers alone.
    groups : (list of str, ndarray) or None
        Names of groups, and the number of each row's.
    """

    decisions: Decisions
    n_rows: int
    at: IntArray
    missing: IntArray
    positions: IntArray | None
    ids: list[Any] | None
    groups: Groups | None

    @classmethod
    def of(cls, report: Report) -> Self:
        """Return the rows of a report, and what is known of them."""
        came, n = report.decisions, len(report.decisions)
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
            groups = names, np.argsort(order).clip(max=len(names) - 1)[numbers]
        at, positions, nobody = came.scored_at, None, np.empty(0, dtype=np.intp)
        if came.scored is came:
            return cls(came, n, at, nobody, positions, ids, groups)
        numbers = np.arange(n) if came.rows is None else came.rows
        # A row with a known label is never referred.
        referred = np.setdiff1d(np.flatnonzero(came.abstain), at)
        ids = numbers.tolist() if ids is None else ids
        return cls(came.scored, n, at, referred, numbers[at], ids, groups)

    def __len__(self) -> int:
        return self.n_rows

    def referred_by_group(self, abstain: Mask) -> list[int] | None:
        """Return how many of each group are referred, where these of the scored rows are."""
        if self.groups is None:
            return None
        referred = np.concatenate([self.at[abstain], self.missing])
        counts = np.bincount(self.groups[1][referred], minlength=len(self.groups[0]))
        return [*map(int, counts)]


def cases(about: PageRows, slider: Slider, *, id_name: str, group_name: str) -> dict[str, Any]:
    """Return the cases that any position of the slider refers; those without a score come first.

    Each comes with a whole number whose binary digit k tells whether position k refers it.
    """
    decisions, ids, groups = about.decisions, about.ids, about.groups
    missing = about.missing[:MOST_CASES]
    rows = np.flatnonzero(slider.marks)
    total = len(rows) + len(about.missing)
    # What was decided comes first, should not all of them fit.
    rows = rows[np.argsort(~decisions.abstain[rows], kind="stable")][: MOST_CASES - len(missing)]
    rows = np.sort(rows)
    proba = both_columns(decisions.compact[rows])
    predicted = decisions.choice.rule.predict(proba)
    names = [str(name) for name in decisions.classes.tolist()]
    if len(names) > MOST_CLASSES:
        columns = ["probability of the prediction"]
        shown = np.take_along_axis(proba, predicted[:, None], axis=1)
    else:
        columns, shown = [f"p({name})" for name in names], proba
    listed = np.concatenate([missing, about.at[rows]]).tolist()
    some, left = len(missing), len(about.missing) - len(missing)
    return {
        "id_name": id_name,
        "ids": listed if ids is None else _exact([ids[row] for row in listed]),
        "group_name": group_name if groups is not None else None,
        "groups": None if groups is None else groups[1][listed].tolist(),
        "reasons": [*["no score"] * some, *["the rule"] * len(rows)] if some else None,
        "predictions": [*[NOT_PREDICTED] * some, *(names[k] for k in predicted.tolist())],
        "columns": columns,
        "proba": [*[[None] * len(columns)] * some, *shown.round(5).tolist()],
        "steps": [*[(1 << len(slider.steps)) - 1] * some, *slider.marks[rows].tolist()],
        "left_out": total - len(listed),
        "left_out_decided": int(decisions.abstain.sum() - decisions.abstain[rows].sum()) + left,
    }


def _exact(ids: list[Any]) -> list[int] | list[str]:
    """Return ids as numbers where JSON and a browser keep those exactly, else as text."""
    if all(type(value) is int and -EXACT < value < EXACT for value in ids):
        return ids
    return ["" if value is None else str(value) for value in ids]


def pack(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts with the columns of their cases packed."""
    cases = facts["cases"]
    masks, which = np.unique(np.array(cases["steps"], dtype=np.int64), return_inverse=True)
    proba = np.array(cases["proba"], dtype=np.float64).reshape(-1, len(cases["columns"]))
    # One more than the most stands for no probability.
    units = np.where(np.isnan(proba), UNITS + 1, np.rint(proba * UNITS)).astype(np.int64)
    # As numbers of four or eight bytes, or the text they are.
    ids = cases["ids"]
    if all(isinstance(one, int) for one in ids):
        numbers = np.array(ids, dtype=np.int64)
        exact = len(ids) and (numbers.min() < 0 or numbers.max() >= 2**32)
        ids = _numbers(numbers, "<f8" if exact else None)
    small = {
        **cases,
        "rows": len(which),
        "ids": ids,
        "order": _order(cases["ids"]),
        "groups": None if cases["groups"] is None else _numbers(np.array(cases["groups"])),
        "reasons": None if cases["reasons"] is None else _named(cases["reasons"]),
        "predictions": _named(cases["predictions"]),
        "proba": [_numbers(column) for column in units.T],
        "units": UNITS,
        "steps": {"masks": masks.tolist(), "column": _numbers(which)},
    }
    return {**facts, "cases": small}


def _named(texts: list[str]) -> dict[str, Any]:
    """Return texts by their place among those that occur."""
    place = {name: k for k, name in enumerate(dict.fromkeys(texts))}
    column = np.array([place[name] for name in texts], dtype=np.int64)
    return {"names": [*place], "column": _numbers(column)}


def _numbers(values: NDArray[Any], kind: str | None = None) -> dict[str, Any]:
    """Return numbers in base64: whole ones from 0 on in as few bytes as hold the largest."""
    if kind is None:
        most = int(values.max()) if len(values) else 0
        kind = next(f"<u{size}" for size in (1, 2, 4) if most < 256**size)
    packed = values.astype(kind)
    return {"bytes": packed.itemsize, "data": base64.b64encode(packed.tobytes()).decode("ascii")}


def _order(ids: list[Any]) -> dict[str, Any] | None:
    """Return the rows in the order of their ids; None where they come in it.

    Numbers come by their size, and inside text count as numbers, so that P10 comes after P9.
    """
    keys = ids
    if not all(isinstance(one, int) for one in ids):
        kinds = ((_WHOLE, int), (_NUMBER, float))
        fitting = (kind for form, kind in kinds if all(form.fullmatch(one) for one in ids))
        keys = [*map(next(fitting, _natural), ids)]
    if all(before <= after for before, after in itertools.pairwise(keys)):
        return None
    return _numbers(np.array(sorted(range(len(keys)), key=keys.__getitem__)))


def _natural(text: str) -> str:
    """Return text that sorts with its numbers by their value."""
    return _DIGITS.sub(_by_length, text.casefold())


def _by_length(number: re.Match[str]) -> str:
    digits = number[0].lstrip("0")
    return f"{len(digits):07d}{digits}"
