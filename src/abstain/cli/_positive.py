"""Which of two classes is the positive one: given, named by the score column, or asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from abstain._inputs import told_positive
from abstain.cli._header import listed, quoted
from abstain.cli._printable import in_a_line

if TYPE_CHECKING:
    from abstain.cli._tables import Predictions

_PREFIX = "p_"


@dataclass(frozen=True)
class Classes:
    """What is known of the classes of labelled predictions.

    Attributes
    ----------
    columns : list or None
        The label of each score column, to be given to ``fit``; None where the labels and the
        names of the columns tell.
    positive : object or None
        The label of the positive class of two, where that is known.
    """

    columns: list[Any] | None
    positive: Any


def classes_of(source: Predictions, given: str | None, *, needing: Iterable[str] = ()) -> Classes:
    """Return which class is positive, or raise where it is needed and nothing tells.

    Parameters
    ----------
    source : Predictions
        Read with their labels.
    given : str or None
        What ``--positive`` says; compared as text.
    needing : iterable of str
        What was asked for that depends on the positive class, as it was typed.
    """
    labels = np.unique(source.labels).tolist() if source.classes is None else source.classes
    if len(labels) != 2:
        if given is not None:
            raise ValueError(
                f"--positive is for two classes; {source.files[0]} has {len(labels)}. Leave it "
                f"out; metrics of many classes take an average, such as f1:macro."
            )
        return Classes(source.classes, None)
    if given is not None:
        for label in labels:
            if str(label) == given or _same_number(label, given):
                return Classes(None, label)
        raise ValueError(
            f"--positive {quoted(given)} is none of the labels of {source.files[0]}: "
            f"{listed(labels)}. {_proposed(labels)}"
        )
    names = source.scores.column_names
    named = " and ".join(in_a_line(label) for label in labels)
    if len(names) == 1:
        for label in labels:
            if names[0].removeprefix(_PREFIX) == str(label):
                return Classes(None, label)
    told = told_positive(np.asarray(labels))
    if told is not None:
        return Classes(None, told)
    if len(names) == 1:
        raise ValueError(
            f"{source.files[0]} has the labels {named} and one score column, "
            f"{in_a_line(names[0])}: nothing says of which of the two it is the score. "
            f"{_proposed(labels)}"
        )
    for what in needing:
        raise ValueError(
            f"{what} is of the positive class, and nothing says which of {named} that "
            f"is. {_proposed(labels)}"
        )
    return Classes(None, None)


def _same_number(label: Any, given: str) -> bool:
    """Tell whether a label that is a number or a truth is the one that was typed: 1.0 is 1."""
    if isinstance(label, bool):
        return str(label).lower() == given.lower()
    try:
        return not isinstance(label, str) and float(label) == float(given)
    except ValueError:
        return False


def _proposed(labels: list[Any]) -> str:
    first, second = (quoted(str(label)) for label in labels)
    return f"Add --positive {first} or --positive {second}."
