"""Audits: which kept rows are labelled all the same, and labels with the chance that they came.

Rows that were referred get a label and kept ones do not, so what comes back is no random sample.
A share of the kept rows, drawn by a keyed hash of their ids, makes it one whose odds are known.
Not in the paper, whose deployed rule never hears of its rows again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import FloatArray, Mask, check_fraction, float_array, row_names, shown
from abstain.exceptions import ArgumentError, Way

__all__ = ["Audit", "SelectedLabels"]

_SHORTEST_KEY, _BITS = 16, 64
_WAY = Way("audit", 0.02)


@dataclass(frozen=True, eq=False)
class Audit:
    """A share of the kept rows that is labelled too, drawn by a keyed hash of each row's id.

    The same rows are drawn whenever, and wherever, the same ids are asked about with the same
    key; and nobody without the key can tell which, nor choose an id that is never drawn.

    Parameters
    ----------
    share : float
        How many of the kept rows, in (0, 1]: each is drawn with this probability, by itself.
    ids : array-like of shape (n,), optional
        What each row is called; rows that are called the same are drawn together. The number of
        the row when not given, which is no name that lasts.
    key : bytes of length 16 or more, optional
        The secret, such as ``secrets.token_bytes(32)``. Without it anybody can tell who is drawn.

    Examples
    --------
    >>> from abstain.audit import Audit
    >>> patients = [f"patient {number}" for number in range(1000)]
    >>> drawn = Audit(0.02, ids=patients, key=bytes(16)).drawn(1000)
    >>> int(drawn.sum())
    18
    >>> bool((drawn[:500] == Audit(0.02, ids=patients[:500], key=bytes(16)).drawn(500)).all())
    True
    """

    share: float
    ids: Any = None
    key: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse a share that audits nobody, and a key that can be guessed."""
        share = check_fraction(self.share, name="audit")
        if share == 0:
            raise ArgumentError(
                f"`audit` must be above 0: with a share of 0 no kept row ever gets a label, and "
                f"nothing can be said of them. For one row in fifty {_WAY}, or leave it out.",
                "audit",
                ways=[_WAY],
            )
        if self.key is not None and not isinstance(self.key, bytes | bytearray):
            raise TypeError(f"`key` must be bytes; got {type(self.key).__name__}.")
        if self.key is not None and len(self.key) < _SHORTEST_KEY:
            raise ArgumentError(
                f"`key` must have {_SHORTEST_KEY} bytes or more; got {len(self.key)}. Make one "
                f"with secrets.token_bytes(32).",
                "key",
            )
        object.__setattr__(self, "share", share)

    @classmethod
    def of(cls, audit: float | Audit) -> Audit:
        """Return an audit, of a share by the numbers of rows where that is all that was given."""
        return audit if isinstance(audit, Audit) else cls(audit)

    def drawn(self, n_rows: int) -> Mask:
        """Tell for each of so many rows whether it is labelled if it is kept."""
        names: Any = range(n_rows)
        if self.ids is not None:
            names = row_names(self.ids, n_rows=n_rows, name="ids", what="scores")
            nameless = [row for row, one in enumerate(names) if one is None]
            if nameless:
                raise ArgumentError(
                    f"`ids` must name every row, as rows are drawn by them; {len(nameless)} of "
                    f"{n_rows} have none, first is row {nameless[0]}.",
                    "ids",
                )
        # A key may be longer than the hash takes.
        key = b"" if self.key is None else hashlib.sha256(self.key).digest()
        below = round(self.share * 2**_BITS)
        digests = (
            hashlib.blake2b(
                str(one).encode(errors="surrogatepass"),
                digest_size=_BITS // 8,
                key=key,
                person=b"abstain-audit",
            ).digest()
            for one in names
        )
        return np.fromiter(
            (int.from_bytes(one, "big") < below for one in digests), np.bool_, n_rows
        )


@dataclass(frozen=True, eq=False)
class AuditedRows:
    """Which rows of a batch are labelled if they are kept, and how probably each was to be.

    Attributes
    ----------
    share : float
        The probability.
    drawn : ndarray of bool, shape (n,)
        Which rows.
    keyed : bool
        Whether nobody without a secret can tell.
    """

    share: float
    drawn: Mask
    keyed: bool

    @classmethod
    def of(cls, audit: float | Audit | None, n_rows: int, rows: Any = None) -> Self | None:
        """Draw them, of all rows that came; then leave those that are not among ``rows`` out."""
        if audit is None:
            return None
        given = Audit.of(audit)
        drawn = given.drawn(n_rows)
        return cls(given.share, drawn if rows is None else drawn[rows], given.key is not None)


@dataclass(frozen=True, eq=False)
class SelectedLabels:
    """Labels that came back of rows that were not picked at random, for ``y_target``.

    Parameters
    ----------
    y : array-like of shape (n,)
        The labels; None, NaN, NA, empty text or masked where none came.
    probability : array-like of shape (n,)
        How probably each row was to get one, as ``decisions.label_probability`` has it: 1 where it
        was referred, the share of the audit where it was kept. NaN for rows that nobody has
        decided about so far.

    Examples
    --------
    >>> from abstain.audit import SelectedLabels
    >>> labels = SelectedLabels([1, None, 0, None], [1.0, 0.02, 0.02, float("nan")])
    >>> labels.check(4).tolist()
    [1.0, 0.02, 0.02, nan]
    """

    y: ArrayLike
    probability: ArrayLike

    def check(self, n_rows: int) -> FloatArray:
        """Return the probabilities; every row that may have been labelled must have had some."""
        return check_label_probability(self.probability, n_rows)


def check_label_probability(probability: ArrayLike, n_rows: int) -> FloatArray:
    """Return how probably each row was to be labelled: NaN, or above 0 and at most 1."""
    found = float_array(probability, "probability")
    if found.shape != (n_rows,):
        raise ArgumentError(
            f"`probability` must have one entry per row; {n_rows} rows, shape {found.shape}.",
            "probability",
        )
    wrong = np.flatnonzero(~(np.isnan(found) | ((found > 0) & (found <= 1))))
    if len(wrong):
        raise ArgumentError(
            f"`probability` must be above 0 and at most 1, or NaN for rows that nobody decided "
            f"about; of {n_rows} rows {len(wrong)} are not, first is row {wrong[0]} "
            f"({shown(float(found[wrong[0]]))}). Rows that can never be labelled can never be "
            f"spoken for: have a share of the kept rows labelled, {_WAY}.",
            "probability",
            ways=[_WAY],
        )
    return found
