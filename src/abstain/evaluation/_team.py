"""What the team came to: the model alone, the reader alone, and both, on the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain.decisions import Decisions
from abstain.estimation import EstimatedValue
from abstain.evaluation._intervals import JudgedRows, realised_interval
from abstain.metrics import Metric
from abstain.summaries import RowSummary


@dataclass(frozen=True)
class TeamResult:
    """A metric of model, reader and team, from labels.

    Attributes
    ----------
    n, referred : int
        How many rows have a final answer, and how many of these were referred.
    model : EstimatedValue
        The model alone, on these rows.
    reader : EstimatedValue
        The reader alone, on those of them with an opinion.
    team : EstimatedValue
        The final answers.
    worth : EstimatedValue
        What referral was worth: the team's value less the model's.
    """

    n: int
    referred: int
    model: EstimatedValue
    reader: EstimatedValue
    team: EstimatedValue
    worth: EstimatedValue


def team_results(
    decisions: Decisions, codes: IntArray, chosen: Mapping[str, Metric], level: float
) -> dict[str, TeamResult]:
    """Return what each metric is of model, reader and team; nothing without opinions."""
    if decisions.opinions is None:
        return {}
    final, answers = decisions.answers
    there = np.isin(np.arange(len(decisions)), decisions.scored_at) & (answers >= 0) & (codes >= 0)
    # Of several readers the first that answered.
    said = np.full(len(there), -1, dtype=np.intp)
    for one in decisions.opinions.values():
        said = np.where(said < 0, one, said)
    verdicts = np.eye(len(decisions.classes))[said]
    sides = {
        "model": (decisions.proba, decisions.columns, there),
        "reader": (verdicts, said, there & (said >= 0)),
        "team": (final, answers, there),
    }
    judged = {name: _judged(codes, *side, decisions.sample_weight) for name, side in sides.items()}
    seed, n, referred = decisions.seed, int(there.sum()), int((there & decisions.abstain).sum())
    return {
        name: TeamResult(
            n,
            referred,
            **{side: _value(metric, rows, level, seed) for side, rows in judged.items()},
            worth=_difference(metric, judged["team"], judged["model"], level, seed),
        )
        for name, metric in chosen.items()
    }


def _judged(
    codes: IntArray, proba: FloatArray, columns: IntArray, rows: Any, weight: FloatArray | None
) -> JudgedRows:
    some = None if weight is None else weight[rows]
    return JudgedRows(codes[rows], np.ascontiguousarray(proba[rows]), columns[rows], some)


def _value(metric: Metric, rows: JudgedRows, level: float, seed: int) -> EstimatedValue:
    if not len(rows.codes):
        return EstimatedValue.undefined(level)
    value = rows.value(metric)
    ends = realised_interval(metric, value, rows, level=level, seed=seed)
    return EstimatedValue(value, ends, level)


def _difference(
    metric: Metric, team: JudgedRows, model: JudgedRows, level: float, seed: int
) -> EstimatedValue:
    """Return by how much the team beats the model, by drawing the same rows of both again."""
    n, rng = len(team.codes), np.random.default_rng(seed)
    if not n:
        return EstimatedValue.undefined(level)
    apart = team.value(metric) - model.value(metric)
    share = team.counts / team.counts.sum()
    draws = np.full(metric.n_replicates, np.nan)
    for k in range(len(draws)):
        rows = rng.choice(n, size=n, p=share)
        try:
            values = [
                metric.observed_on(
                    one.codes[rows], RowSummary(one.proba[rows]), one.prediction[rows]
                )
                for one in (team, model)
            ]
        except ValueError:
            # A draw may have one class alone, of which the metric says nothing.
            continue
        draws[k] = values[0] - values[1]
    found = draws[np.isfinite(draws)]
    if 2 * len(found) < len(draws):
        return EstimatedValue.undefined(level)
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return EstimatedValue(apart, (min(low, apart), max(high, apart)), level)
