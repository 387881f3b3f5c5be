"""Numbers and names as people write them: the words of the page, made once in Python."""

from __future__ import annotations

import re

import numpy as np

from abstain.estimation import EstimatedValue
from abstain.metrics import Metric

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
        return f"{_spaced(what)} at {float(level) * 100:g}% {_spaced(where)}"
    head, colon, argument = name.partition(":")
    if head == "kappa" and colon:
        return f"{argument} kappa"
    return _TITLES.get(head, _spaced(head)) + (f" ({argument})" if colon else "")


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
        change = f"is {decimals(value)}"
    else:
        verb = "rises" if value > before else "falls"
        change = f"{verb} from {decimals(before)} to {decimals(value)}"
    mark = "; the back-test says this is too narrow" if too_narrow else ""
    return f"{first} Estimated {title} {change} ({_interval(after)}{mark})."


def value_in_words(estimated: EstimatedValue) -> str:
    """Return an estimate with its interval.

    Examples
    --------
    >>> value_in_words(EstimatedValue(0.9, (0.88, 0.92), 0.95))
    '0.900 (95% interval 0.880 to 0.920)'
    """
    return f"{decimals(estimated.value)} ({_interval(estimated)})"


def _interval(estimated: EstimatedValue) -> str:
    low, high = (decimals(end) for end in estimated.interval)
    return f"{percent(estimated.level)} interval {low} to {high}"


def class_in_words(label: str) -> str:
    """Return a class as a sentence names it: a number alone would read as a count.

    Examples
    --------
    >>> class_in_words("ill"), class_in_words("1")
    ('ill', 'class 1')
    """
    return f"class {label}" if label.lstrip("-").isdigit() else label


def _spaced(name: str) -> str:
    return name.replace("-", " ")
