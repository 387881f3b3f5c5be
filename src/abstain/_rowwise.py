"""Rows in many places: which columns are scores, and what is decided about one part of the rows.

What a part is sent is small, and plain data: the names of columns and the policy's own JSON
without what it only needs to adapt. Nothing is estimated or warned of part by part.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np

from abstain._inputs import Missing, read_scores, row_roles
from abstain._inputs import to_native_frame as native_frame
from abstain._summariser import Summariser
from abstain.decisions import Decisions, free_name
from abstain.policy import ColumnByNumber, Policy, decision_columns
from abstain.summaries import Summary


class PolicyAndFrame(NamedTuple):
    """A policy, and the frame that it decided about."""

    policy: Policy
    frame: Any


@dataclass(frozen=True)
class ScoreColumns:
    """Which columns of a frame are scores.

    Attributes
    ----------
    names : tuple
        What they are called.
    by_place : bool
        Whether they are in the order of the classes, and no names say which is whose.
    """

    names: tuple[Any, ...]
    by_place: bool = False

    @classmethod
    def of(
        cls, empty: Any, reader: Summariser | Policy, asked: str | Sequence[str] | None
    ) -> Self:
        """Find the score columns of a frame by a frame like it without rows.

        Parameters
        ----------
        empty : frame
            Its columns, without any row.
        reader : Summariser or Policy
            What will read the scores.
        asked : str, sequence of str or None
            The names of the score columns, where they are given.
        """
        order = reader.order
        if asked is None:
            others = read_scores(empty, order, scale=reader.calibrator.scale).others
            return cls(tuple(name for name in _names(empty) if name not in others))
        names = (asked,) if isinstance(asked, str) else tuple(asked)
        for name in names:
            check_column(name, empty, "scores")
        n_classes = len(order.classes)
        allowed = {1, 2} if n_classes == 2 else {n_classes}
        if len({*names}) < len(names) or len(names) not in allowed:
            raise ValueError(
                f"`scores` must name a column for each of {n_classes} classes, each once"
                f"{', or one for the positive class' if n_classes == 2 else ''}; got "
                f"{', '.join(map(repr, names))}."
            )
        said = {str(name).removeprefix("p_") for name in names}
        named = said == {str(label) for label in order.classes.tolist()}
        return cls(names, by_place=len(names) > 1 and not named)

    def values(self, part: Any) -> Any:
        """Return the scores of a part, as what summarising and deciding take."""
        scores = part[[*self.names]] if hasattr(part, "loc") else part.select([*self.names])
        if not self.by_place:
            return scores
        return np.column_stack([np.asarray(scores[name]) for name in self.names])

    def others(self, part: Any) -> tuple[Any, ...]:
        """Return the names of the columns that are no scores."""
        return tuple(name for name in _names(part) if name not in self.names)


def check_column(name: Any, empty: Any, argument: str) -> None:
    """Raise unless a name is that of a column."""
    if name not in (names := _names(empty)):
        raise ValueError(
            f"`{argument}` must name columns that are there; {name!r} is none of them "
            f"({', '.join(map(str, names))})."
        )


def check_missing(missing: str) -> None:
    """Raise for what cannot be done with rows without a score, before any row is read."""
    row_roles(np.empty(0), missing=missing)


def _names(frame: Any) -> list[Any]:
    return list(getattr(frame, "column_names", frame.columns))


@dataclass(frozen=True)
class PartSummary:
    """What is sent to where the rows are to summarise them there.

    Attributes
    ----------
    how : Summariser
        What :meth:`abstain.Abstainer.summariser` returns.
    scores : ScoreColumns
        Which columns are scores.
    sample_weight : str or None
        The name of the column of weights.
    missing : {"error", "refer", "drop"}
        What to do with rows without a score.
    """

    how: Summariser
    scores: ScoreColumns
    sample_weight: Any
    missing: Missing

    @classmethod
    def of(
        cls,
        empty: Any,
        how: Summariser,
        scores: str | Sequence[str] | None,
        sample_weight: str | None,
        missing: Missing,
    ) -> Self:
        """Find what is read of a frame by a frame like it without rows."""
        check_missing(missing)
        if sample_weight is not None:
            check_column(sample_weight, empty, "sample_weight")
            own = [sample_weight]
            empty = empty.drop(columns=own) if hasattr(empty, "loc") else empty.drop_columns(own)
        return cls(how, ScoreColumns.of(empty, how, scores), sample_weight, missing)

    @property
    def columns(self) -> list[Any]:
        """The names of all columns that are read."""
        return [*self.scores.names, *([] if self.sample_weight is None else [self.sample_weight])]

    def summary(self, part: Any) -> Summary | None:
        """Return the summary of a part of a frame; None of one where no row counts."""
        weight = None
        if self.sample_weight is not None:
            weight = np.asarray(part[self.sample_weight])
            if not weight.any():
                return None
        if not len(part):
            return None
        return self.how.summarise(self.scores.values(part), weight, missing=self.missing)


def merge_summaries(summaries: Iterable[Summary | None]) -> Summary | None:
    """Return summaries as one; None where there is none."""
    found: Summary | None = None
    for one in summaries:
        if one is not None:
            found = one if found is None else found.merge(one)
    return found


def check_any_rows(summary: Summary | None) -> Summary:
    """Raise where no row counts."""
    if summary is None:
        raise ValueError("`frame` has no rows that count; there is nothing to choose by.")
    return summary


@dataclass(frozen=True)
class RowRule:
    """A policy as it is sent to where the rows are, and how it reads them there.

    Attributes
    ----------
    policy : bytes
        The rule as JSON, without what it takes to estimate and to adapt.
    scores : ScoreColumns
        Which columns are scores.
    missing : {"error", "refer", "drop"}
        What to do with rows without a score.
    """

    policy: bytes
    scores: ScoreColumns
    missing: Missing

    @classmethod
    def of(cls, policy: Policy, scores: ScoreColumns, missing: Missing) -> Self:
        """Pack a policy."""
        bare = replace(
            policy,
            estimate=None,
            selection=None,
            shift=None,
            source=None,
            certificate=None,
            assumption=None,
        )
        return cls(json.dumps(bare.to_dict()).encode(), scores, missing)

    def frame(self, part: Any, by_number: ColumnByNumber) -> Any:
        """Return a part of a frame with what is decided about its rows.

        The columns are those of ``Decisions.to_frame``. Where rows are withheld as one their
        ``gain`` is NaN: it is a figure of all rows together.
        """
        policy, carried = _unpacked(self.policy), self.scores.others(part)
        if len(part):
            decisions = policy.rows(self.scores.values(part), missing=self.missing)
        else:
            decisions = about_no_rows(policy)
        # The same kind of column in every part, whether or not it has a row without a score.
        gaps = self.missing == "refer"
        made = decision_columns(decisions, by_number, gaps=gaps, of_part=True)
        columns = {free_name(name, carried): values for name, values in made.items()}
        return native_frame(columns, like=part, carried=carried, rows=decisions.rows)


def about_no_rows(policy: Policy) -> Decisions:
    """Return the decisions of a policy about no rows at all: what columns there are."""
    n_classes = len(policy.classes)
    nothing = np.empty(0 if n_classes == 2 else (0, n_classes))
    return Decisions(policy, policy.outcome(nothing))


@lru_cache(maxsize=8)
def _unpacked(policy: bytes) -> Policy:
    return Policy.from_dict(json.loads(policy))
