"""Figures and names as people read them: one way for terminal, page, notebook and log.

A figure has as many digits as say something: three of the largest that stand together, and two of
what tells them apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import floor, isfinite, log10

NOT_DEFINED = "not defined"
# Decimals that are always shown: of a figure in text, and of one in a table or on a page.
DECIMALS, FEW_DECIMALS = 4, 3
_MOST_DECIMALS = 7
# What differs by less than this is told apart by rounding alone.
_ALIKE = 1e-6
_TITLES = {
    "auroc": "auROC",
    "brier": "Brier score",
    "average-precision": "average precision",
    "f1": "F1 score",
    "jaccard": "Jaccard index",
    "kappa": "kappa",
    "mcc": "Matthews correlation",
    "npv": "negative predictive value",
    "ppv": "positive predictive value",
}


def places(values: Iterable[float | None], least: int = DECIMALS) -> int:
    """Return how many decimals figures need that stand together.

    Examples
    --------
    >>> places([0.8435, 0.91]), places([0.00094, 0.0014]), places([0.99986, 0.99997])
    (4, 5, 5)
    """
    found = [one for one in values if one is not None and isfinite(one)]
    if not found:
        return least
    largest, apart = max(map(abs, found)), max(found) - min(found)
    wanted = [least]
    if largest > _ALIKE:
        wanted.append(2 - floor(log10(largest)))
    if apart > _ALIKE:
        wanted.append(1 - floor(log10(apart)))
    return min(max(wanted), _MOST_DECIMALS)


def number(value: float | None, decimals: int | None = None) -> str:
    """Return a figure, or that there is none.

    Examples
    --------
    >>> number(0.84352), number(0.0014), number(1234.5), number(None)
    ('0.8435', '0.00140', '1,234', 'not defined')
    """
    if value is None or not isfinite(value):
        return NOT_DEFINED
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{places([value]) if decimals is None else decimals}f}"


def span(ends: Sequence[float | None], decimals: int | None = None) -> str:
    """Return an interval.

    Examples
    --------
    >>> span((0.88, 0.92))
    '0.8800 to 0.9200'
    """
    if not all(one is not None and isfinite(one) for one in ends):
        return NOT_DEFINED
    decimals = places(ends) if decimals is None else decimals
    return " to ".join(number(end, decimals) for end in ends)


def estimate(
    value: float | None,
    ends: Sequence[float | None],
    level: float | None = None,
    *,
    least: int = DECIMALS,
    mark: str = "",
) -> str:
    """Return a figure with its interval, how often that holds, and a mark behind it.

    Examples
    --------
    >>> estimate(0.9, (0.88, 0.92), 0.95)
    '0.9000 (95% interval 0.8800 to 0.9200)'
    >>> estimate(0.0014, (0.0009, 0.0024))
    '0.00140 (0.00090 to 0.00240)'
    """
    if value is None or not isfinite(value):
        return NOT_DEFINED
    decimals = places([value, *ends], least)
    said = span(ends, decimals)
    if said == NOT_DEFINED:
        return number(value, decimals)
    of = "" if level is None else f"{percent(level)} interval "
    return f"{number(value, decimals)} ({of}{said}{mark})"


def percent(part: float) -> str:
    """Return a share as a percentage, with a decimal where it says something.

    Examples
    --------
    >>> percent(0.15), percent(0.0375), percent(0), percent(0.00094)
    ('15%', '3.8%', '0%', '0.094%')
    """
    text = share(part)[:-1]
    return f"{text.removesuffix('.0')}%"


def share(part: float) -> str:
    """Return a share of a table: with one decimal, or two digits of what is less than that.

    Examples
    --------
    >>> share(0.25), share(0.00094), share(0.0014), share(0.99987)
    ('25.0%', '0.094%', '0.14%', '99.987%')
    """
    least = min(abs(part), abs(1 - part))
    decimals = 1 if not _ALIKE < least < 9.5e-3 else -1 - floor(log10(least))
    return f"{part:.{decimals}%}"


def chance(probability: float) -> str:
    """Return a probability that was estimated: no surer than draws can tell.

    Examples
    --------
    >>> chance(0.616), chance(0.999), chance(0.001)
    ('62%', 'more than 99%', 'less than 1%')
    """
    if probability > 0.99:
        return "more than 99%"
    return "less than 1%" if probability < 0.01 else f"{probability:.0%}"


def metric_title(name: str) -> str:
    """Return a metric's name as words.

    Examples
    --------
    >>> metric_title("sensitivity@specificity=0.99"), metric_title("kappa:quadratic")
    ('sensitivity at 99% specificity', 'quadratic kappa')
    """
    found = re.fullmatch(r"([^@=:]+)@([^=]+)=([0-9.eE+-]+)", name)
    if found:
        what, where, level = found.groups()
        return f"{what} at {float(level) * 100:g}% {where}".replace("-", " ")
    head, colon, argument = name.partition(":")
    if head == "kappa" and colon:
        return f"{argument} kappa"
    return _TITLES.get(head, head.replace("-", " ")) + (f" ({argument})" if colon else "")


def class_in_words(label: object) -> str:
    """Return a class as a sentence names it: a number alone would read as a count.

    Examples
    --------
    >>> class_in_words("ill"), class_in_words(1)
    ('ill', 'class 1')
    """
    name = str(label)
    return f"class {name}" if name.lstrip("-").replace(".", "", 1).isdigit() else name


def listed(names: Sequence[str], most: int) -> str:
    """Return names in a row; of many the first, and how many there are more.

    Examples
    --------
    >>> listed(["a", "b", "c"], 2)
    'a, b, and 1 more'
    """
    some, more = ", ".join(names[:most]), len(names) - most
    return some if more <= 0 else f"{some}, and {more} more"
