"""The frozen rule as a file of plain Python: ``math`` and no package, for the smallest places.

It carries out, row by row in double precision, the very operations that ``Policy.apply`` does. A
row that has no scores goes to a person, as in every export.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import Template
from typing import Any, Literal

import numpy as np

from abstain.policy import Policy, score_columns, stated
from abstain.program import Value, carried_out, given, slack, steps

__all__ = ["to_python"]

#: The operations of each number by itself.
_EACH = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "exp": "exp({0})",
    "log": "log({0})",
    "size": "abs({0})",
    "maximum": "max({0}, {1})",
    "minimum": "min({0}, {1})",
    "at_least": "{0} >= {1}",
    "at_most": "{0} <= {1}",
    "above": "{0} > {1}",
    "below": "{0} < {1}",
    "both": "{0} and {1}",
    "either": "{0} or {1}",
    "opposite": "not {0}",
    "where": "{1} if {0} else {2}",
    "reaches": "{0} >= {1}",
    "stays_within": "{0} <= {1}",
}
#: Those of a row, of which some are functions of the file.
_ROW = {
    "column": "{0}[{1}]",
    "columns": "[{0}[i] for i in {1}]",
    "largest": "max({0})",
    "total": "total({0})",
    "any": "any({0})",
    "all": "all({0})",
    "top": "sorted({0}, reverse=True)[:{1}]",
    "first_true": "{0}.index(True)",
    "first_highest": "first_highest({0}, {1})",
    "pick": "{0}[{1}]",
    "is_any_of": "[{0} == i for i in {1}]",
    "mixed": "mixed({0}, {1})",
    "in_any_box": "in_any_box({0}, {1}, {2}, {3}, {4})",
    "interpolated": "interpolated({0}, {1}, {2})",
}
_FUNCTIONS = {
    "exp": """
def exp(x):
    return inf if x > 709.782712893384 else math.exp(x)
""",
    "log": """
def log(x):
    return math.log(x) if x > 0.0 else -inf
""",
    "total": """
def total(values):
    # From the first to the last: Python's own sum may round otherwise.
    found = values[0]
    for value in values[1:]:
        found += value
    return found
""",
    "first_highest": """
def first_highest(values, apart):
    highest = max(values)
    least = highest - abs(highest) * apart
    return [value >= least for value in values].index(True)
""",
    "mixed": """
def mixed(values, matrix):
    found = [0.0] * len(matrix[0])
    for value, weights in zip(values, matrix):
        found = [one + value * weight for one, weight in zip(found, weights)]
    return found
""",
    "in_any_box": """
def in_any_box(values, place, columns, lower, upper):
    for column, low, high in zip(columns, lower, upper):
        if column == place and all(a < x <= b for a, x, b in zip(low, values, high)):
            return True
    return False
""",
    "interpolated": """
def interpolated(x, knots, values):
    if x >= knots[-1]:
        return values[-1]
    if x <= knots[0]:
        return values[0]
    i = bisect_right(knots, x) - 1
    slope = (values[i + 1] - values[i]) / (knots[i + 1] - knots[i])
    return slope * (x - knots[i]) + values[i] if x > knots[i] else values[i]
""",
}
_FILE = Template('''\
"""Whether a row goes to a person, and what is predicted for it: decide(scores).

Made by the library abstain; it needs nothing but Python.
"""
# $made

import math
from bisect import bisect_right
from math import inf, nan

POLICY = $sha256
CLASSES = $classes
# Where a row has no scores that are any.
UNFIT = {"abstain": True, "prediction": None, "probabilities": None}
$numbers$functions

def decide(scores):
    # $takes
    scores = [nan if one is None else float(one) for one in scores]
    if len(scores) != $columns:
        raise ValueError(f"a row has $columns scores; got {len(scores)}")
$lines
    return {
        "abstain": $abstain,
        "prediction": CLASSES[$prediction],
        "probabilities": $proba,
    }
''')


class _Lines:
    """The lines of a function in the making; values are names, or numbers as they are written."""

    def __init__(self, wanted: Sequence[Value]) -> None:
        # Where there is no logarithm, and no exponential, nothing differs from NumPy.
        self.exact = not {"exp", "log"} & {value.operation for value in steps(*wanted)}
        self.lines: list[str] = []
        self.numbers: list[str] = []
        self.functions: set[str] = set()

    def perform(self, value: Value, given: Sequence[Any]) -> str:
        """Add an operation; return the name of what it makes."""
        name = value.operation
        if name == "constant":
            return self._number(given[0])
        if name == "only_where":
            self.lines.append(f"if not {given[0]}:\n        return UNFIT")
            kept: str = given[1]
            return kept
        if name == "block":
            return self._line(f"[{', '.join(given)}]")
        if name in ("reaches", "stays_within") and not self.exact:
            away = slack(given[1])
            given = [given[0], float(given[1] - away if name == "reaches" else given[1] + away)]
        self.functions |= {name} & {*_FUNCTIONS}
        texts = [one if isinstance(one, str) else self._number(one) for one in given]
        if name in _ROW:
            return self._line(_ROW[name].format(*texts))
        wide = [isinstance(one, Value) and one.width is not None for one in value.given]
        if not any(wide):
            return self._line(_EACH[name].format(*texts))
        letters = ["abc"[i] if is_wide else text for i, (is_wide, text) in
                   enumerate(zip(wide, texts, strict=True))]  # fmt: skip
        own = [letter for letter, is_wide in zip(letters, wide, strict=True) if is_wide]
        rows = [text for text, is_wide in zip(texts, wide, strict=True) if is_wide]
        among = rows[0] if len(rows) == 1 else f"zip({', '.join(rows)})"
        return self._line(f"[{_EACH[name].format(*letters)} for {', '.join(own)} in {among}]")

    def _line(self, text: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def _number(self, value: Any) -> str:
        """Return how a number is written; of several, the name of where they are."""
        if isinstance(value, int | float) or (isinstance(value, np.ndarray) and not value.ndim):
            return repr(value if isinstance(value, int) else float(value))
        listed: Any = value.tolist() if isinstance(value, np.ndarray) else value
        name = f"NUMBERS_{len(self.numbers)}"
        self.numbers.append(f"{name} = {listed!r}\n")
        return name


def to_python(
    policy: Policy,
    *,
    columns: int | None = None,
    dtype: Literal["float64", "float32"] = "float64",
) -> str:
    """Return a policy as the text of a Python file that decides about a row by itself.

    Parameters
    ----------
    policy : Policy
        The rule.
    columns : int, optional
        How many scores a row has: one per class in the order of ``policy.columns``, or 1 for that
        of the positive class of two. One per class when not given.
    dtype : {"float64", "float32"}
        The precision in which scores were made. A probability of 0 is taken for the least step of
        that, as :meth:`abstain.Policy.apply` does.

    Returns
    -------
    str
        The file. Its function ``decide`` takes the scores of a row, and returns a dictionary of
        ``abstain``, ``prediction`` (a class label) and ``probabilities`` (by class).

    Raises
    ------
    TypeError
        If a part of the rule does not state its operations.

    Notes
    -----
    A row that :meth:`abstain.Policy.apply` would refuse goes to a person, and has neither
    prediction nor probabilities. Python's logarithm and exponential may differ from NumPy's in
    the last digit; all else is the same to the last bit, but for sums with a matrix (Dirichlet
    calibration, gains), which processors may round otherwise.

    Examples
    --------
    >>> from abstain import Abstainer
    >>> decisions = Abstainer("accuracy", budget=0.3, calibration="identity").fit(
    ...     [0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]
    ... ).decide([0.2, 0.5, 0.5, 0.8, 0.9, 0.1, 0.1])
    >>> rule = {}
    >>> exec(decisions.policy.to_python(columns=1), rule)
    >>> rule["decide"]([0.5])["abstain"]
    True
    """
    if dtype not in ("float64", "float32"):
        raise ValueError(f'`dtype` must be "float64" or "float32"; got {dtype!r}.')
    width = score_columns(policy, columns)
    scores = given(width)
    fit, made = stated(policy, scores, smallest=float(np.finfo(dtype).eps))
    machine = _Lines([fit, *made])
    _, proba, prediction, abstain = carried_out(machine, [fit, *made], {scores: "scores"})
    labels: list[Any] = policy.classes.tolist()
    order = [policy.positive] if width == 1 else policy.columns.tolist()
    parts = {
        # Text of others is spelled out, so that it ends with its line.
        "made": ascii(f"{policy.version} at {policy.created}, for {policy.metric.name}"),
        "sha256": ascii(policy.sha256),
        "classes": f"({', '.join(map(ascii, labels))})",
        "takes": ascii(f"{policy.calibrator.scale} of the classes {order}, in this order"),
        "columns": str(width),
        "numbers": "".join(machine.numbers),
        "functions": "\n".join(_FUNCTIONS[name] for name in sorted(machine.functions)),
        "lines": "\n".join(f"    {line}" for line in machine.lines),
        "abstain": abstain,
        "prediction": prediction,
        "proba": f"dict(zip(CLASSES, {proba}))",
    }
    return _FILE.substitute(parts)
