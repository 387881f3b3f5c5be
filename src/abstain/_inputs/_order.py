"""Which of two classes is positive, and in which order their scores come in and stand inside.

Inside, two classes stand as [negative, positive] and a single score is that of the positive one.
Which that is must be known for sure: it is given, or a name or the labels themselves say so.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs._checks import (
    CheckedScores,
    FloatArray,
    IntArray,
    Scale,
    check_proba,
    float_array,
    one_column,
    rows_of,
)
from abstain._inputs._frames import PREFIX, Scores, scores_in
from abstain._inputs._labels import (
    check_classes,
    classes_by_name,
    codes_of,
    label_array,
    told_positive,
)
from abstain.exceptions import ArgumentError, Way


@dataclass(frozen=True, eq=False)
class ClassOrder:
    """The classes in the order in which they stand inside, and in which their scores come.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The label of each column inside; of two, [negative, positive] where that is known.
    columns : ndarray of shape (n_classes,)
        The same labels in the order of the score columns of arrays.
    positive : object or None
        The label of the positive class; None for more than two classes, and where it is unknown.
    """

    classes: NDArray[Any]
    columns: NDArray[Any]
    positive: Any = None

    @classmethod
    def of(cls, columns: NDArray[Any], positive: Any = None, *, named: str | None = None) -> Self:
        """Return the order of classes whose scores come as ``columns``.

        The positive class of two is the one given, else the one that a single score is ``named``
        by, else what labels such as 0 and 1 say themselves.
        """
        labels = columns.tolist()
        if positive is not None and len(labels) != 2:
            raise ArgumentError(
                f"`positive` is for two classes; there are {len(labels)}, and none of them is the "
                f"positive one. Leave it out; metrics of many classes take an average, such as "
                f"'f1:macro'.",
                "positive",
            )
        if positive is not None and positive not in labels:
            raise ArgumentError(
                f"`positive` must be one of the two classes, {labels[0]!r} or {labels[1]!r}; got "
                f"{positive!r}.",
                "positive",
            )
        if positive is None:
            positive = next((label for label in labels if str(label) == named), None)
        known = told_positive(columns) if positive is None else labels[labels.index(positive)]
        if len(labels) != 2 or known is None or known == labels[1]:
            return cls(columns, columns, known if len(labels) == 2 else None)
        return cls(columns[::-1].copy(), columns, known)

    def need_positive(self, what: str, *, column: bool = False) -> None:
        """Raise if the positive class of two is not known; ``what`` says what it is needed for."""
        if self.positive is not None or len(self.classes) != 2:
            return
        first, second = self.classes.tolist()
        name = f", or name the score column {PREFIX}{first} or {PREFIX}{second}" if column else ""
        one, other = (f"positive={spelled(label)}" for label in (first, second))
        raise ArgumentError(
            f"{what}, and nothing says which of {first!r} and {second!r} is the positive class. "
            f"Pass {one} or {other}{name}.",
            "positive",
            ways=[Way("positive", first, f"pass {one}"), Way("positive", second, other)],
        )

    def arranged(
        self, values: NDArray[Any], *, scale: Scale, named: str | None = None, name: str = "scores"
    ) -> NDArray[Any]:
        """Return scores in the order of the classes.

        One dimension stays where it is the score of the positive class; ``named`` is the class
        that a single score is named by, where it is.
        """
        if values.ndim == 1 and named is None and self.positive is not None:
            return values
        if len(self.classes) != 2 or values.ndim not in (1, 2) or values.shape[1:] == (1,):
            return values
        first, second = self.classes.tolist()
        if values.ndim == 2:
            same = self.columns.tolist() == [first, second]
            return values if same else values[:, ::-1].copy()
        if named == str(first):
            numbers = values if values.dtype.kind == "f" else float_array(values, name)
            # The rest of a small probability is 1 to all digits, so that both are kept.
            return -numbers if scale == "logits" else np.column_stack([numbers, 1 - numbers])
        if named != str(second):
            self.need_positive(
                f"`{name}` has one dimension: it is the score of the positive class", column=True
            )
        return values


@dataclass(frozen=True, eq=False)
class LabelledScores:
    """Scores of labelled rows, and the order of the classes that they settled.

    Attributes
    ----------
    values : ndarray of shape (n,) or (n, n_classes)
        The scores as they came, in the order of the classes.
    scores : CheckedScores
        The same, checked, with a column per class.
    order : ClassOrder
        Which class is positive, and how scores come.
    labels : ndarray of shape (n,)
        The labels.
    y_name : str
        What they are called in messages.
    """

    values: NDArray[Any]
    scores: CheckedScores
    order: ClassOrder
    labels: NDArray[Any]
    y_name: str

    @cached_property
    def codes(self) -> IntArray:
        """The column of each label; raises where there is none, or not one label per row."""
        n_rows = len(self.scores.matrix)
        return codes_of(self.labels, self.order.classes, n_rows, self.y_name)


def read_labelled(
    scores: Any,
    y: ArrayLike,
    *,
    scale: Scale,
    classes: Sequence[Any] | NDArray[Any] | None = None,
    positive: Any = None,
    name: str = "scores_val",
    y_name: str = "y_val",
) -> LabelledScores:
    """Take scores of labelled rows out of what they came in, and settle the order of classes.

    The positive class of two is ``positive``; else the last of given ``classes``; else the one
    that a single score column is named by; else what labels such as 0 and 1 say themselves; else
    unknown, which is an error where a single score is to be that of the positive class.
    """
    labelled = label_array(y, y_name)
    columns_given = None if classes is None else label_array(classes, "classes")
    # Probabilities must sum to 1, which no id would let them.
    by_place = scale == "probabilities"
    given = scores_in(scores, columns_given, labelled, by_place=by_place)
    values = rows_of(given.values, name)
    checked = CheckedScores.of(values, scale=scale, name=name)
    matrix = checked.matrix
    labels = columns_given if classes is not None else classes_by_name(given.names, labelled)
    columns = check_classes(labelled, matrix.shape[1], labels, y_name)
    if classes is not None and positive is None and len(columns) == 2:
        positive = columns.tolist()[1]
    order = ClassOrder.of(columns, positive, named=given.single)
    arranged = order.arranged(values, scale=scale, named=given.single, name=name)
    if arranged is not values and values.ndim == 2:
        checked = replace(checked, matrix=matrix[:, ::-1].copy())
    elif arranged is not values:
        # The rest of a probability is one in the precision that it came in.
        checked = CheckedScores.of(arranged, scale=scale, name=name)
    return LabelledScores(arranged, checked, order, labelled, y_name)


def read_labelled_proba(
    y: ArrayLike,
    proba: ArrayLike,
    *,
    classes: Sequence[Any] | NDArray[Any] | None,
    y_name: str = "y_true",
    name: str = "proba",
) -> tuple[IntArray, FloatArray, NDArray[Any]]:
    """Read probabilities and labels of measures and pictures, which take columns as they come.

    Returns the true column of each row, the probabilities, and the label of each column.
    """
    matrix = check_proba(proba, name=name)
    n, n_columns = matrix.shape
    single = one_column(proba, name)
    labels = label_array(y, y_name)
    columns = check_classes(labels, n_columns, classes, y_name, single)
    return codes_of(labels, columns, n, y_name), matrix, columns


def read_scores(
    scores: Any,
    order: ClassOrder | None = None,
    *,
    scale: Scale = "probabilities",
    name: str = "scores",
) -> Scores:
    """Take scores out of an array, a tensor or a frame, in the order of the classes.

    Parameters
    ----------
    scores : array-like, tensor or frame
        A frame has one column per class, named by the class with or without ``p_`` before it
        (in any order once the classes are known), or a single score column. Columns beside
        these, such as an id, are allowed where the classes are known or the scores' names
        begin with ``p_``. Without names, columns are in the order of ``order.columns``.
    order : ClassOrder, optional
        The classes, when they are known.
    scale : {"probabilities", "logits"}
        What the scores are: it says what one class's score leaves for the other.
    name : str
        The argument's name, for messages.
    """
    if order is None:
        return scores_in(scores)
    given = scores_in(scores, order.columns, by_place=scale == "probabilities")
    rows = rows_of(given.values, name)
    values = order.arranged(rows, scale=scale, named=given.single, name=name)
    return given if values is given.values else replace(given, values=values)


def spelled(label: Any) -> str:
    """Return a label as one would type it, text in double quotes."""
    return json.dumps(label, ensure_ascii=False) if isinstance(label, str) else repr(label)
