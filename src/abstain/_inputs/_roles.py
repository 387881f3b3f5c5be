"""What part each row of a batch has: to be decided about, without a score, or of known label.

Nothing is to be decided about the latter two. They are told apart here, once; behind this only
the rows that are left are calibrated, adapted and chosen from, as if they had come alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs._checks import (
    FloatArray,
    IntArray,
    Mask,
    Scale,
    check_sample_weight,
    check_scores,
)
from abstain._inputs._frames import as_array, plain_array
from abstain._inputs._labels import check_labels, gaps_in, label_array, listed, raw_labels
from abstain.exceptions import ArgumentError, Way

Missing = Literal["error", "refer", "drop"]

_MISSING = get_args(Missing)
# Rows that a message names at most.
_MOST_NAMED = 5


@dataclass(frozen=True, eq=False)
class RowRoles:
    """Which rows of a batch are to be decided about, and what becomes of the others.

    Attributes
    ----------
    n_rows : int
        How many rows came.
    rows : ndarray of int or None
        Positions, in what came, of the rows that are not dropped; None for all.
    missing : ndarray of bool or None
        Which of these have no score; None for none.
    codes : ndarray of int or None
        The column of their label, -1 where it is not known; None where none is.
    """

    n_rows: int
    rows: IntArray | None = None
    missing: Mask | None = None
    codes: IntArray | None = None

    def __len__(self) -> int:
        return self.n_rows if self.rows is None else len(self.rows)

    @property
    def known(self) -> Mask | None:
        """Which rows have a known label; None for none."""
        return None if self.codes is None else self.codes >= 0

    @property
    def referred(self) -> Mask:
        """Which rows have neither a score nor a label: a person has to look."""
        return _or_none(self.missing, len(self)) & ~_or_none(self.known, len(self))

    @property
    def n_referred(self) -> int:
        """How many these are."""
        return 0 if self.missing is None else int(self.referred.sum())

    @property
    def at(self) -> IntArray:
        """Positions, among those not dropped, of the rows to be decided about."""
        out = _or_none(self.missing, len(self)) | _or_none(self.known, len(self))
        return np.flatnonzero(~out)

    @property
    def labelled_at(self) -> IntArray:
        """Positions, among those not dropped, of the rows with both a score and a label."""
        return np.flatnonzero(_or_none(self.known, len(self)) & ~_or_none(self.missing, len(self)))

    @property
    def nothing(self) -> bool:
        """Whether no row is set aside or dropped."""
        return self.rows is None and self.missing is None and self.codes is None

    def check_left(self) -> None:
        """Raise if no row is left to decide about."""
        if not self.n_rows:
            raise ArgumentError("`scores` is empty; pass at least one row.", "scores")
        if len(self) and (self.nothing or len(self.at)):
            return
        missing, known = (
            0 if rows is None else np.count_nonzero(rows) for rows in (self.missing, self.known)
        )
        raise ArgumentError(
            f"`scores` must have a row to decide about; of {self.n_rows} rows "
            f"{self.n_rows - len(self) + missing} have no score and {known} have a known label.",
            "scores",
        )

    def left(self, values: Any) -> Any:
        """Return what there is for each row without that for the dropped ones."""
        if values is None or self.rows is None:
            return values
        return np.asarray(as_array(values))[self.rows]

    def scored(self, values: Any) -> Any:
        """Return what there is for each row for the rows to be decided about alone."""
        return values if self.nothing else _part(self.left(values), self.at)

    def labelled(self, values: Any) -> Any:
        """Return what there is for each row for those with both a score and a label."""
        return _part(self.left(values), self.labelled_at)

    def check(self, values: Any, *, scale: Scale, n_classes: int) -> None:
        """Raise for scores that are there and wrong, by the numbers of the rows as they came."""
        array = np.array(as_array(values), dtype=np.float64)
        gaps = np.isnan(array) if array.ndim == 1 else np.isnan(array).any(axis=1)
        if not gaps.all():
            # A gap is not what is asked about here; any row that is there will do in its place.
            array[gaps] = array[np.argmin(gaps)]
            check_scores(array, scale=scale, n_classes=n_classes)

    def weights(self, sample_weight: ArrayLike | None) -> tuple[FloatArray | None, ...]:
        """Return the weights of all rows not dropped, and of those to be decided about."""
        if sample_weight is None:
            return None, None
        weight = check_sample_weight(sample_weight, n_rows=self.n_rows)
        part = self.scored(weight)
        if len(part) and not part.any():
            raise ArgumentError(
                "`sample_weight` must not be zero for every row that has a score and no label.",
                "sample_weight",
            )
        return self.left(weight), part

    def counts(self, weight: FloatArray | None, n_classes: int) -> FloatArray:
        """Return the weight of the known labels of each class."""
        if self.codes is None:
            return np.zeros(n_classes)
        known = self.codes >= 0
        each = None if weight is None else weight[known]
        return np.bincount(self.codes[known], each, n_classes).astype(np.float64)


def row_roles(
    values: Any,
    *,
    missing: str,
    y_target: ArrayLike | None = None,
    classes: NDArray[Any] | None = None,
) -> tuple[Any, RowRoles]:
    """Tell apart the rows of a batch that are to be decided about.

    Parameters
    ----------
    values : array-like of shape (n,) or (n, n_classes)
        The scores. A row has none where any of them is NaN, None or null.
    missing : {"error", "refer", "drop"}
        What to do with rows that have neither a score nor a label.
    y_target : array-like of shape (n,), optional
        Labels where they are known; None, NaN, NA, empty text or masked where not.
    classes : ndarray, optional
        The label of each column, for ``y_target``.

    Returns
    -------
    values, RowRoles
        The scores with NaN in every gap.
    """
    if missing not in _MISSING:
        raise ArgumentError(
            f'`missing` must be "error", "refer" or "drop"; got {missing!r}.', "missing"
        )
    values = plain_array(values, "scores")
    n = len(values) if values.ndim else 0
    gaps = codes = None
    # The least is NaN where anything is; to look for it takes no memory.
    if values.dtype.kind == "f" and values.ndim in (1, 2) and np.isnan(values.min(initial=np.inf)):
        gaps = np.isnan(values) if values.ndim == 1 else np.isnan(values).any(axis=1)
    if y_target is not None and classes is not None:
        codes = known_codes(y_target, classes, n)
    if gaps is None:
        return values, RowRoles(n, codes=codes)
    helpless = gaps if codes is None else gaps & (codes < 0)
    if not helpless.any() or missing == "refer":
        return values, RowRoles(n, missing=gaps, codes=codes)
    if missing == "error":
        raise ArgumentError(
            f"`scores` has gaps: {int(helpless.sum())} of {n} rows have no score (NaN, None or "
            f'null), {_numbered(helpless)}. Pass missing="refer" to give these rows to a person, '
            f'or missing="drop" to leave them out.',
            "scores",
            ways=[Way("missing", "refer"), Way("missing", "drop", 'missing="drop"')],
        )
    rows = np.flatnonzero(~helpless)
    gaps = gaps[rows]
    return values, RowRoles(
        n, rows, gaps if gaps.any() else None, None if codes is None else codes[rows]
    )


def known_codes(
    given: ArrayLike, classes: NDArray[Any], n: int, name: str = "y_target"
) -> IntArray | None:
    """Return the column of each known label, -1 where it is not known; None where none is."""
    labels = raw_labels(given, name)
    if len(labels) != n:
        raise ArgumentError(
            f"`{name}` must have one entry per row, empty (None or NaN) where the label is not "
            f"known; {n} rows, shape {labels.shape}.",
            name,
        )
    empty = gaps_in(labels)
    rows = np.arange(n) if empty is None else np.flatnonzero(~empty)
    if not len(rows):
        return None
    codes = np.full(n, -1, dtype=np.intp)
    present = label_array(labels[rows], name)
    known = {*classes.tolist()}
    strange = [
        row for row, one in zip(rows.tolist(), present.tolist(), strict=True) if one not in known
    ]
    if strange:
        raise ArgumentError(
            f"`{name}` has a label that is no class in {len(strange)} of {n} rows, first is row "
            f"{strange[0]} ({labels.tolist()[strange[0]]!r}). The classes are {listed(classes)}; "
            f"leave what is not known empty (None or NaN).",
            name,
        )
    codes[rows] = check_labels(present, classes=classes, name=name)
    return codes


def _part(values: Any, rows: IntArray) -> Any:
    return None if values is None else np.asarray(as_array(values))[rows]


def _or_none(mask: Mask | None, n: int) -> Mask:
    return np.zeros(n, dtype=np.bool_) if mask is None else mask


def _numbered(rows: Mask) -> str:
    """Name the first of the marked rows."""
    found = np.flatnonzero(rows)
    named = ", ".join(str(row) for row in found[:_MOST_NAMED].tolist())
    more = ", ..." if len(found) > _MOST_NAMED else ""
    return f"row {named}" if len(found) == 1 else f"rows {named}{more}"
