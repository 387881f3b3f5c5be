"""The most pressing rows of a stream: no more than people can look at.

A row's place in the queue is known when all rows were seen. No more of them is kept meanwhile than
the queue is long; and what is known at the end, in a second pass, is where it ends.
"""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from typing import NamedTuple

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask
from abstain.decisions import Decisions
from abstain.policy import Policy, warn_of_unscored


class QueueEnd(NamedTuple):
    """The last row of a queue.

    Attributes
    ----------
    pressing : float
        How pressing it is.
    number : int
        Its number among all rows; of rows that are as pressing those behind it are let through.
    """

    pressing: float
    number: int

    def cut(self, decisions: Decisions, numbers: IntArray) -> Decisions:
        """Return decisions about rows of these numbers, with those alone withheld that it has."""
        outcome = decisions.outcome
        pressing, numbers = outcome.priority, numbers[decisions.scored_at]
        behind = (pressing == self.pressing) & (numbers > self.number)
        over = outcome.abstain & (behind | (pressing < self.pressing))
        return replace(decisions, outcome=outcome.let_through(over, self.pressing))


class Queue:
    """The rows of a stream that are withheld, of which no more than so many are.

    Parameters
    ----------
    at_most : int or None
        How many; None for all.

    Attributes
    ----------
    n_withheld, n_unscored : int
        How many rows the rule withholds, those without a score among them, and how many are these.
    """

    def __init__(self, at_most: int | None) -> None:
        self.at_most, self.n_withheld, self.n_unscored = at_most, 0, 0
        self._pressing: FloatArray = np.empty(0)
        self._numbers: IntArray = np.empty(0, dtype=np.int64)
        self._adding = Lock()

    def add(self, decisions: Decisions, begin: int) -> None:
        """Take the rows of a chunk, of which the first has this number; in any order."""
        rows = np.flatnonzero(decisions.abstain)
        unscored: Mask | None = decisions.missing
        with self._adding:
            self.n_withheld += len(rows)
            self.n_unscored += 0 if unscored is None else int(unscored.sum())
            if self.at_most is None:
                return
            self._pressing = np.concatenate([self._pressing, decisions.priority[rows]])
            self._numbers = np.concatenate([self._numbers, begin + places(decisions)[rows]])
            if len(self._numbers) > 2 * self.at_most:
                self._shorten(self.at_most)

    def _shorten(self, most: int) -> None:
        first = np.lexsort((self._numbers, -self._pressing))[:most]
        self._pressing, self._numbers = self._pressing[first], self._numbers[first]

    @property
    def end(self) -> QueueEnd | None:
        """Where the queue ends, once all rows were seen; None where it may be of any length."""
        if self.at_most is None:
            return None
        self._shorten(self.at_most)
        if not self.at_most:
            return QueueEnd(np.inf, -1)
        if self.n_withheld <= self.at_most:
            return QueueEnd(-np.inf, -1)
        return QueueEnd(float(self._pressing[-1]), int(self._numbers[-1]))

    def check(self, policy: Policy, n_rows: int) -> int:
        """Warn of what ``Policy.apply`` warns of; return how many rows go to a person."""
        if self.at_most is None:
            policy.warn_of_more(self.n_withheld, n_rows)
            return self.n_withheld
        warn_of_unscored(self.n_unscored, n_rows, self.at_most)
        return min(self.n_withheld, max(self.at_most, self.n_unscored))


def places(decisions: Decisions) -> IntArray:
    """Return where the rows stood before some were dropped."""
    return np.arange(len(decisions)) if decisions.rows is None else decisions.rows
