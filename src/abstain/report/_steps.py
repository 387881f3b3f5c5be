"""The budget slider: what each budget would withhold, precomputed for the page.

One step is one position of the slider, with everything on the page that follows it. All come
from one budget curve; the rows are only asked which of them a step withholds. Intervals are drawn
at some positions: by how much the draws differ from what the probabilities alone say changes
slowly with the budget, and is interpolated between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._words import class_in_words, estimate, metric_title, number, percent, span
from abstain.decisions import Decisions
from abstain.estimation import EstimatedValue
from abstain.metrics import BudgetCurve, Point
from abstain.report._cases import PageRows
from abstain.report._view import Effect, View
from abstain.selection import Selection
from abstain.shift import ratio_of_priors
from abstain.summaries import BatchSummary

_ALTERNATIVES = ("max-probability", "entropy", "js-divergence", "random")
# Draws are made at every so many positions.
EVERY = 4
# Of more classes than this a draw takes long, and there are fewer.
MANY_CLASSES = 20

N_BINS = 40
N_POINTS = 80
# A matrix of more classes than this can be neither read nor sent for every position.
MOST_IN_MATRIX = 12
MOST_PAIRS = 100
# So few cases round to 0.0 in the list.
FEW_CASES = 0.05


class Slider(NamedTuple):
    """The positions of the slider.

    Attributes
    ----------
    steps : list of dict
        What the page shows at each.
    chosen : int
        Which of them is what was decided.
    marks : ndarray of int, shape (n,)
        The binary digit k of a row's number tells whether position k withholds it.
    """

    steps: list[dict[str, Any]]
    chosen: int
    marks: IntArray


def budget_grid(rate: float, n_steps: int) -> FloatArray:
    """Return the slider's budgets: evenly spaced from 0, with the chosen one among them."""
    top = min(0.9, max(0.3, 2 * rate))
    grid = np.linspace(0.0, top, n_steps)
    if rate > 0:
        # The first stays 0: nobody withheld is what the others are compared with.
        nearest = 1 + int(np.argmin(np.abs(grid[1:] - rate)))
        grid[nearest] = rate
    return grid


def slider(view: View, rows: PageRows, *, errors: FloatArray, too_narrow: bool = False) -> Slider:
    """Return what the page shows at each position of the slider.

    Parameters
    ----------
    view : View
        What was decided.
    rows : PageRows
        The rows, and the groups they are in.
    errors : ndarray of shape (n_classes, n_classes)
        What each kind of error costs.
    too_narrow : bool
        Whether intervals are to be marked as too narrow.
    """
    decisions = view.decisions
    rate = decisions.abstention_rate
    budgets = budget_grid(rate, 21 if view.is_large else 41).tolist()
    chosen = int(np.argmin(np.abs(np.array(budgets) - rate)))
    curve = _curve(decisions, view.whole, budgets)
    every = EVERY if len(decisions.classes) <= MANY_CLASSES else 4 * EVERY
    others = _alternatives(view, budgets, chosen)
    marks = np.zeros(len(decisions), dtype=np.int64)
    steps, known = [], dict[int, EstimatedValue]()
    for k, point in enumerate(curve.points):
        if k == chosen:
            point = point._replace(choice=decisions.choice)
            prediction, abstain = decisions.columns, decisions.abstain
        else:
            prediction, abstain = point.choice.apply(view.proba)
        effect = view.effect(point.choice, prediction, abstain)
        if k != chosen and (k % every == 0 or k == len(budgets) - 1):
            known[k] = view.after(point, (effect.prediction, effect.withheld))
        marks |= abstain.astype(np.int64) << k
        share = float(np.average(abstain, weights=decisions.sample_weight))
        steps.append(
            {
                **_drawings(view, point, effect, errors),
                "alternatives": {name: values[k] for name, values in others.items()},
                "groups": rows.referred_by_group(abstain),
                "budget": view.of_all(budgets[k]),
                "rate": view.of_all(share),
                "withheld": int(np.count_nonzero(abstain)) + len(rows.missing),
            }
        )
    found = _between(curve.points, known, decisions)
    found[chosen] = decisions.estimate.after
    for step, after in zip(steps, found, strict=True):
        nobody = step["withheld"] == len(rows.missing)
        step |= _in_words(view, rows, step, view.before if nobody else after, too_narrow)
    return Slider(steps, chosen, marks)


def _between(
    points: Sequence[Point], known: dict[int, EstimatedValue], decisions: Decisions
) -> list[EstimatedValue]:
    """Return the estimates of all points from those of some."""
    own = np.array([point.value for point in points])
    ends = np.full((len(points), 3), np.nan)
    for k, value in known.items():
        ends[k] = value.value, *value.interval
    beyond = ends - own[:, None]
    at = np.flatnonzero(np.isfinite(beyond).all(axis=1))
    if len(at):
        every = np.arange(len(points))
        columns = [own + np.interp(every, at, column) for column in beyond[at].T]
        between = np.clip(np.column_stack(columns), *decisions.metric.value_range)
        unknown = np.setdiff1d(every, list(known))
        ends[unknown] = between[unknown]
    return [
        EstimatedValue(value, (low, high), decisions.level) for value, low, high in ends.tolist()
    ]


def _curve(decisions: Decisions, summary: BatchSummary, budgets: list[float]) -> BudgetCurve:
    """Return the choice for each budget, in the order in which the decisions were made."""
    policy, values = decisions.policy, decisions.values
    selection = policy.selection or Selection(score=decisions.choice.region.order)
    if values is not None:
        # No probability tells this score, but every row has its own.
        selection = replace(selection, score=lambda proba: values)
    return selection.curve(
        decisions.metric,
        summary,
        budgets,
        seed=decisions.seed,
        labelled=policy.source,
        weights=ratio_of_priors(policy.priors, policy.source_priors),
    )


def _alternatives(view: View, budgets: list[float], chosen: int) -> dict[str, list[float]]:
    """Return the metric if rows were withheld by scores that do not know the metric."""
    names = [*_ALTERNATIVES]
    if len(view.decisions.classes) == 2:
        # With two classes it orders rows as the largest probability does.
        names.remove("entropy")
    found: dict[str, list[float]] = {}
    first: EstimatedValue | None = None
    for name in names:
        selection = Selection(score=name, decision="argmax")
        points = selection.curve(view.decisions.metric, view.drawn, budgets).points
        known: dict[int, EstimatedValue] = {}
        # Where the page opens, and at the ends.
        for k in sorted({0, chosen, len(points) - 1}):
            # None of them withholds anything at first, so that is the same for all.
            if k == 0 and first is not None:
                known[0] = first
                continue
            decided = points[k].choice.apply(view.drawn.proba)
            known[k] = view.after(points[k], decided)
        first = known[0]
        found[name] = [each.value for each in _between(points, known, view.decisions)]
    return found


def _in_words(
    view: View, rows: PageRows, step: dict[str, Any], after: EstimatedValue, too_narrow: bool
) -> dict[str, Any]:
    """Return what referring so many is worth, in numbers and in words."""
    mark = " (too narrow)" if too_narrow else ""
    return {
        "value": after.value,
        "interval": [*after.interval],
        "headline": headline(view, rows, step, after, too_narrow),
        "text": {
            "budget": percent(step["budget"]),
            "withheld": f"{step['withheld']:,}",
            "rate": percent(step["rate"]),
            "value": number(after.value, view.places),
            "interval": span(after.interval, view.places) + mark,
        },
    }


def headline(
    view: View, rows: PageRows, step: dict[str, Any], after: EstimatedValue, too_narrow: bool
) -> str:
    """Return the answer in two sentences."""
    count, title = f"{len(rows):,}", metric_title(view.decisions.metric.name)
    said = f"Refer {step['withheld']:,} of {count} cases ({percent(step['rate'])})"
    if step["withheld"] == 0:
        said = f"Refer none of {count} cases"
    elif len(rows.missing):
        said += f", {len(rows.missing):,} of them for want of a score"
    if not np.isfinite(after.value):
        return f"{said}. The {title} of the rest is not defined."
    before, value = (number(one.value, view.places) for one in (view.before, after))
    change = "is"
    if before != value and np.isfinite(view.before.value):
        change = f"{'rises' if after.value > view.before.value else 'falls'} from {before} to"
    mark = "; the back-test says this is too narrow" if too_narrow else ""
    figure = estimate(after.value, after.interval, after.level, least=view.places, mark=mark)
    return f"{said}. Estimated {title} {change} {figure}."


def _drawings(view: View, point: Point, effect: Effect, errors: FloatArray) -> dict[str, Any]:
    """Return what is drawn, and which cases it is about."""
    decisions = view.decisions
    # The words of a score from outside are those of the rule that was decided by.
    region = point.choice.region if decisions.values is None else decisions.choice.region
    names = [str(name) for name in decisions.classes.tolist()]
    score, label = None, f"p({names[-1]})"
    if len(names) > 2:
        score = view.score(region, effect)
        label = "probability of the predicted class" if score is None else region.score_label
    rule, positive = point.choice.rule, class_in_words(names[-1])
    threshold = rule.threshold
    kept, sums = effect.kept, effect.kept.class_sums
    mass = kept.proba if kept.weight is None else kept.proba * kept.weight[:, None]
    # The expected confusion matrix of what is kept, as the rule predicts it.
    matrix = mass.T @ np.eye(len(names))[effect.prediction[~effect.withheld]]
    matrix *= view.whole.total / view.drawn.total
    return {
        "region": region.in_words(positive),
        "rule": rule.in_words(positive),
        **confusions(matrix),
        "error_cost": float((matrix * errors).sum()),
        "threshold": threshold if threshold is None else min(max(threshold, 0.0), 1.0),
        "proportions": (sums / sums.sum()).tolist() if sums.sum() > 0 else None,
        "histogram": histogram(effect, score, label, len(decisions)),
        "roc": roc_points(kept),
    }


def roc_points(kept: BatchSummary) -> dict[str, list[float]] | None:
    """Return the expected ROC curve, thinned for drawing; None for many classes.

    Points are taken evenly along both axes, so corners stay where they are.
    """
    if len(kept.class_sums) != 2 or (kept.class_sums <= 0).any():
        return None
    positive, negative = kept.atoms.below.positive, kept.atoms.below.negative
    true, false = (1 - (below / below[-1])[::-1] for below in (positive, negative))
    wanted = np.linspace(0, 1, N_POINTS // 2)
    picked = np.unique(
        np.concatenate(
            [
                np.searchsorted(true, wanted).clip(max=len(true) - 1),
                np.searchsorted(false, wanted).clip(max=len(false) - 1),
                [0, len(true) - 1],
            ]
        )
    )
    return {"x": false[picked].round(4).tolist(), "y": true[picked].round(4).tolist()}


def confusions(matrix: FloatArray) -> dict[str, Any]:
    """Return the matrix of few classes whole, and of many the largest of its errors.

    ``mistakes`` has pairs of a true and a predicted column with how many are expected, how many
    such pairs there are in all, and the expected number of errors.
    """
    if len(matrix) <= MOST_IN_MATRIX:
        return {"confusion": matrix.tolist(), "mistakes": None}
    wrong = matrix * (1 - np.eye(len(matrix)))
    largest = np.argsort(-wrong, axis=None, kind="stable")[:MOST_PAIRS]
    pairs = [
        [*divmod(cell, len(matrix)), round(float(wrong.flat[cell]), 2)]
        for cell in largest.tolist()
        if wrong.flat[cell] >= FEW_CASES
    ]
    return {
        "confusion": None,
        "mistakes": {
            "pairs": pairs,
            "of": int((wrong >= FEW_CASES).sum()),
            "total": float(wrong.sum()),
        },
    }


def histogram(effect: Effect, score: FloatArray | None, label: str, n_rows: int) -> dict[str, Any]:
    """Return how many rows lie in each bin, as they weigh, and how many of them are withheld.

    Parameters
    ----------
    effect : Effect
        What is drawn.
    score : ndarray or None
        What withholding is worth, of more than two classes; None for the probability of the
        positive class, or of the predicted one.
    label : str
        What the score is.
    n_rows : int
        How many rows there are.
    """
    proba, withheld = effect.summary.proba, effect.withheld
    low, high, threshold = 0.0, 1.0, None
    values = (
        proba[:, 1] if proba.shape[1] == 2 else proba[np.arange(len(proba)), effect.prediction]
    )
    if score is not None:
        values, low = score, float(score.min())
        high = max(float(score.max()), np.nextafter(low, np.inf))
        threshold = float(score[withheld].min()) if withheld.any() else None
    bins = ((values - low) / (high - low) * N_BINS).astype(np.intp).clip(0, N_BINS - 1)
    weight = np.ones(len(bins)) if effect.summary.weight is None else effect.summary.weight
    every, taken = (
        np.bincount(bins, weights=weight * rows, minlength=N_BINS) * (n_rows / weight.sum())
        for rows in (True, withheld)
    )
    return {
        "label": label,
        "low": low,
        "high": high,
        "all": every.round().astype(np.intp).tolist(),
        "withheld": taken.round().astype(np.intp).tolist(),
        "threshold": threshold,
    }
