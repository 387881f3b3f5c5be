"""Summary: all that is kept of rows that stay where they are, and how it merges.

Made where the rows are, merged in any order, sent as bytes, and decided on once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from abstain._inputs import FloatArray
from abstain.summaries._bins import UNIT, Bins, FixedWeights
from abstain.summaries._bytes import packed, unpacked
from abstain.summaries._sample import Sample
from abstain.summaries._summary import BatchSummary

# A total weight below this keeps all sums within 64 bits.
_MOST_WEIGHT = 2**38


@dataclass(frozen=True, eq=False)
class Summary:
    """What is kept of rows that stay where they are: enough to decide about them.

    Made by :meth:`abstain.Abstainer.summarise` from a part of the rows, wherever they are;
    merged; and decided on by :meth:`abstain.Abstainer.decide_summary`. Merging is exact: in any
    order and whatever the parts, the result is the same to the last bit.

    Attributes
    ----------
    n_rows : int
        How many rows with a score it stands for; those of no weight are not counted.
    n_missing : int
        How many rows came without a score, to be given to a person.
    n_classes : int
        How many classes there are.
    total_weight : float
        The weight of the rows with a score; their number where each counts once.

    Notes
    -----
    Of two classes it holds sums in 196,610 bins of the calibrated probability, which are narrower
    towards 0 and 1: at most 8 MB, whatever the number of rows. Of more classes it holds the rows
    themselves up to 524,288 of ten classes (5,242,880 numbers in all), beyond that so many of
    them and the first and second moments of all. Class proportions and expected metrics made
    from it are within 1e-4 of those made from all rows at once; of more rows of ten classes than
    are kept, what is withheld is within 0.001 of the budget, and the metric after that 3e-4.

    Examples
    --------
    >>> from abstain import Abstainer
    >>> from abstain.datasets import screening_clinic
    >>> clinic = screening_clinic(random_state=0)
    >>> abstainer = Abstainer("auroc", budget=0.1, scale="logits", random_state=0)
    >>> abstainer = abstainer.fit(clinic.scores_val, clinic.y_val)
    >>> here = abstainer.summarise(clinic.scores_target[:2000])
    >>> there = abstainer.summarise(clinic.scores_target[2000:])
    >>> here.merge(there)
    <Summary: 5000 rows of 2 classes>
    >>> policy = abstainer.decide_summary(here.merge(there))
    """

    part: Bins | Sample
    maker: str
    n_rows: int
    n_classes: int
    weighted: bool
    units: int
    lightest: float
    n_missing: int = 0
    missing_units: int = 0

    @classmethod
    def of(
        cls,
        proba: FloatArray,
        weight: FloatArray | None,
        maker: str,
        *,
        n_missing: int = 0,
        missing_weight: FloatArray | None = None,
    ) -> Self:
        """Return the summary of calibrated probabilities, of two classes the positive one's.

        Parameters
        ----------
        proba : ndarray of shape (n,) or (n, n_classes)
        weight : ndarray of shape (n,) or None
        maker : str
            Tells what calibrated them: only summaries of one kind merge.
        n_missing : int
            How many rows have no score.
        missing_weight : ndarray or None
            Their weights.
        """
        fixed = None if weight is None else FixedWeights.of(weight)
        part = Bins.of(proba, fixed) if proba.ndim == 1 else Sample.of(proba, fixed)
        n_rows, units, lightest = len(proba), len(proba) * UNIT, 1.0
        if fixed is not None:
            values = fixed.values
            there = values > 0
            n_rows, units = int(there.sum()), fixed.total
            lightest = float(values[there].min()) if n_rows else 1.0
        missing_units = n_missing * UNIT
        if missing_weight is not None:
            missing_units = FixedWeights.of(missing_weight).total
        return cls(
            part,
            maker,
            n_rows,
            2 if proba.ndim == 1 else proba.shape[1],
            weight is not None,
            units,
            lightest,
            n_missing,
            missing_units,
        )

    @classmethod
    def of_part(cls, part: Bins | Sample, maker: str, n_rows: int, n_missing: int) -> Self:
        """Return the summary of rows that count once, summed where they are."""
        n_classes = part.rows.shape[1] if isinstance(part, Sample) else 2
        units, missing_units = n_rows * UNIT, n_missing * UNIT
        return cls(part, maker, n_rows, n_classes, False, units, 1.0, n_missing, missing_units)

    @property
    def total_weight(self) -> float:
        """The weight of all rows with a score."""
        return self.units / UNIT

    @property
    def missing_weight(self) -> float:
        """The weight of all rows without one."""
        return self.missing_units / UNIT

    def merge(self, other: Summary) -> Self:
        """Return the summary of the rows of both.

        Parameters
        ----------
        other : Summary
            Of other rows, made with the same fit.

        Raises
        ------
        ValueError
            If the other was made with another fit: its probabilities mean something else.
        """
        if not isinstance(other, Summary):
            raise TypeError(f"`other` must be a Summary; got {type(other).__name__}.")
        if other.maker != self.maker:
            raise ValueError(
                "Summaries merge when one fitted abstainer made both; these were made with "
                "different calibrations, classes or scales. Fit once, and summarise everything "
                "with that."
            )
        if self.units + other.units >= _MOST_WEIGHT * UNIT:
            raise ValueError(
                f"A summary stands for a total weight below {_MOST_WEIGHT:,}; these have "
                f"{self.total_weight:g} and {other.total_weight:g}."
            )
        return replace(
            self,
            part=self.part.merged(other.part),  # type: ignore[arg-type]
            n_rows=self.n_rows + other.n_rows,
            weighted=self.weighted or other.weighted,
            units=self.units + other.units,
            lightest=min([one.lightest for one in (self, other) if one.n_rows], default=1.0),
            n_missing=self.n_missing + other.n_missing,
            missing_units=self.missing_units + other.missing_units,
        )

    def batch(self, *, ranks: bool) -> BatchSummary:
        """Return what choices are made on: of a ranking its atoms, else rows."""
        counted = not self.weighted
        return self.part.batch(self.n_rows, self.lightest, counted=counted, ranks=ranks)

    @property
    def points(self) -> FloatArray:
        """Probabilities of rows, compact: what edges must stay off."""
        return self.part.points

    def to_bytes(self) -> bytes:
        """Return the summary as bytes, for :meth:`from_bytes` on another machine."""
        facts = {
            "maker": self.maker,
            "n_rows": self.n_rows,
            "n_classes": self.n_classes,
            "weighted": self.weighted,
            "units": self.units,
            "lightest": self.lightest,
            "n_missing": self.n_missing,
            "missing_units": self.missing_units,
        }
        return packed(facts, self.part.to_arrays())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the summary that :meth:`to_bytes` gave.

        Raises
        ------
        ValueError
            If the bytes are cut, damaged, of an unknown version, or no summary at all.
        """
        facts, arrays = unpacked(data)
        kind = Bins if facts["n_classes"] == 2 else Sample
        try:
            part = kind.from_arrays(arrays, facts["weighted"])
        except ValueError as error:
            raise ValueError(f"The bytes are no summary of rows: {error}.") from error
        counted = facts["weighted"] or facts["units"] == facts["n_rows"] * UNIT
        if part.units != facts["units"] or not counted:
            raise ValueError("The bytes are no summary of rows: its numbers of rows differ.")
        return cls(part, **facts)

    def __sizeof__(self) -> int:
        return sum(array.nbytes for array in vars(self.part).values() if hasattr(array, "nbytes"))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        missing = f", {self.n_missing} more without a score" if self.n_missing else ""
        return f"<Summary: {self.n_rows} rows of {self.n_classes} classes{missing}>"
