"""Checks of single numbers: budgets, shares, counts, seeds, and how large they may be."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np

from abstain.exceptions import ArgumentError, Way

#: How many label vectors a metric may sample: a thousand times the paper's number.
MOST_SAMPLES = 100_000
#: How many draws of class proportions or of rows may be asked for.
MOST_DRAWS = 100_000
# No batch holds more rows.
_MOST_ROWS = 2**53
# What a fraction of some rows, and 1 / n of n, may miss a whole number by.
_NOT_QUITE, _ROUNDING = 1e-9, 2.0**-51
# Beyond it no whole number is a float.
_LARGEST = 2**1023
# Of what came so many letters are quoted.
_LONGEST = 300


def check_budget(budget: float, *, name: str = "budget") -> float | int:
    """Return how much may be withheld: a fraction in [0, 1) as a float, a count as an int."""
    value = number(budget, name)
    if isinstance(budget, int | np.integer):
        if budget > _MOST_ROWS:
            raise ArgumentError(
                f"`{name}` as a count must be less than the batch; got {shown(budget)}, more "
                f"rows than any batch has.",
                name,
            )
        if budget < 0:
            raise ArgumentError(
                f"`{name}` as a count must not be negative; got {budget!r}. It is how many "
                f"examples may be withheld.",
                name,
            )
        if budget == 1:
            # Who writes 1 may mean everything or one example; neither is taken for the other.
            raise ArgumentError(
                f"`{name}` must be a fraction in [0, 1), or a count of 2 or more; got 1, which "
                f"could be either. Nothing can be kept of everything; for one example pass the "
                f"fraction 1 / n.",
                name,
                ways=[Way("", python="for one example pass")],
            )
        return int(budget)
    if not 0 <= value < 1:
        whole = int(value) if 2 <= value < _MOST_ROWS else 200
        said = f"For 15 percent pass 0.15, for {whole} examples pass {whole}"
        way = Way("share", whole, said)
        raise ArgumentError(
            f"`{name}` must be a fraction in [0, 1), the share of examples that may be "
            f"withheld, or a count as a whole number; got {shown(budget)}. "
            f"{way}.",
            name,
            ways=[way],
        )
    return value


def whole_rows(share: float) -> int:
    """Return how many rows fit a share of them: 0.29 of 100 is 29, though not quite in binary."""
    return math.floor(share + max(_NOT_QUITE, share * _ROUNDING))


def check_count(value: int, *, name: str) -> int:
    """Return a whole number of rows, at least 0."""
    fits = is_whole(value) and value >= 0
    return int(_fitting(value, name, fits, "a number of rows, 0 or more"))


def check_whole(value: Any, *, name: str, least: int = 1, most: int) -> int:
    """Return a whole number in a range, such as one that says how much to compute."""
    fits = is_whole(value) and value >= least
    _fitting(value, name, fits, f"a whole number of at least {least}")
    return int(_fitting(value, name, value <= most, f"at most {most:,}"))


def check_capacity(capacity: Any) -> float:
    """Return the largest weight that may be withheld, at least 0."""
    value = number(capacity, "capacity")
    rule = "at least 0, the largest weight that may be withheld"
    _fitting(capacity, "capacity", value >= 0, rule)
    return value


def check_number(value: float, *, name: str) -> float:
    """Return a finite number."""
    found = number(value, name)
    _fitting(value, name, math.isfinite(found), "finite")
    return found


def check_fraction(value: float, *, name: str) -> float:
    """Return a number in [0, 1]."""
    found = number(value, name)
    _fitting(value, name, 0 <= found <= 1, "in [0, 1]")
    return found


def check_level(value: float) -> float:
    """Return how often an interval is to hold, a number in (0, 1)."""
    found = number(value, "level")
    _fitting(value, "level", 0 < found < 1, "in (0, 1), such as 0.9")
    return found


def _fitting(value: Any, name: str, fits: bool, rule: str) -> Any:
    """Return a value that is what it must be, or say what that is."""
    if not fits:
        raise ArgumentError(f"`{name}` must be {rule}; got {shown(value)}.", name)
    return value


def check_seed(random_state: Any, *, name: str = "random_state") -> int:
    """Return a whole number to seed sampling with; None draws a fresh one."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return int(check_generator(random_state, name=name).integers(2**62))


def check_generator(random_state: Any, *, name: str = "random_state") -> np.random.Generator:
    """Return a generator of random numbers; None seeds it afresh."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"`{name}` must be None, a whole number of at least 0 or a NumPy generator; "
            f"got {shown(random_state)}.",
            name,
        ) from error


def read_fraction(text: str) -> float:
    """Read a number that may be written as a percentage: ``0.15`` or ``15%``."""
    percent = text.strip().endswith("%")
    digits = text.strip().removesuffix("%").strip()
    try:
        value = float(digits)
    except ValueError as error:
        point = digits.replace(",", ".", 1)
        hint = f"; write {point}" if point.replace(".", "", 1).isdigit() else ""
        raise ValueError(f"{text!r} is no number{hint}, such as 0.15 or 15%.") from error
    if not percent or not math.isfinite(value):
        return value
    try:
        # Divided in decimals, so that 15% is the very number 0.15.
        return float(Decimal(digits).scaleb(-2))
    except ArithmeticError:  # next to nothing
        return value / 100


def from_percent(value: Any) -> Any:
    """Return the number that a text such as "15%" stands for; anything else as it is."""
    percent = isinstance(value, str) and value.rstrip().endswith("%")
    return read_fraction(value) if percent else value


def number(value: Any, name: str) -> float:
    """Return a number as a float; what has no place among them is refused by name."""
    value = from_percent(value)
    strange = isinstance(value, bool | np.complexfloating | np.timedelta64)
    if strange or not isinstance(value, int | float | np.number):
        raise TypeError(f"`{name}` must be a number; got {shown(value)}.")
    if isinstance(value, int) and abs(value) > _LARGEST:
        raise ArgumentError(f"`{name}` must be a number in reach; got {shown(value)}.", name)
    if isinstance(value, np.floating) and value.dtype.itemsize < 8:
        # Half and single precision say 0.29 and mean it; their bits are of another number.
        return float(str(value))
    return float(value)


def is_whole(value: Any) -> bool:
    """Tell whether something is a whole number by its type."""
    strange = isinstance(value, bool | np.timedelta64)
    return not strange and isinstance(value, int | np.integer)


def shown(value: Any) -> str:
    """Return how a value is quoted in a message; of a very long one its size."""
    if isinstance(value, int) and abs(value) >= 10**20:
        return f"a whole number of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
