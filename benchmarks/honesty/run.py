"""The checks: every split decided about at every budget, and what came out beside the estimate."""

import os
import time
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from abstain import Abstainer
from abstain._numerics import progress_bar
from abstain.exceptions import AbstainError, AssumptionWarning
from benchmarks.honesty.peers import Peers
from benchmarks.honesty.sets import load
from benchmarks.honesty.shifts import SHIFTS, Shift, Split, split

__all__ = ["BUDGETS", "Check", "PeerCheck", "Task", "checks", "metrics_for", "tasks"]

BUDGETS = (0.0, 0.1, 0.2, 0.3)
RANKING = ("auroc", "sensitivity@specificity=0.9", "average-precision")
OF_TWO = ("accuracy", "balanced-accuracy", "f1", "f1:macro", "mcc", "kappa", *RANKING)
OF_MANY = ("accuracy", "balanced-accuracy", "f1:macro", "mcc", "kappa")
# Rounding may put a value that equals an end a hair outside.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Task:
    """One split, the metrics and budgets to check on it, and whether peers estimate too."""

    set: str
    shift: Shift
    run: int
    metrics: tuple[str, ...]
    budgets: tuple[float, ...] = BUDGETS
    peers: bool = True


@dataclass(frozen=True)
class Check:
    """An estimate, and what came out; ``error`` names what was raised instead, if anything."""

    set: str
    shift: str
    metric: str
    withheld: float
    run: int
    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    realised: float = np.nan
    seconds: float = np.nan
    warned: bool = False
    error: str = ""

    @property
    def defined(self) -> bool:
        """Whether the metric has a value on these rows, which an estimate could miss."""
        return not np.isnan(self.realised)

    @property
    def covered(self) -> bool:
        """Whether the interval holds what came out; one of NaN holds nothing."""
        return self.low - TOLERANCE <= self.realised <= self.high + TOLERANCE


@dataclass(frozen=True)
class PeerCheck:
    """What a peer estimated of the classifier's own predictions, and what came out."""

    set: str
    shift: str
    metric: str
    run: int
    peer: str
    value: float
    realised: float


def metrics_for(n_classes: int) -> tuple[str, ...]:
    """Return the metrics that are checked with so many classes."""
    return OF_TWO if n_classes == 2 else OF_MANY


def tasks(
    names: Iterable[str],
    *,
    runs: int,
    shifts: Iterable[Shift] = SHIFTS,
    per_run: int | None = None,
    peers: bool = True,
) -> list[Task]:
    """Return the splits to check, with all metrics at all budgets on each.

    With ``per_run`` only so many metrics are checked on a split, each in its turn; where it is
    one, at one budget only, so that all checks are of splits of their own.
    """
    made = []
    for name in names:
        metrics = metrics_for(load(name).n_classes)
        for shift in shifts:
            for run in range(runs):
                taken, budgets = metrics, BUDGETS
                if per_run is not None:
                    start = run * per_run
                    taken = tuple(metrics[(start + i) % len(metrics)] for i in range(per_run))
                if per_run == 1:
                    budgets = (BUDGETS[run // len(metrics) % len(BUDGETS)],)
                made.append(Task(name, shift, run, taken, budgets, peers))
    # Late ones of one kind would leave a core idle.
    return [made[i] for i in np.random.default_rng(0).permutation(len(made))]


def checks(
    todo: Sequence[Task], *, workers: int = 2, show: bool | None = None
) -> tuple[list[Check], list[PeerCheck]]:
    """Do the tasks in several processes, and return what was found."""
    ours: list[Check] = []
    others: list[PeerCheck] = []
    # A process forked from one with running threads may hang.
    fresh = get_context("spawn")
    with (
        ProcessPoolExecutor(workers, mp_context=fresh, initializer=_alone) as pool,
        progress_bar(len(todo), "splits", show=show) as advance,
    ):
        for found, peers in pool.map(_done, todo, chunksize=4):
            ours += found
            others += peers
            advance()
    return ours, others


def _alone() -> None:
    """Keep this process to one core: threads of several would wait for each other."""
    os.environ["ABSTAIN_NUM_THREADS"] = "1"
    threadpool_limits(1)


def _done(task: Task) -> tuple[list[Check], list[PeerCheck]]:
    part = split(load(task.set), task.shift, task.run)
    ours = [check for metric in task.metrics for check in _checked(task, metric, part)]
    return ours, _estimated_by_peers(task, part) if task.peers else []


def _estimated_by_peers(task: Task, part: Split) -> list[PeerCheck]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peers = Peers(part)
        return [
            PeerCheck(task.set, task.shift, metric, task.run, peer, value, truth)
            for metric in task.metrics
            for peer, value, truth in peers.estimates(metric)
        ]


def _checked(task: Task, metric: str, part: Split) -> list[Check]:
    """Fit once, then decide at each budget."""
    about: dict[str, Any] = {
        "set": task.set, "shift": task.shift, "metric": metric, "run": task.run,
    }  # fmt: skip
    abstainer = Abstainer(metric, budget=0.0, scale=part.scale, random_state=part.seed)
    made = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            abstainer.fit(part.scores_val, part.y_val, classes=range(load(task.set).n_classes))
        except (AbstainError, ValueError) as error:
            return [Check(**about, withheld=b, error=_named(error)) for b in task.budgets]
    for budget in task.budgets:
        try:
            made.append(_decided(abstainer.set_params(budget=budget), part, about, budget))
        except (AbstainError, ValueError) as error:
            made.append(Check(**about, withheld=budget, error=_named(error)))
    return made


def _decided(abstainer: Abstainer, part: Split, about: dict[str, Any], budget: float) -> Check:
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        decisions = abstainer.decide(part.scores)
        estimated = decisions.estimate.after
    seconds = time.perf_counter() - start
    kept = ~decisions.abstain
    realised = decisions.metric.observed(
        part.y[kept],
        decisions.proba[kept],
        prediction=np.searchsorted(decisions.classes, decisions.prediction[kept]),
    )
    low, high = estimated.interval
    return Check(
        **about,
        withheld=budget,
        value=float(estimated.value),
        low=float(low),
        high=float(high),
        realised=float(realised),
        seconds=seconds,
        warned=any(issubclass(w.category, AssumptionWarning) for w in said),
    )


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def as_plain(found: Iterable[Check | PeerCheck]) -> list[dict[str, Any]]:
    """Return checks as plain data."""
    return [asdict(check) for check in found]
