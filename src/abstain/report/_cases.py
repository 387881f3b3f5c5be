"""Who is referred: the cases the page lists, and the rate in each group."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs import IntArray, both_columns, check_same_length
from abstain.decisions import Decisions
from abstain.policy import Policy
from abstain.report._steps import Slider

__all__ = ["Groups", "cases", "group_numbers"]

# The page stays small enough to mail; the decisions file has every row.
MOST_CASES = 10_000
MOST_GROUPS = 30
MOST_CLASSES = 8

Groups = tuple[list[str], IntArray]


def group_numbers(groups: ArrayLike | None, n_rows: int) -> Groups | None:
    """Return the names of the groups, the largest first, and each row's number among them."""
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.ndim != 1:
        raise ValueError(f"`groups` must be one-dimensional; got shape {labels.shape}.")
    check_same_length(decisions=range(n_rows), groups=labels)
    names, numbers = np.unique(labels.astype(str), return_inverse=True)
    order = np.argsort(-np.bincount(numbers), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    listed = [str(name) for name in names[order]]
    if len(listed) > MOST_GROUPS:
        listed = [*listed[: MOST_GROUPS - 1], "all others"]
    return listed, np.minimum(rank[numbers], len(listed) - 1).astype(np.intp)


def cases(
    decisions: Decisions[Policy],
    slider: Slider,
    *,
    ids: NDArray[Any] | None,
    id_name: str,
    groups: Groups | None,
    group_name: str,
) -> dict[str, Any]:
    """Return the cases that any position of the slider refers.

    Each comes with a whole number whose binary digit k tells whether position k refers it.
    """
    rows = np.flatnonzero(slider.marks)
    total = len(rows)
    # What was decided comes first, should not all of them fit.
    rows = rows[np.argsort(~decisions.abstain[rows], kind="stable")][:MOST_CASES]
    rows = np.sort(rows)
    proba = both_columns(decisions.compact[rows])
    predictions = decisions.classes[decisions.choice.rule.predict(proba)]
    names = [str(name) for name in decisions.classes.tolist()]
    if len(names) > MOST_CLASSES:
        columns = ["probability of the prediction"]
        shown = proba.max(axis=1, keepdims=True)
    else:
        columns, shown = [f"p({name})" for name in names], proba
    return {
        "id_name": id_name,
        "ids": (rows if ids is None else np.asarray(ids)[rows]).tolist(),
        "group_name": group_name if groups is not None else None,
        "groups": None if groups is None else groups[1][rows].tolist(),
        "predictions": [str(value) for value in predictions.tolist()],
        "columns": columns,
        "proba": shown.round(5).tolist(),
        "steps": slider.marks[rows].tolist(),
        "left_out": total - len(rows),
    }
