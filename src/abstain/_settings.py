"""Settings: what an Abstainer is asked for, and what of it goes together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from abstain import metrics, shift
from abstain._inputs import FloatArray, IntArray, check_level, group_codes, on_device
from abstain._numerics import Parameters
from abstain.certificates import check_arms, check_confidence, check_prior_range
from abstain.exceptions import ArgumentError, Way
from abstain.metrics import Decision, Metric
from abstain.selection import RATES, Cost, Selection, goals_of
from abstain.shift import ShiftEstimator
from abstain.team import Answer, Reviewer


class Settings(Parameters):
    """The parameters of an Abstainer, which are described there."""

    metric: Metric | str
    budget: float | None
    target: float | dict[str, float] | None
    cost: Cost | None
    arms: dict[str, float] | None
    confidence: float | None
    prior_range: tuple[ArrayLike, ArrayLike] | None
    score: str | Callable[..., FloatArray] | None
    decision: Decision
    shift: ShiftEstimator | str
    level: float
    team: Answer | None
    reviewer: Reviewer | Mapping[str, Reviewer] | None

    @property
    def _selection(self) -> Selection:
        return Selection(
            budget=self.budget,
            target=self.target,
            cost=self.cost,
            score=self.score,
            decision=self.decision,
            arms=self.arms,
        )

    @property
    def _proves(self) -> bool:
        return self.confidence is not None or self.arms is not None

    def _of_positive(self, metric: Metric) -> Iterator[str]:
        """Yield what was asked for that depends on which class is the positive one."""
        goals = {} if self.target is None else goals_of(self.target, metric)
        if metric.of_positive:
            yield f"`metric` {metric.name!r} is of the positive class"
        if self.arms is not None:
            yield "`arms` release the negative class and act on the positive one"
        for name, goal in goals.items():
            if goal.metric.of_positive:
                yield f"`target` {name!r} is of the positive class"
        if self.prior_range is not None and all(np.ndim(side) == 0 for side in self.prior_range):
            yield "`prior_range` is a pair of numbers: it is of the positive class"
        if shift.get(self.shift).of_positive:
            yield "`shift` has one proportion: it is of the positive class"

    def _by_group(self, groups: ArrayLike, n_rows: int) -> IntArray:
        """Return the group of each labelled row as a number."""
        if self.arms is None:
            raise ArgumentError(
                "`groups` of labelled rows are for what `arms` promise in each of them.", "groups"
            )
        return group_codes(groups, n_rows=n_rows)[1]

    def _check_equal(self, scores: ArrayLike) -> None:
        """Refuse what is not the same share of each group, and no target in each."""
        for name in ("cost", "arms", "confidence", "team"):
            if getattr(self, name) is not None:
                raise ArgumentError(
                    f"`{name}` is of all rows together; for groups of new rows give a `budget` or "
                    f"a `target`.",
                    name,
                )
        if self.budget is not None and not isinstance(self.budget, float | np.floating):
            raise ArgumentError(
                f"`budget` of groups must be a fraction, such as 0.15, as so much is referred of "
                f"each; got {self.budget!r}.",
                "budget",
            )
        if on_device(scores):
            raise ArgumentError(
                "`scores` in groups must be in memory, not on a device; give an array of NumPy.",
                "scores",
            )

    def _check_team(self) -> None:
        if self.team is None:
            if self.reviewer is not None or self.score == "codoc":
                what = "reviewer" if self.reviewer is not None else "score"
                raise ArgumentError(
                    f'`{what}` is of a team: pass team="combine" or team="replace" as well.',
                    what,
                    ways=[Way("Abstainer(team)", "combine", 'pass team="combine"')],
                )
            return
        if self.team not in get_args(Answer):
            raise ArgumentError(
                f'`team` must be "combine" or "replace"; got {self.team!r}.', "team"
            )
        if self._proves:
            what = "confidence" if self.arms is None else "arms"
            raise ArgumentError(
                f"`{what}` proves what kept rows do, and a team answers for all; leave one of the "
                f"two out.",
                what,
            )
        if isinstance(self.target, dict) and {*self.target} != {metrics.get(self.metric).name}:
            raise ArgumentError("`target` of a team is one value, of the metric.", "target")

    def _check_classes(self, metric: Metric, n_classes: int) -> None:
        metric.check_n_classes(n_classes)
        if isinstance(self.target, dict) and n_classes != 2 and {*self.target} & {*RATES}:
            raise ValueError(
                f"`target` names a sensitivity or specificity, which are for two classes; the "
                f"scores have {n_classes}. Use e.g. 'balanced-accuracy' or 'recall:macro'."
            )
        if self.cost is not None:
            self.cost.check_n_classes(n_classes)
        if self.arms is not None and n_classes != 2:
            raise ArgumentError(
                f"`arms` are for two classes; the scores have {n_classes}. Join classes first.",
                "arms",
            )
        check_prior_range(self.prior_range, n_classes)

    def _check_parameters(self, metric: Metric) -> None:
        selection = self._selection
        selection.check(metric)
        if selection.arms is not None:
            check_arms(selection.arms, self.prior_range)
        self._check_team()
        if self.confidence is not None:
            check_confidence(self.confidence)
            if self.budget is not None and self.target is not None:
                raise ArgumentError("`budget` caps no target that is certified.", "budget")
        elif self.prior_range is not None and self.arms is None:
            raise ArgumentError(
                "`prior_range` is for a certificate; pass `confidence` with it.",
                "prior_range",
                ways=[Way("confidence", python="pass `confidence` with it")],
            )
        check_level(self.level)
        shift.get(self.shift)
