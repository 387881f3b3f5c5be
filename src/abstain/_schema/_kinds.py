"""The kinds of value that a policy file holds: each reads plain data, or says what is wrong.

To read is to check type, size and range, and to return the value as the rest of the library wants
it: lists of numbers as arrays. A kind looks at declared keys alone and never deeper, so that no
data, however nested, can exhaust it; and a message never shows more than a few characters of them.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

__all__ = [
    "Constant",
    "Either",
    "Flag",
    "Kind",
    "Labels",
    "Number",
    "Numbers",
    "OneOf",
    "Sizes",
    "Text",
    "Whole",
    "named",
    "shown",
    "wrong",
]

#: No number in a file is larger: products with ordinary scores stay finite.
LARGEST = 1e300
#: Classes that a policy may have; matrices of so many fill eight gigabytes.
MOST_CLASSES = 2**15
#: Characters of a name, such as that of a class.
LONGEST_NAME = 1_000
# Beyond this whole numbers are not exact, and a limit is not worth a word.
_NO_LIMIT = 2**53
# How far numbers that are to sum to 1 may be from it.
_SUM_TOLERANCE = 1e-3

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

#: How many there are of what arrays are about, such as classes, by name.
Sizes = dict[str, int]


def shown(value: Any) -> str:
    """Return a few characters that say what a value is, however large it is."""
    if isinstance(value, str):
        return repr(value) if len(value) <= 60 else f"{value[:60]!r}... ({len(value)} characters)"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 64:
        return f"a whole number of {value.bit_length()} bits"
    if value is None or isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object with {len(value)} keys"
    return f"a {type(value).__name__}"


def wrong(where: str, rule: str, value: Any) -> ValueError:
    return ValueError(f"`{where}` must be {rule}; got {shown(value)}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


class Kind(ABC):
    """What a value may be."""

    @abstractmethod
    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return the value, checked; raise ``ValueError`` where it is not of this kind."""

    @abstractmethod
    def words(self) -> str:
        """Say what the value must be."""

    def parts(self) -> Iterator[tuple[str, Kind]]:
        """Give the keys inside, for a list of all of them."""
        return iter(())


@dataclass(frozen=True)
class Constant(Kind):
    """One value and no other."""

    value: Any

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return the value."""
        if type(value) is not type(self.value) or value != self.value:
            raise wrong(where, self.words(), value)
        return value

    def words(self) -> str:
        """Say which."""
        return "null" if self.value is None else f"`{self.value!r}`".replace("'", '"')


@dataclass(frozen=True)
class Flag(Kind):
    """True or false."""

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return true or false."""
        if not isinstance(value, bool):
            raise wrong(where, self.words(), value)
        return value

    def words(self) -> str:
        """Say so."""
        return "true or false"


@dataclass(frozen=True)
class Text(Kind):
    """Text of at most so many characters."""

    longest: int = LONGEST_NAME
    least: int = 0

    def read(self, value: Any, where: str, sizes: Sizes) -> str:
        """Return the text."""
        if not isinstance(value, str) or not self.least <= len(value) <= self.longest:
            raise wrong(where, self.words(), value)
        if not value.isascii() and _LONE_SURROGATE.search(value):
            raise ValueError(f"`{where}` holds half a character (a lone surrogate)")
        return value

    def words(self) -> str:
        """Say how long."""
        return f"text of {self.least} to {self.longest:,} characters"


@dataclass(frozen=True, init=False)
class OneOf(Kind):
    """One of some names."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return the name."""
        if not isinstance(value, str) or value not in self.names:
            raise wrong(where, f"one of {', '.join(self.names)}", value)
        return value

    def words(self) -> str:
        """List them."""
        return " or ".join(f'`"{name}"`' for name in self.names)


@dataclass(frozen=True)
class Number(Kind):
    """A finite number in a range, both ends included unless it is open."""

    low: float = -LARGEST
    high: float = LARGEST
    open: bool = False

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return the number."""
        # Compared before it is converted: a whole number may be too large for a float.
        if not _is_number(value) or not (
            self.low < value < self.high if self.open else self.low <= value <= self.high
        ):
            raise wrong(where, self.words(), value)
        return value

    def words(self) -> str:
        """Say in which range."""
        return f"a number{_range(self.low, self.high, self.open)}"


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number in a range, both ends included."""

    low: int = 0
    high: int = 2**53

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return the number."""
        if not isinstance(value, int) or isinstance(value, bool):
            raise wrong(where, self.words(), value)
        if not self.low <= value <= self.high:
            raise wrong(where, self.words(), value)
        return value

    def words(self) -> str:
        """Say in which range."""
        return f"a whole number{_range(self.low, self.high)}"


class Numbers(Kind):
    """A list of numbers, or a list of such lists, of a given shape; read as an array.

    Parameters
    ----------
    *shape : int or str
        How many, on each axis: a number, or what they are one for each of. The first array to
        name something else than classes says how many of it there are in its part of the file.
    low, high : float
        The range of each.
    below : str, optional
        What they number, from 0 on.
    whole : bool
        Whether they are whole numbers.
    sums : bool
        Whether they are to sum to 1, on the last axis.
    rising : bool
        Whether none is less than the one before.
    least, most : int
        How many there may be on the first axis, where nothing else says so.
    plain : bool
        Whether they are to stay a list.
    """

    def __init__(
        self,
        *shape: int | str,
        low: float = -LARGEST,
        high: float = LARGEST,
        below: str | None = None,
        whole: bool = False,
        sums: bool = False,
        rising: bool = False,
        least: int = 1,
        most: int | None = None,
        plain: bool = False,
    ) -> None:
        self.shape, self.low, self.high, self.below = shape, low, high, below
        self.whole, self.sums, self.rising = whole, sums, rising
        self.least, self.most, self.plain = least, most, plain

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return the numbers as an array."""
        array = self._array(value, where)
        for axis, size in enumerate(self.shape):
            found = array.shape[axis]
            due = size if isinstance(size, int) else sizes.setdefault(size, found)
            if found != due:
                raise ValueError(
                    f"`{where}` must have {due} {'rows' if axis < array.ndim - 1 else 'numbers'}"
                    f"{'' if isinstance(size, int) else f', one for each of the {size}'}; "
                    f"got {found}"
                )
        if len(array) < self.least or (self.most is not None and len(array) > self.most):
            raise wrong(where, self.words(), value)
        self._check(array, where, sizes)
        return value if self.plain else array

    def _array(self, value: Any, where: str) -> Any:
        """Return lists as an array of as many dimensions as there are to be."""
        if not isinstance(value, list | tuple):
            raise wrong(where, self.words(), value)
        flat: Any = value
        if len(self.shape) == 2:
            if not {*map(type, value)} <= {list, tuple}:
                raise ValueError(f"`{where}` must be {self.words()}; a row of it is no list")
            if len(set(map(len, value))) > 1:
                raise ValueError(f"`{where}` must have rows of the same length")
            flat = chain.from_iterable(value)
        for kind in set(map(type, flat)):
            if not issubclass(kind, int | float | np.number) or kind is bool:
                raise ValueError(f"`{where}` must be {self.words()}; got a {kind.__name__} in it")
        try:
            array = np.array(value, dtype=np.float64)
        except OverflowError as error:
            raise ValueError(f"`{where}` has a number that is too large") from error
        return array.reshape(0, 0) if len(self.shape) == 2 and not value else array

    def _check(self, array: Any, where: str, sizes: Sizes) -> None:
        if not array.size:
            return
        high = self.high if self.below is None else sizes[self.below] - 1
        least, most = array.min(), array.max()
        # Written so that NaN is outside.
        if not (self.low <= least and most <= high):
            outside = least if not self.low <= least else most
            raise ValueError(
                f"`{where}` must be{_range(self.low, high) or ' finite'}; got {outside!s}"
            )
        if self.whole and (array != np.floor(array)).any():
            raise ValueError(f"`{where}` must be whole numbers")
        if self.rising and (np.diff(array) < 0).any():
            raise ValueError(f"`{where}` must rise from each number to the next")
        if self.sums:
            off = np.abs(array.sum(axis=-1) - 1).max()
            if not off <= _SUM_TOLERANCE:
                raise ValueError(f"`{where}` must sum to 1; it is off by {off:.3g}")

    def words(self) -> str:
        """Say how many, and in which range."""
        # A number for the size of an axis, or what there is one for each of.
        each = " x ".join(str(size) for size in self.shape)
        said = f"{'whole ' if self.whole else ''}numbers{_range(self.low, self.high)} ({each})"
        said += f", numbering {self.below}" if self.below else ""
        said += ", which sum to 1" if self.sums else ""
        said += ", none less than the one before" if self.rising else ""
        return said if self.most is None else f"{said}, at most {self.most:,}"


@dataclass(frozen=True)
class Labels(Kind):
    """The labels of the classes: distinct, each text, a number, or true or false."""

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return an array of the labels as they are, of objects where they are mixed."""
        if not isinstance(value, list | tuple) or not 2 <= len(value) <= MOST_CLASSES:
            raise wrong(where, self.words(), value)
        for label in value:
            LABEL.read(label, where, sizes)
            if isinstance(label, int) and label.bit_length() > 64:
                raise ValueError(f"`{where}` must fit into 64 bits; got {shown(label)}")
        distinct = len({*value}) == len({str(label) for label in value}) == len(value)
        if not distinct:
            raise ValueError(f"`{where}` must be distinct")
        due = sizes.setdefault("classes", len(value))
        if len(value) != due:
            raise ValueError(f"`{where}` must have {due} labels; got {len(value)}")
        array = np.array(value)
        kept = array.tolist()
        if kept == list(value) and {*map(type, kept)} <= {*map(type, value)}:
            return array
        array = np.empty(len(value), dtype=object)
        array[:] = value
        return array

    def words(self) -> str:
        """Say what a label is."""
        return f"2 to {MOST_CLASSES:,} distinct labels, each {LABEL.words()}"


class Either(Kind):
    """One of several kinds, told by what the value is in JSON."""

    def __init__(self, **kinds: Kind | None) -> None:
        self._kinds = kinds

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return the value, read as its kind."""
        kind = self._kinds.get(named(value), self)
        if kind is self:
            raise wrong(where, self.words(), value)
        return None if kind is None else kind.read(value, where, sizes)

    def words(self) -> str:
        """Say which."""
        return ", or ".join("null" if kind is None else kind.words() for kind in self._all())

    def parts(self) -> Iterator[tuple[str, Kind]]:
        """Give the keys inside any of them."""
        for kind in self._all():
            if kind is not None:
                yield from kind.parts()

    def _all(self) -> list[Kind | None]:
        return [*self._kinds.values()]


def named(value: Any) -> str:
    """Name what a value is in JSON."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list | tuple):
        return "list"
    if isinstance(value, dict):
        return "object"
    return "number" if _is_number(value) else "else"


def _range(low: float, high: float, is_open: bool = False) -> str:
    if low <= -LARGEST and high >= LARGEST:
        return ""
    if high >= _NO_LIMIT:
        return f" {'above' if is_open else 'of at least'} {low:g}"
    return f" {'between' if is_open else 'from'} {low:g} {'and' if is_open else 'to'} {high:.17g}"


#: What a class may be called.
LABEL = Either(text=Text(), number=Number(), flag=Flag())
