"""The smallest abstention that held-out labels certify to reach a target.

Fixed-sequence testing (learn then test): a sequence of rules of falling abstention is fixed on
unlabelled and fitting data, then the certifying labels test one after the other until one fails.
This is for claims that depend on how the metric chooses; a sensitivity and a specificity are
proved by all labels, for all windows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from abstain import metrics
from abstain._kernels.confusion import expected_confusion
from abstain._numerics import auroc_lower_expected
from abstain.certificates._certificate import Certificate, Evidence, bound_of
from abstain.certificates._worst_case import check_prior_range
from abstain.exceptions import TargetUnreachable
from abstain.metrics import AUROC, Metric
from abstain.regions import Choice
from abstain.selection import RATES, shown_short
from abstain.summaries import BatchSummary, LabelledSummary

# How many rules a sequence has at most, and the share withheld by the largest of them.
_MOST_RULES = 100
_MOST_WITHHELD = 0.98
# Beyond this many times the labels at hand nobody would collect them.
_MOST_LABELS = 1e5

Claim = tuple[str | Metric, float]


def claims_of(metric: Metric, target: float | Mapping[str, float]) -> list[Claim]:
    """Return what a target claims, each a rate or a metric that labels can bound.

    A number for sensitivity at a specificity, or its mirror, claims both rates.
    """
    if isinstance(target, Mapping):
        return [
            (name if name in RATES else metrics.get(name), float(goal))
            for name, goal in target.items()
        ]
    if isinstance(metric, metrics.SensitivityAtSpecificity):
        return [("sensitivity", float(target)), ("specificity", metric.specificity)]
    if isinstance(metric, metrics.SpecificityAtSensitivity):
        return [("sensitivity", metric.sensitivity), ("specificity", float(target))]
    return [(metric, float(target))]


def rates_of(metric: Metric, target: float | Mapping[str, float] | None) -> dict[str, float]:
    """Return the sensitivity and specificity that a target claims; nothing if it claims more."""
    claims = [] if target is None else claims_of(metric, target)
    return {} if any(what not in RATES for what, _ in claims) else dict(claims)  # type: ignore


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
        What the metric would withhold for a capacity, which orders the rules.
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
