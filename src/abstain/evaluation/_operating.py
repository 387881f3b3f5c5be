"""What a rule does at its own threshold, whatever metric it was chosen for.

A metric such as specificity at a sensitivity is taken at the best threshold of the rows it is of;
a rule has one threshold, which was chosen before. So beside the metric stand sensitivity,
specificity, predictive values and missed cases of the predictions as they are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from abstain._numerics import aligned, plain
from abstain._words import NOT_DEFINED, chance, class_in_words, estimate, number, percent, span
from abstain.decisions import Decisions
from abstain.estimation import Estimate, EstimatedValue
from abstain.metrics import SHARES, CellShare
from abstain.rules import Argmax

# What a metric "at" a level of one of these asks of the rule's threshold.
_ASKED = {"recall": "sensitivity", "precision": "ppv"}
#: Shares that are called otherwise in words.
SHARES_IN_WORDS = {"ppv": "PPV", "npv": "NPV", "missed": "missed cases"}
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class OperatingPoint:
    """What the predictions of two classes are worth as they are made, without labels.

    Attributes
    ----------
    shares : dict of str to Estimate
        Sensitivity, specificity, and positive and negative predictive value (``ppv``, ``npv``),
        if nobody is referred and of the kept rows.
    missed : Estimate
        How many positives are predicted to be negative.
    threshold : float or None
        The probability from which on the positive class is predicted; None where the most
        probable class is.
    asked : (str, float) or None
        The share that the metric is to be had at, and its level.
    reached : float or None
        How probably the kept rows have it at the rule's own threshold.
    one_class : label or None
        The class that all kept rows are predicted to be, where it is one.
    positive : label
        The positive class.
    """

    shares: dict[str, Estimate]
    missed: Estimate
    threshold: float | None
    asked: tuple[str, float] | None
    reached: float | None
    one_class: Any
    positive: Any

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data; what is not defined is None."""
        facts = {name: found.to_dict() for name, found in self.shares.items()}
        asked = None
        if self.asked is not None:
            asked = {"share": self.asked[0], "at_least": self.asked[1], "reached": self.reached}
        one = None if self.one_class is None else str(self.one_class)
        more = {"threshold": self.threshold, "positive": str(self.positive), "all_kept_are": one}
        return plain({**facts, "missed": self.missed.to_dict(), "asked": asked, **more})  # type: ignore[no-any-return]


def operating_point(decisions: Decisions) -> OperatingPoint | None:
    """Return what a rule does at its own threshold, estimated without labels.

    None where there are not two classes of which one is known to be positive, or no row.

    Examples
    --------
    >>> from abstain import Abstainer
    >>> from abstain.datasets import screening_clinic
    >>> from abstain.evaluation import operating_point
    >>> clinic = screening_clinic(1000, 1000, random_state=0)
    >>> abstainer = Abstainer("specificity@sensitivity=0.95", budget=0.1, scale="logits")
    >>> decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    >>> found = operating_point(decisions)
    >>> found.asked, 0 < found.reached < 1
    (('sensitivity', 0.95), True)
    """
    scored = decisions.scored
    if decisions.positive is None or not len(scored):
        return None
    outcome, level = scored.outcome, decisions.level
    drawn = {name: outcome.judged(metric=CellShare(name)).drawn() for name in SHARES}
    found = {name: one.estimate(level) for name, one in drawn.items()}
    asked, reached = _asked(decisions.metric.name), None
    if asked is not None:
        after, weight = drawn[asked[0]].after, drawn[asked[0]].weight
        defined = np.isfinite(after)
        if defined.any():
            enough = after[defined] >= asked[1] - _ROUNDING
            reached = float(np.average(enough, weights=weight[defined]))
    total, kept = drawn["missed"].rows
    missed = found.pop("missed")
    predicted = np.unique(scored.columns[~scored.abstain])
    return OperatingPoint(
        found,
        Estimate(_times(missed.before, total), _times(missed.after, kept)),
        decisions.choice.rule.threshold,
        asked,
        reached,
        decisions.classes[predicted[0]] if len(predicted) == 1 else None,
        decisions.positive,
    )


def operating_lines(facts: dict[str, Any]) -> list[str]:
    """Return what a rule does at its own threshold, as ``to_dict`` has it, as lines for people."""
    level = facts["missed"]["after"]["level"]
    heads = ["", "nobody referred", f"on the kept, {percent(level)} interval"]
    rows = []
    for name in SHARES:
        before, after = (facts[name][moment] for moment in ("before", "after"))
        if name == "missed":
            cells = [count_in_words(one["value"], one["interval"]) for one in (before, after)]
        else:
            cells = [number(before["value"]), estimate(after["value"], after["interval"])]
        rows.append([SHARES_IN_WORDS.get(name, name), *cells])
    title = f"At the rule's own threshold, {class_in_words(facts['positive'])} taken as positive"
    lines = [title, *(f"  {line}" for line in aligned([heads, *rows]))]
    return lines + [f"  {said}" for said in operating_remarks(facts)]


def operating_remarks(facts: dict[str, Any]) -> list[str]:
    """Return what else is to be known: how sure a level is, and whether one class is left."""
    said, asked = [], facts["asked"]
    if asked is not None and asked["reached"] is not None:
        name = SHARES_IN_WORDS.get(asked["share"], asked["share"])
        said.append(
            f"A {name} of at least {asked['at_least']:g} is reached with a probability of "
            f"{chance(asked['reached'])}"
        )
    if facts["all_kept_are"] is not None:
        said.append(f"All kept rows are predicted to be {class_in_words(facts['all_kept_are'])}")
    return said


def as_most_probable(decisions: Decisions) -> EstimatedValue | None:
    """Return the metric before abstaining if rows were predicted as their most probable class.

    None where that is how they are predicted, or where predictions are not what counts.
    """
    if decisions.metric.ranks or isinstance(decisions.choice.rule, Argmax):
        return None
    nobody = np.zeros_like(decisions.abstain)
    plain_rule = decisions.choice._replace(rule=Argmax())
    return decisions.judged(choice=plain_rule, abstain=nobody).estimate.before


def _asked(metric: str) -> tuple[str, float] | None:
    _, at, asked = metric.partition("@")
    share, _, level = asked.partition("=")
    share = _ASKED.get(share, share)
    return (share, float(level)) if at and share in SHARES else None


def _times(share: EstimatedValue, rows: float) -> EstimatedValue:
    low, high = share.interval
    return replace(share, value=share.value * rows, interval=(low * rows, high * rows))


def count_in_words(value: float | None, ends: Sequence[float | None]) -> str:
    """Return an expected number of rows with its interval, whole where that is not too coarse."""
    if value is None or not np.isfinite(value):
        return NOT_DEFINED
    decimals = 1 if value < 100 else 0
    return f"{number(value, decimals)} ({span(ends, decimals)})"
