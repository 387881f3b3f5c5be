"""The words of the page, made once in Python: numbers and names as people write them, verdicts."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from abstain.estimation import EstimatedValue
from abstain.metrics import Metric
from abstain.shift import Assumption

# An en dash, as tables have it.
NOT_DEFINED = "\u2013"
_TITLES = {
    "auroc": "auROC",
    "average-precision": "average precision",
    "f1": "F1 score",
    "jaccard": "Jaccard index",
    "kappa": "kappa",
    "mcc": "Matthews correlation",
}
PLAUSIBLE, DOUBTFUL, NOT_CHECKED = "plausible", "doubtful", "not checked"


def metric_title(metric: Metric) -> str:
    """Return the metric's name as words, such as "sensitivity at 99% specificity".

    Examples
    --------
    >>> from abstain import metrics
    >>> metric_title(metrics.get("sensitivity@specificity=0.99"))
    'sensitivity at 99% specificity'
    >>> metric_title(metrics.get("kappa:quadratic"))
    'quadratic kappa'
    """
    name = metric.name
    found = re.fullmatch(r"([^@=:]+)@([^=]+)=([0-9.eE+-]+)", name)
    if found:
        what, where, level = found.groups()
        return f"{what} at {float(level) * 100:g}% {where}".replace("-", " ")
    head, colon, argument = name.partition(":")
    if head == "kappa" and colon:
        return f"{argument} kappa"
    return _TITLES.get(head, head.replace("-", " ")) + (f" ({argument})" if colon else "")


def percent(share: float) -> str:
    """Return a share as a percentage, with a decimal where it says something.

    Examples
    --------
    >>> percent(0.15), percent(0.0375), percent(0)
    ('15%', '3.8%', '0%')
    """
    text = f"{share * 100:.1f}"
    return f"{text.removesuffix('.0')}%"


def share(part: float) -> str:
    """Return a share of a table: always with one decimal.

    Examples
    --------
    >>> share(0.25)
    '25.0%'
    """
    return f"{part:.1%}"


def shares_in_words(before: float, after: float) -> str:
    """Return by how much a share moved, as the two figures beside it say it.

    Examples
    --------
    >>> shares_in_words(0.1004, 0.1668)  # 10.0% and 16.7%
    '6.7 percentage points more'
    """
    points = float(f"{after:.1%}"[:-1]) - float(f"{before:.1%}"[:-1])
    return f"{abs(points):.1f} percentage points {'less' if points < 0 else 'more'}"


def decimals(value: float | None) -> str:
    """Return a metric's value with three decimals, or a dash where it is not defined.

    Examples
    --------
    >>> decimals(0.8435), decimals(1234.5)
    ('0.844', '1,234')
    """
    if value is None or not np.isfinite(value):
        return NOT_DEFINED
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3f}"


def headline(
    title: str,
    *,
    withheld: int,
    rows: int,
    rate: float,
    before: float,
    after: EstimatedValue,
    too_narrow: bool = False,
) -> str:
    r"""Return the answer in two sentences.

    Examples
    --------
    >>> after = EstimatedValue(0.9, (0.88, 0.92), 0.9)
    >>> text = headline("auROC", withheld=312, rows=2080, rate=0.15, before=0.81, after=after)
    >>> print(text.replace("(90%", "\n(90%"))
    Refer 312 of 2,080 cases (15%). Estimated auROC rises from 0.810 to 0.900
    (90% interval 0.880 to 0.920).
    """
    first = f"Refer {withheld:,} of {rows:,} cases ({percent(rate)})."
    if withheld == 0:
        first = f"Refer none of {rows:,} cases."
    value = after.value
    if not np.isfinite(value):
        return f"{first} The {title} of the rest is not defined."
    if decimals(before) == decimals(value) or not np.isfinite(before):
        change = "is"
    else:
        verb = "rises" if value > before else "falls"
        change = f"{verb} from {decimals(before)} to"
    mark = "; the back-test says this is too narrow" if too_narrow else ""
    return f"{first} Estimated {title} {change} {value_in_words(after, mark)}."


def value_in_words(estimated: EstimatedValue, mark: str = "") -> str:
    """Return an estimate with its interval, and a mark behind that.

    Examples
    --------
    >>> value_in_words(EstimatedValue(0.9, (0.88, 0.92), 0.95))
    '0.900 (95% interval 0.880 to 0.920)'
    """
    value, low, high = (decimals(one) for one in (estimated.value, *estimated.interval))
    return f"{value} ({percent(estimated.level)} interval {low} to {high}{mark})"


def class_in_words(label: str) -> str:
    """Return a class as a sentence names it: a number alone would read as a count.

    Examples
    --------
    >>> class_in_words("ill"), class_in_words("1")
    ('ill', 'class 1')
    """
    return f"class {label}" if label.lstrip("-").isdigit() else label


def verdict_on_shift(
    assumption: Assumption | None, check: dict[str, Any] | None, has_labels: bool
) -> dict[str, str]:
    """Return whether what the figures rest on explains the scores.

    Parameters
    ----------
    assumption : Assumption or None
        What was assumed when it was decided, with the check that was made then.
    check : dict or None
        The check as made for this page, from the validation rows it was given.
    has_labels : bool
        Whether it was given any.
    """
    if assumption is not None and assumption.worlds is not None:
        state = PLAUSIBLE if assumption.fits else DOUBTFUL
        return {"state": state, "summary": assumption.summary()}
    said = [] if assumption is None else [assumption.summary()]
    states = []
    if assumption is not None and assumption.check is not None and assumption.p_value is not None:
        states.append(PLAUSIBLE if assumption.check.fits else DOUBTFUL)
    if check is not None:
        state = PLAUSIBLE if check["fits"] else DOUBTFUL
        states.append(state if check["degrees_of_freedom"] else NOT_CHECKED)
        # What fits was said with what was assumed; what does not has more to it.
        if not said or not check["fits"]:
            said.append(check["summary"])
    elif not said:
        said.append(
            "A class is estimated to have vanished, and the scores before it did are not at hand."
            if has_labels
            else "There is no validation data with this report to check for label shift."
        )
    # One doubt is enough; and what one of them could not check the other may have.
    state = next((s for s in (DOUBTFUL, PLAUSIBLE) if s in states), NOT_CHECKED)
    return {"state": state, "summary": " ".join(said)}


def verdict_on_intervals(trust: dict[str, Any]) -> dict[str, str]:
    """Return whether the intervals hold as often as they say, by the back-test."""
    test = trust["back_test"]
    if test is None:
        return {"state": NOT_CHECKED, "summary": trust["reason"]}
    held = (
        f"{test['inside']} of {len(test['points'])} intervals held the realised value, where "
        f"{percent(test['level'])} are meant to."
    )
    if not test["points"]:
        return {
            "state": NOT_CHECKED,
            "summary": "In no batch of the back-test could anything be estimated.",
        }
    if test["too_few"]:
        return {
            "state": DOUBTFUL,
            "summary": f"{held} That is fewer than chance explains: take the intervals on this "
            f"page as too narrow for these data. More validation rows would help.",
        }
    return {"state": PLAUSIBLE, "summary": held}
