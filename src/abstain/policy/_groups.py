"""Decisions by group, in each by a rule of its own: for the same share, or the same target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray, Mask, group_names, to_native_frame
from abstain._words import share
from abstain.policy._decisions import Decisions, decision_columns, free_name, plain_column
from abstain.policy._policy import Policy

_MOST_NAMED = 5
# Shares that differ by less do so by rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class GroupDecisions:
    """What to do with each row of a batch, chosen in each group by itself for the same goal.

    Made by :meth:`abstain.Abstainer.decide_groups`.

    Attributes
    ----------
    by : dict of Decisions
        What was decided in each group, by its name: its ``abstention_rate``, its ``estimate``
        before and after with intervals, its ``choice``.
    places : dict of ndarray of int
        Which rows of what came those are.
    policies : dict of Policy
        The rule of each group, to save and to apply to new rows of that group.
    abstain : ndarray of bool, shape (n,)
        True where the row goes to a person.
    prediction : ndarray of shape (n,)
        The predicted class label, also where abstaining; None for a row without a score.
    proba : ndarray of shape (n, n_classes)
        Calibrated, adapted probabilities; NaN for a row without a score.
    groups : ndarray of shape (n,)
        The group of each row.
    priority : ndarray of shape (n,)
        How pressing each row is among those of its group.
    rows : ndarray of int, shape (n,)
        Which rows of what came are here; all of them unless some were dropped.
    doubts : tuple of str
        What speaks against the figures, and where shares are not equal.

    Examples
    --------
    >>> import numpy as np
    >>> from abstain import Abstainer
    >>> from abstain.datasets import screening_clinic
    >>> clinic = screening_clinic(1000, 1000, random_state=0)
    >>> hospital = np.repeat(["A", "B"], [800, 200])
    >>> abstainer = Abstainer("auroc", budget=0.1, scale="logits", random_state=0)
    >>> abstainer.fit(clinic.scores_val, clinic.y_val).decide_groups(
    ...     clinic.scores_target, hospital)
    <GroupDecisions: 100 of 1000 rows withheld; A 80 of 800 (10.0%), B 20 of 200 (10.0%)>
    """

    by: Mapping[Any, Decisions]
    places: Mapping[Any, IntArray]
    frame: Any = field(default=None, repr=False)
    carried: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        each = [
            f"{name} {int(one.abstain.sum())} of {len(one)} ({one.abstention_rate:.1%})"
            for name, one in zip(self._names, self.by.values(), strict=True)
        ]
        more = len(each) - _MOST_NAMED
        shown = ", ".join(each[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        return f"<GroupDecisions: {int(self.abstain.sum())} of {len(self)} rows withheld; {shown}>"

    @property
    def policies(self) -> dict[Any, Policy]:
        """The rule of each group."""
        return {name: one.policy for name, one in self.by.items()}

    @cached_property
    def _came(self) -> IntArray:
        """Which rows of what came are here, group after group."""
        each = [
            at if self.by[name].rows is None else at[self.by[name].rows]
            for name, at in self.places.items()
        ]
        return np.concatenate(each)

    @property
    def rows(self) -> IntArray:
        """Which rows of what came are here."""
        return np.sort(self._came)

    @cached_property
    def abstain(self) -> Mask:
        """True where the row goes to a person."""
        return self._joined(lambda one: one.abstain)

    @property
    def prediction(self) -> NDArray[Any]:
        """The predicted class label of each row."""
        return self._joined(lambda one: one.prediction)

    @property
    def proba(self) -> FloatArray:
        """Calibrated, adapted probabilities, a column per class."""
        return self._joined(lambda one: one.proba)

    @property
    def priority(self) -> FloatArray:
        """How pressing each row is among those of its group."""
        return self._joined(lambda one: one.priority)

    @property
    def groups(self) -> NDArray[Any]:
        """The group of each row."""
        names = np.array([*self.by], dtype=object)
        return np.repeat(names, [len(one) for one in self.by.values()])[np.argsort(self._came)]

    @property
    def doubts(self) -> tuple[str, ...]:
        """What speaks against the figures, and where shares are not equal."""
        each = [
            () if one.assumption is None else one.assumption.doubts for one in self.by.values()
        ]
        of_all = [said for said in each[0] if all(said in doubts for doubts in each)]
        own = [
            f"Group {name}: {said}"
            for name, doubts in zip(self._names, each, strict=True)
            for said in doubts
            if said not in of_all
        ]
        return (*of_all, *own, *self._unequal())

    def to_frame(self) -> Any:
        """Return one row per decision, as :meth:`abstain.Decisions.to_frame` does.

        A column ``group`` is added, and ``threshold`` is that of the row's group.
        """
        made = [
            decision_columns(one, plain_column, gaps=one.missing is not None)
            for one in self.by.values()
        ]
        # A group may be predicted without a threshold.
        every = {name: None for columns in made for name in columns}
        lengths = [len(one) for one in self.by.values()]
        order, joined = np.argsort(self._came), dict[str, Any]()
        for name in every:
            parts = [
                _column(columns.get(name), n) for columns, n in zip(made, lengths, strict=True)
            ]
            column = np.concatenate(parts)[order]
            joined[name] = column.tolist() if column.dtype == object else column
        columns = {"group": self.groups.tolist(), **joined}
        columns = {free_name(name, self.carried): values for name, values in columns.items()}
        return to_native_frame(columns, like=self.frame, carried=self.carried, rows=self.rows)

    @property
    def _names(self) -> list[str]:
        return group_names([*self.by])

    def _joined(self, part: Callable[[Decisions], NDArray[Any]]) -> NDArray[Any]:
        """Return what there is for the rows of each group for all rows, as these came."""
        return np.concatenate([part(one) for one in self.by.values()])[np.argsort(self._came)]

    def _unequal(self) -> list[str]:
        """Say of which groups the share that is referred is not the one that was asked for."""
        tiny, said = [], list[str]()
        for name, one in zip(self._names, self.by.values(), strict=True):
            weight = np.ones(len(one)) if one.sample_weight is None else one.sample_weight
            asked = one.policy.selection
            # A target takes less than the budget that caps it.
            budget = asked.budget if asked is not None and asked.target is None else None
            row = float(weight.max() / weight.sum())
            if not budget:
                continue
            if budget < row - _ROUNDING:
                tiny.append(f"{name} ({len(one):,})")
            elif one.abstention_rate < budget - row - _ROUNDING:
                said.append(
                    f"Of group {name} {share(one.abstention_rate)} are referred and not "
                    f"{share(budget)}: rows tie, or more is not expected to help."
                )
        if tiny:
            more = len(tiny) - _MOST_NAMED
            rest = f" and {more:,} more" if more > 0 else ""
            said.append(
                f"Too few rows for any of them to be referred within the budget: group "
                f"{', '.join(tiny[:_MOST_NAMED])}{rest}. Join them with other groups, or decide "
                f"about more rows at a time."
            )
        return said


def _column(values: Any, n: int) -> NDArray[Any]:
    """Return a column as an array; NaN where there is none, and objects where it has gaps."""
    if values is None:
        return np.full(n, np.nan)
    return np.array(values, dtype=object) if isinstance(values, list) else np.asarray(values)
