"""A value that falls short of a goal, in as many digits as it takes to see that."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

__all__ = ["instead_of", "shown_short"]

_MOST = 17


def shown_short(value: float, goal: float, *, digits: int = 4) -> str:
    """Return a value in the fewest digits that still show it on its own side of a goal.

    Examples
    --------
    >>> shown_short(0.99987, 0.9999), shown_short(0.91234, 0.9999)
    ('0.99987', '0.9123')
    """
    for count in range(digits, _MOST):
        shown = f"{value:.{count}g}"
        if not math.isfinite(value) or (float(shown) - goal) * (value - goal) > 0:
            return shown
    return repr(value)


def instead_of(value: float, goal: float) -> str:
    """Say what to ask for instead: what a value reaches, and how far that is from the goal.

    Examples
    --------
    >>> instead_of(0.99987, 0.9999)
    '0.99987 (0.00003 less)'
    >>> instead_of(0.1234567, 0.1)
    '0.1235 (0.0235 more)'
    """
    if not math.isfinite(value):
        return "something else"
    unit = Decimal(1).scaleb(int(Decimal(shown_short(value, goal)).as_tuple().exponent))
    rounding = ROUND_FLOOR if value < goal else ROUND_CEILING
    asked = Decimal(repr(value)).quantize(unit, rounding=rounding)
    apart = abs(Decimal(repr(goal)) - asked)
    return f"{asked:f} ({apart:f} {'less' if value < goal else 'more'})"
