"""The smallest abstention that held-out labels certify to reach a target.

Fixed-sequence testing (learn then test): a sequence of rules of falling abstention is fixed on
unlabelled and fitting data, then the certifying labels test one after the other until one fails.
For a sensitivity and a specificity these are nested intervals of p, the threshold inside: the best
window touches its threshold (the paper's Section 5.1), so below it negative is predicted and above
it positive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from abstain import metrics
from abstain._inputs import FloatArray, IntArray
from abstain._kernels.confusion import expected_confusion
from abstain._numerics import auroc_lower_expected
from abstain.certificates._certificate import Certificate, Evidence, bound_of
from abstain.certificates._worst_case import check_prior_range
from abstain.exceptions import TargetUnreachable
from abstain.metrics import AUROC, Metric
from abstain.regions import Choice, Interval
from abstain.rules import Threshold
from abstain.selection import even_boundaries, shown_short
from abstain.summaries import Atoms, BatchSummary, LabelledSummary

# How many rules a sequence has at most, and the share withheld by the largest of them.
_MOST_RULES = 100
_MOST_WITHHELD = 0.98
# Beyond this many times the labels at hand nobody would collect them.
_MOST_LABELS = 1e5

Claim = tuple[str | Metric, float]
# Windows begin and end at no more than this many places.
_BOUNDARIES = 2048
# Keeps the standard error of a rate with target 1 above zero.
_LEAST_VARIANCE = 1e-3


def claims_of(metric: Metric, target: float | Mapping[str, float]) -> list[Claim]:
    """Return what a target claims, each a rate or a metric that labels can bound.

    A number for sensitivity at a specificity, or its mirror, claims both rates.
    """
    if isinstance(target, Mapping):
        return [
            (name if name in ("sensitivity", "specificity") else metrics.get(name), float(goal))
            for name, goal in target.items()
        ]
    if isinstance(metric, metrics.SensitivityAtSpecificity):
        return [("sensitivity", float(target)), ("specificity", metric.specificity)]
    if isinstance(metric, metrics.SpecificityAtSensitivity):
        return [("sensitivity", metric.sensitivity), ("specificity", float(target))]
    return [(metric, float(target))]


def certified_choice(
    claims: Sequence[Claim],
    summary: BatchSummary,
    *,
    fitting: LabelledSummary,
    certifying: LabelledSummary,
    confidence: float,
    family: Callable[[float], Choice],
    prior_range: tuple[ArrayLike, ArrayLike] | None = None,
) -> tuple[Choice, Certificate]:
    """Return the rule of smallest abstention whose claims the labels certify.

    Parameters
    ----------
    claims : sequence of (str or Metric, float)
        What must hold, from ``claims_of``.
    summary : BatchSummary
        The batch, adapted, which fixes the sequence of rules.
    fitting : LabelledSummary
        Labelled examples that do not certify, adapted.
    certifying : LabelledSummary
        And those that do, which had no part in calibration, shift or family.
    confidence : float
        How sure the claims are to be, all at once.
    family : callable
        What the metric would withhold for a capacity; orders the rules unless the claims are
        a sensitivity and a specificity, which have a nested family of their own.
    prior_range : pair, optional
        The range of class proportions for claims that depend on them.

    Returns
    -------
    tuple of Choice and Certificate

    Raises
    ------
    TargetUnreachable
        If the labels do not certify any rule; says how many would be needed.

    Notes
    -----
    Each rule is tested at level 1 - confidence, and testing stops at the first that fails, so
    the chance of certifying any rule whose claims do not hold is at most that. A rule passes
    when every claim's bound passes at that level by itself (intersection-union). The sequence
    begins where the claims are expected to pass by the widest margin and goes down from there.
    """
    search = _Search(claims, summary, fitting, certifying, 1 - confidence, prior_range)
    every = search.rules(family)
    rules = every[search.start(every) :]
    choice, evidence = rules[0], Evidence.of(certifying, rules[0])
    if not search.passes(evidence):
        n = len(fitting.labels) + len(certifying.labels)
        raise TargetUnreachable(search.complaint(every, evidence, n))
    for smaller in rules[1:]:
        seen = Evidence.of(certifying, smaller)
        if not search.passes(seen):
            break
        choice, evidence = smaller, seen
    bounds = {
        _name(what): replace(bound_of(what, evidence, 0.5), value=goal) for what, goal in claims
    }
    sides = None
    if prior_range is not None:
        sides = check_prior_range(prior_range, len(summary.class_sums))
    return choice, Certificate(confidence, bounds, evidence, searched=True, prior_range=sides)


def _name(what: str | Metric) -> str:
    return what if isinstance(what, str) else what.name


@dataclass(frozen=True, eq=False)
class _Search:
    claims: Sequence[Claim]
    summary: BatchSummary
    fitting: LabelledSummary
    certifying: LabelledSummary
    error: float
    prior_range: tuple[ArrayLike, ArrayLike] | None

    def rules(self, family: Callable[[float], Choice]) -> list[Choice]:
        """Return rules of falling abstention, fixed without the certifying labels."""
        goals = {what: goal for what, goal in self.claims if isinstance(what, str)}
        n_certify = np.bincount(self.certifying.labels, minlength=len(self.summary.class_sums))
        if goals.keys() == {"sensitivity", "specificity"} and len(self.claims) == 2:
            return nested_windows(
                self.summary, goals, n_certify, fitting=self.fitting, most=_MOST_RULES
            )
        shares = np.linspace(_MOST_WITHHELD, 0, _MOST_RULES)
        return [family(float(self.summary.total * share)) for share in shares]

    def start(self, rules: list[Choice]) -> int:
        """Return the rule that is expected to pass by the widest margin."""
        return int(np.argmax([self._margin(self.expected(rule)) for rule in rules]))

    def expected(self, choice: Choice) -> Evidence:
        """Return the counts to be expected on the certifying examples.

        What the batch's probabilities say and what the fitting examples showed count alike.
        """
        summary = self.summary
        prediction, abstain = choice.apply(summary.proba)
        weight = np.empty(0) if summary.weight is None else summary.weight
        kept = expected_confusion(summary.proba, prediction, weight, ~abstain)
        n = np.bincount(self.certifying.labels, minlength=len(kept))
        rates = kept / np.maximum(summary.class_sums, 1e-12)[:, None]
        rates = np.column_stack([rates, np.maximum(1 - rates.sum(axis=1), 0)])
        shown = Evidence.of(self.fitting, choice).counts
        present = shown.sum(axis=1) > 0
        rates[present] += shown[present] / shown[present].sum(axis=1, keepdims=True)
        rates[present] /= 2
        area = None
        if any(isinstance(what, AUROC) for what, _ in self.claims) and not abstain.all():
            area = AUROC().expected_on(summary.only(~abstain), None)
        return Evidence(n[:, None] * rates, area=area)

    def passes(self, evidence: Evidence, factor: float = 1.0) -> bool:
        return self._margin(evidence, factor) >= 0

    def _margin(self, evidence: Evidence, factor: float = 1.0) -> float:
        """Return by how much the least certain claim passes, with so many times the labels."""
        margins = []
        for what, goal in self.claims:
            lower = isinstance(what, Metric) and not what.greater_is_better
            over = self._bound(what, evidence, factor) - goal
            margins.append(-over if lower else over)
        worst = min(margins)
        return worst if np.isfinite(worst) else -np.inf

    def _bound(self, what: str | Metric, evidence: Evidence, factor: float) -> float:
        if isinstance(what, AUROC) and (factor != 1 or evidence.kept_scores is None):
            area = evidence.area
            if area is None:
                area = bound_of(what, evidence, self.error).observed
            n0, n1 = factor * evidence.kept
            return auroc_lower_expected(area, n0, n1, self.error)
        scaled = evidence if factor == 1 else Evidence(factor * evidence.counts)
        return bound_of(what, scaled, self.error, self.prior_range).value

    def complaint(self, rules: list[Choice], first: Evidence, n_labelled: int) -> str:
        """Say what the labels showed, and how many would be expected to be enough."""
        wanted = ", ".join(f"{_name(what)} {goal:.15g}" for what, goal in self.claims)
        seen = "; ".join(
            f"{_name(what)} {bound_of(what, first, self.error, self.prior_range).observed:.3g} "
            f"observed, bound {shown_short(self._bound(what, first, 1.0), goal, digits=3)}"
            for what, goal in self.claims
        )
        needed = self._needed([self.expected(rule) for rule in rules] + [first])
        enough = (
            "no number of labels is expected to be enough: ask for less"
            if needed is None
            else f"about {int(np.ceil(needed * n_labelled / 10) * 10):,} labelled examples are "
            f"expected to be enough; there are {n_labelled:,}"
        )
        return (
            f"These labels certify no abstention for {wanted} with {1 - self.error:.0%} "
            f"confidence ({seen}, where it is easiest); {enough}."
        )

    def _needed(self, evidence: list[Evidence]) -> float | None:
        """Return how many times the labels the most favourable rule would need to pass."""
        low, high = 1.0, 1.0
        while not any(self.passes(one, high) for one in evidence):
            low, high = high, high * 2
            if high > _MOST_LABELS:
                return None
        if high == 1.0:
            # Expected to be enough already; this sample was unlucky.
            return 2.0
        while high / low > 1.01:
            middle = float(np.sqrt(low * high))
            if any(self.passes(one, middle) for one in evidence):
                high = middle
            else:
                low = middle
        return high


def nested_windows(
    summary: BatchSummary,
    goals: Mapping[str, float],
    n_labelled: IntArray,
    *,
    fitting: LabelledSummary,
    most: int,
) -> list[Choice]:
    """Return nested intervals, from the largest to the empty one, with their thresholds.

    Parameters
    ----------
    summary : BatchSummary
        The batch, of two classes, adapted.
    goals : dict
        The ``"sensitivity"`` and the ``"specificity"`` to reach.
    n_labelled : ndarray of shape (2,)
        Certifying negatives and positives; a rate with fewer needs the wider margin.
    fitting : LabelledSummary
        Labelled examples that will not certify, adapted. What they
        show of the two classes counts as much as what the target's probabilities say.
    most : int
        How many intervals to return at most, evenly spaced in weight.

    Returns
    -------
    list of Choice
        Each interval contains the next.

    Notes
    -----
    From the threshold where both rates have the same margin, in standard errors, the interval is
    widened downwards when sensitivity has the smaller margin and upwards when specificity does.
    """
    atoms = summary.atoms
    cuts = even_boundaries(atoms, _BOUNDARIES - 1, _BOUNDARIES - 1)
    below = _shares_below(atoms, cuts, fitting)
    margins = _margins_of(below, goals, n_labelled)
    last = len(cuts) - 1
    middle = max(range(last + 1), key=lambda k: min(margins(k, k)))
    path = [(middle, middle)]
    while True:
        start, end = path[-1]
        sensitivity, specificity = margins(start, end)
        down = start > 0 and (sensitivity <= specificity or end == last)
        if not down and end == last:
            break
        path.append((start - 1, end) if down else (start, end + 1))
    total = atoms.weight_below[cuts]
    weights = np.array([total[end] - total[start] for start, end in path])
    chosen = np.searchsorted(weights, np.linspace(0, weights[-1], most + 1)[:-1])
    windows = [path[k] for k in np.unique(chosen)]
    return [_choice(atoms, int(cuts[i]), int(cuts[j])) for i, j in reversed(windows)]


def _shares_below(atoms: Atoms, cuts: IntArray, fitting: LabelledSummary) -> FloatArray:
    """Return the share of the negatives and of the positives below each cut."""
    edges = np.append(atoms.p, np.inf)[cuts]
    shares = []
    for column, mass in enumerate((atoms.below.negative, atoms.below.positive)):
        if mass[-1] <= 0:
            raise TargetUnreachable(
                f"The target has no example of column {column}, so its rate cannot be certified."
            )
        labelled = np.sort(fitting.proba[fitting.labels == column, 1])
        seen = np.searchsorted(labelled, edges) / max(len(labelled), 1)
        said = mass[cuts] / mass[-1]
        shares.append(0.5 * (said + seen) if len(labelled) else said)
    return np.array(shares)


def _margins_of(
    below: FloatArray, goals: Mapping[str, float], n_labelled: IntArray
) -> Callable[[int, int], tuple[float, float]]:
    """Return what tells sensitivity and specificity without a window, less their goals.

    In standard errors.
    """
    negative, positive = below.tolist()

    def margin(right: float, wrong: float, goal: float, n: int) -> float:
        kept = right + wrong
        if kept <= 0:
            return -np.inf
        variance = max(goal * (1 - goal), _LEAST_VARIANCE) / max(n * kept, 1e-12)
        return float((right / kept - goal) / np.sqrt(variance))

    def margins(start: int, end: int) -> tuple[float, float]:
        return (
            margin(1 - positive[end], positive[start], goals["sensitivity"], n_labelled[1]),
            margin(negative[start], 1 - negative[end], goals["specificity"], n_labelled[0]),
        )

    return margins


def _choice(atoms: Atoms, start: int, end: int) -> Choice:
    # Any threshold inside the window predicts the kept rows alike; the middle is farthest from
    # rows that a later batch may have just outside.
    middle = (start + end) // 2
    threshold = float(atoms.p[middle]) if middle < len(atoms) else float(np.nextafter(1.0, 2.0))
    return Choice(Interval(*atoms.ends(start, end)), Threshold(threshold))
