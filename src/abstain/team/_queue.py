"""How long referred cases wait: a simulation of the people who look at them.

Cases come at random, each is as pressing as one that the rule refers, and whoever is free takes
the most pressing of those that wait, or the one that came first.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import FloatArray, check_generator, check_whole, float_array, shown
from abstain._numerics import gamma_draws
from abstain.exceptions import ArgumentError

Order = Literal["pressing", "first"]

#: Cases that are simulated at most: a minute's work.
_MOST_CASES = 2_000_000
# Times that vary by less than this part of them are as good as equal.
_EQUAL = 1e-3


@dataclass(frozen=True, eq=False)
class Waiting:
    """How long cases waited.

    Attributes
    ----------
    wait : ndarray of shape (n,)
        Minutes from when a case came to when somebody began with it, in the order they came;
        without the first tenth, which found the queue empty.
    pressing : ndarray of shape (n,)
        How pressing each was.
    busy : float
        How much of the reviewers' time the cases take, in [0, infinity); from 1 on the queue grows
        for as long as it runs, and the waiting times tell of how long that was.
    """

    wait: FloatArray
    pressing: FloatArray
    busy: float

    @property
    def mean(self) -> float:
        """The mean waiting time, in minutes."""
        return float(self.wait.mean())

    def quantile(self, level: float) -> float:
        """Return the minutes that so large a part of the cases waits at most."""
        return float(np.quantile(self.wait, level))

    def most_pressing(self, share: float) -> Waiting:
        """Return the same of the most pressing cases alone."""
        chosen = self.pressing >= np.quantile(self.pressing, 1 - share)
        return Waiting(self.wait[chosen], self.pressing[chosen], self.busy)

    def __repr__(self) -> str:
        half, most = self.quantile(0.5), self.quantile(0.9)
        return (
            f"<Waiting: {self.mean:.1f} minutes on average, half at most {half:.1f}, nine of ten "
            f"at most {most:.1f};\nreviewers are busy {min(self.busy, 1.0):.0%} of the time>"
        )


def simulate_queue(
    per_hour: float,
    minutes: ArrayLike,
    *,
    pressing: ArrayLike | None = None,
    order: Order = "pressing",
    variation: float = 1.0,
    n_cases: int = 20_000,
    random_state: object = 0,
) -> Waiting:
    """Simulate how long referred cases wait for a reviewer.

    Parameters
    ----------
    per_hour : float
        How many cases are referred in an hour; they come independently of each other.
    minutes : float or array-like of shape (n_reviewers,)
        How long each reviewer takes for a case, on average.
    pressing : array-like of shape (n,), optional
        How pressing referred cases are, such as ``decisions.priority[decisions.abstain]``: each
        that comes is as pressing as one of them. All alike when not given.
    order : {"pressing", "first"}
        Who comes next: the most pressing, and of equals the one who came first; or who came
        first. A case that was begun is finished.
    variation : float
        The standard deviation of the time for a case, over its mean: 1 as of waiting for chance,
        0 where each takes as long as the others.
    n_cases : int
        How many cases are simulated, at most two million.
    random_state : int, Generator or None
        Seeds the simulation.

    Returns
    -------
    Waiting

    Notes
    -----
    Of several who are free the one that has been so for longest takes a case. With times as of
    chance and cases alike the mean is what Erlang's formula gives; with equal times and one
    reviewer that of Pollaczek and Khinchine.

    References
    ----------
    A. Erlang, 1917. Solution of some problems in the theory of probabilities of significance in
    automatic telephone exchanges.

    Examples
    --------
    >>> from abstain.team import simulate_queue
    >>> simulate_queue(10, [10, 10], random_state=0)
    <Waiting: 24.2 minutes on average, half at most 13.2, nine of ten at most 65.6;
    reviewers are busy 83% of the time>
    """
    rng = check_generator(random_state)
    check_whole(n_cases, name="n_cases", least=100, most=_MOST_CASES)
    times = np.atleast_1d(float_array(minutes, "minutes"))
    _check_above_zero(per_hour=np.array([per_hour], dtype=np.float64), minutes=times)
    if order not in get_args(Order):
        raise ArgumentError(
            f"`order` must be one of {', '.join(get_args(Order))}; got {order!r}.", "order"
        )
    if not 0 <= variation < np.inf:
        raise ArgumentError(f"`variation` must be at least 0; got {variation!r}.", "variation")
    came = np.cumsum(rng.standard_exponential(n_cases)) * 60 / per_hour
    work = np.ones(n_cases)
    if variation > _EQUAL:
        shape = np.array([1 / variation**2])
        work = gamma_draws(shape, n_cases, rng)[:, 0] / shape
    urgency = np.zeros(n_cases)
    if pressing is not None:
        given = float_array(pressing, "pressing")
        if not given.size:
            raise ArgumentError(
                "`pressing` is empty; give how pressing referred cases are.", "pressing"
            )
        urgency = given[rng.integers(len(given), size=n_cases)]
    begun = _begun(
        came, work, np.sort(times), urgency if order == "pressing" else np.zeros(n_cases)
    )
    kept = slice(n_cases // 10, None)
    busy = per_hour / (60 / times).sum()
    return Waiting((begun - came)[kept], urgency[kept], float(busy))


def _begun(
    came: FloatArray, work: FloatArray, times: FloatArray, urgency: FloatArray
) -> FloatArray:
    """Return when each case was begun: one event after the other."""
    begun = np.empty(len(came))
    # By when they are free again, and of equals the quickest.
    free = [(0.0, float(minutes)) for minutes in times]
    heapify(free)
    waiting: list[tuple[float, int]] = []
    coming = 0
    for _ in range(len(came)):
        now, minutes = free[0]
        if not waiting:
            now = max(now, came[coming])
        while coming < len(came) and came[coming] <= now:
            heappush(waiting, (-urgency[coming], coming))
            coming += 1
        _, case = heappop(waiting)
        begun[case] = now
        heapreplace(free, (now + work[case] * minutes, minutes))
    return begun


def _check_above_zero(**amounts: FloatArray) -> None:
    for name, values in amounts.items():
        if not values.size or not ((values > 0) & (values < np.inf)).all():
            raise ArgumentError(f"`{name}` must be above 0; got {shown(values.tolist())}.", name)
