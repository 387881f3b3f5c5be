"""What to decide for: a metric, and how much to withhold: a budget, a target, a cost; how sure."""

# ruff: noqa: RUF009 - a field that an option fills is a field of a dataclass

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from abstain.cli._options import fraction, metric, reads
from abstain.cli._terminal import spelled
from abstain.cli._values import FILE, check_with, filled_by, in_one_value, option_field

#: More than any table has.
MOST_ROWS = 10**15


def budget_of(text: str) -> float:
    """Return the fraction or the count that a budget is typed as."""
    from abstain._inputs import check_budget

    try:
        value: float = int(text)
    except ValueError:
        value = fraction(text)
    if isinstance(value, int) and abs(value) > MOST_ROWS:
        raise ValueError(f"a count must be at most {MOST_ROWS:,}, or a fraction such as 0.15.")
    return check_budget(value)


def _goal(text: str) -> float | dict[str, float]:
    """Read ``0.95`` or ``sensitivity=0.85,specificity=0.80``."""
    if "=" not in text:
        try:
            return fraction(text)
        except ValueError as error:
            raise ValueError(
                f"{text!r} must be a number or NAME=NUMBER, e.g. sensitivity=0.85,specificity=0.8"
            ) from error
    goals = {}
    for part in text.split(","):
        name, equals, number = part.strip().rpartition("=")
        if not equals or not name:
            raise ValueError(
                f"{part!r} must be a number or NAME=NUMBER, e.g. sensitivity=0.85,specificity=0.8"
            )
        goals[name] = fraction(number)
    return goals


def _numbers(text: str) -> float | list[float]:
    values = [float(part) for part in text.split(",")]
    return values[0] if len(values) == 1 else values


def proportion_range(text: str) -> tuple[float, float]:
    """Read ``0.01:0.2`` or ``1%..20%``."""
    low, separator, high = text.replace("..", ":").partition(":")
    if not separator:
        raise ValueError(f"{text!r} must be LOW:HIGH, e.g. 0.01:0.2 or 1%..20%")
    return fraction(low), fraction(high)


def _matrix(path: Path) -> Any:
    from abstain.metrics import ExpectedCost

    reads(path)
    return ExpectedCost.parse(str(path)).costs


def _promises(text: str) -> dict[str, float]:
    """Read ``npv=0.998,ppv=0.9``."""
    found = _goal(text)
    if not isinstance(found, dict):
        raise ValueError(f"{text!r} must be NAME=NUMBER, e.g. npv=0.998,ppv=0.9")
    return found


@dataclass(frozen=True)
class Goal:
    """What to decide for, as the options say it.

    Attributes
    ----------
    metric : Metric
        What to optimise.
    budget, target, cost, arms : float, list or dict, or None
        How much to withhold; one of them is given.
    errors, value_of_metric : ndarray or float, or None
        What goes with a cost.
    confidence, prior_range : float and tuple, or None
        Of a certificate.
    team : {"combine", "replace"} or None
        What becomes of a reader's answer.
    equal : {"referral"} or None
        What is to be the same in every group.
    """

    metric: Any = filled_by(metric)
    budget: float | None = option_field(
        "--budget",
        callback=check_with(budget_of),
        help="The most that may be withheld: a fraction such as 0.15 or 15%, or a count such "
        "as 200.",
    )
    target: float | dict[str, float] | None = option_field(
        "--target",
        callback=check_with(_goal),
        help="Withhold as few as reach this: 0.95, 95%, or sensitivity=0.85,specificity=0.80; "
        "with --budget no more than that.",
    )
    cost: float | list[float] | None = option_field(
        "--cost",
        callback=check_with(_numbers),
        help="What withholding one row costs; or one cost per true class, with commas.",
    )
    arms: dict[str, float] | None = option_field(
        "--arms",
        callback=check_with(_promises),
        help="Release, and act on, as many as this can be proved for: npv=0.998,ppv=0.9, or "
        "sensitivity=..., specificity=...; the rest go to a person.",
    )
    errors: Any = option_field(
        "--errors",
        type=FILE,
        callback=check_with(_matrix),
        help="With --cost: a CSV matrix of what errors cost, a row per true class and a "
        "column per predicted one, of two classes the negative first, no header.  "
        "[default: every error costs 1]",
    )
    value_of_metric: float | None = option_field(
        "--value-of-metric",
        type=float,
        help="With --cost: what a metric of 1 is worth per row, instead of --errors.",
    )
    confidence: float | None = option_field(
        "--confidence",
        callback=check_with(fraction),
        help="Prove with the labels what a --target or a --budget gives, with this confidence, "
        "e.g. 0.9.  [default: of --arms 0.95]",
    )
    prior_range: tuple[float, float] | None = option_field(
        "--prior-range",
        "--prevalence",
        callback=check_with(proportion_range),
        help="With --confidence or --arms: the range of the positive class's proportion, "
        "0.02:0.2 or 2%..20%.",
    )
    team: Any = option_field(
        "--team",
        type=click.Choice(["combine", "replace"]),
        help="Optimise the final answers: where a row is referred, what model and reader say "
        "together (combine), or what the reader says (replace).  [default: combine, with "
        "--reviewer]",
    )

    equal: str | None = option_field(
        "--equal",
        type=click.Choice(["referral"]),
        help="With --budget and --by: refer the same share of each group, each by a rule of its "
        "own.",
    )

    def parameters(self) -> dict[str, Any]:
        """Return the keyword arguments of ``Abstainer`` that the options stand for."""
        given = [
            f"--{name}"
            for name in ("budget", "target", "cost", "arms")
            if getattr(self, name) is not None
        ]
        if len(given) != 1 and given != ["--budget", "--target"]:
            raise click.UsageError(
                f"Give exactly one of --budget, --target, --cost, --arms; "
                f"got {' and '.join(given) if given else 'none of them'}. "
                f"A --budget may cap a --target."
            )
        cost: Any = None
        if self.cost is not None:
            from abstain import Cost

            try:
                cost = Cost(self.cost, self.errors, value_of_metric=self.value_of_metric)
            except (TypeError, ValueError) as error:
                raise click.UsageError(spelled(error)) from error
        elif self.errors is not None or self.value_of_metric is not None:
            raise click.UsageError("--errors and --value-of-metric go with --cost.")
        return {
            "metric": self.metric,
            "budget": self.budget,
            "target": self.target,
            "cost": cost,
            "arms": self.arms,
            "confidence": self.confidence,
            "prior_range": self.prior_range,
            "team": self.team,
        }

    def of_positive(self) -> Iterator[str]:
        """Yield what was asked for that depends on which of two classes is the positive one."""
        from abstain.selection import goals_of

        if self.metric.of_positive:
            yield f"--metric {self.metric.name}"
        goals = {} if self.target is None else goals_of(self.target, self.metric)
        for name, goal in goals.items():
            if goal.metric.of_positive:
                yield f"--target {name}"
        if self.arms is not None:
            yield "--arms"
        if self.prior_range is not None:
            yield "--prior-range"


goal_options = in_one_value(Goal, "goal")
