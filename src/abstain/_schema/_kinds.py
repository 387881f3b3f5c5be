"""The kinds of value that a policy file holds: each reads plain data, or says what is wrong.

Numbers, text and arrays first, then what holds others: objects by their keys, and lists.

To read is to check type, size and range, and to return the value as the rest of the library wants
it: lists of numbers as arrays. A kind looks at declared keys alone and never deeper, so that no
data, however nested, can exhaust it; and a message never shows more than a few characters of them.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

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

# A boolean is an int too, so that it comes first.
_NAMES: dict[str, Any] = {
    "null": type(None),
    "flag": bool,
    "text": str,
    "list": (list, tuple),
    "object": dict,
    "number": (int, float, np.number),
}

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

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return the value, checked; raise ``ValueError`` where it is not of this kind."""
        if not self.fits(value):
            raise wrong(where, self.words(), value)
        return value

    def fits(self, value: Any) -> bool:
        """Tell whether a value by itself is of this kind."""
        return True

    @abstractmethod
    def words(self) -> str:
        """Say what the value must be."""

    def parts(self) -> Iterator[tuple[str, Kind]]:
        """Give the keys inside, for a list of all of them."""
        return iter(())


#: What stands for a record inside other kinds: its keys, of which one that ends in ``?`` may be
#: left out, each with its kind. The names of the axes of an array stand for the kind of it, as in
#: ``("classes",)``, and none of them for a number.
Keys = Mapping[str, "Kind | Keys | tuple[int | str, ...]"]


def as_kind(kind: Kind | Keys | tuple[int | str, ...]) -> Kind:
    """Return a kind of value, or what stands for one as a kind."""
    if isinstance(kind, tuple):
        return Numbers(kind) if kind else Number()
    return kind if isinstance(kind, Kind) else Record(kind)


@dataclass(frozen=True)
class Constant(Kind):
    """One value and no other."""

    value: Any

    def fits(self, value: Any) -> bool:
        """Tell whether it is that."""
        return type(value) is type(self.value) and value == self.value

    def words(self) -> str:
        """Say which."""
        return "null" if self.value is None else f"`{self.value!r}`".replace("'", '"')


@dataclass(frozen=True)
class Flag(Kind):
    """True or false."""

    def fits(self, value: Any) -> bool:
        """Tell whether it is one of the two."""
        return isinstance(value, bool)

    def words(self) -> str:
        """Say so."""
        return "true or false"


@dataclass(frozen=True)
class Text(Kind):
    """Text of at most so many characters."""

    longest: int = LONGEST_NAME
    least: int = 0

    def fits(self, value: Any) -> bool:
        """Tell whether it is text of that length."""
        return isinstance(value, str) and self.least <= len(value) <= self.longest

    def read(self, value: Any, where: str, sizes: Sizes) -> str:
        """Return the text."""
        text: str = super().read(value, where, sizes)
        if not text.isascii() and _LONE_SURROGATE.search(text):
            raise ValueError(f"`{where}` holds half a character (a lone surrogate)")
        return text

    def words(self) -> str:
        """Say how long."""
        return f"text of {self.least} to {self.longest:,} characters"


class OneOf(Kind):
    """One of some names."""

    def __init__(self, *names: str) -> None:
        self.names = names

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
    what = "a number"

    def fits(self, value: Any) -> bool:
        """Tell whether it is a number of the range."""
        # Compared before it is converted: a whole number may be too large for a float.
        if not _is_number(value) or (self.open and value in (self.low, self.high)):
            return False
        return bool(self.low <= value <= self.high)

    def words(self) -> str:
        """Say in which range."""
        return f"{self.what}{_range(self.low, self.high, self.open)}"


@dataclass(frozen=True)
class Whole(Number):
    """A whole number in a range, both ends included; or of what it numbers, from 0 on."""

    low: float = 0
    high: float = 2**53
    below: str | None = None
    what = "a whole number"

    def fits(self, value: Any) -> bool:
        """Tell whether it is a whole number of the range."""
        return isinstance(value, int) and super().fits(value)

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return the number."""
        number = super().read(value, where, sizes)
        if self.below is not None and number >= sizes[self.below]:
            raise ValueError(f"`{where}` is {number}; there are {sizes[self.below]} {self.below}")
        return number


@dataclass(frozen=True)
class Numbers(Kind):
    """A list of numbers, or a list of such lists, of a given shape; read as an array.

    Parameters
    ----------
    shape : tuple of int or str
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

    shape: tuple[int | str, ...]
    low: float = -LARGEST
    high: float = LARGEST
    below: str | None = None
    whole: bool = False
    sums: bool = False
    rising: bool = False
    least: int = 1
    most: int | None = None
    plain: bool = False

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

    def __init__(self, **kinds: Kind | Keys | None) -> None:
        self._kinds = {
            name: None if kind is None else as_kind(kind) for name, kind in kinds.items()
        }

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return the value, read as its kind."""
        kind = self._kinds.get(named(value), self)
        if kind is self:
            raise wrong(where, self.words(), value)
        return None if kind is None else kind.read(value, where, sizes)

    def words(self) -> str:
        """Say which."""
        kinds = self._kinds.values()
        return ", or ".join("null" if kind is None else kind.words() for kind in kinds)

    def parts(self) -> Iterator[tuple[str, Kind]]:
        """Give the keys inside any of them."""
        for kind in self._kinds.values():
            if kind is not None:
                yield from kind.parts()


def named(value: Any) -> str:
    """Name what a value is in JSON."""
    return next((name for name, kinds in _NAMES.items() if isinstance(value, kinds)), "else")


def _range(low: float, high: float, is_open: bool = False) -> str:
    if low <= -LARGEST and high >= LARGEST:
        return ""
    if high >= _NO_LIMIT:
        return f" {'above' if is_open else 'of at least'} {low:g}"
    return f" {'between' if is_open else 'from'} {low:g} {'and' if is_open else 'to'} {high:.17g}"


#: What a class may be called.
LABEL = Either(text=Text(), number=Number(), flag=Flag())


class Record(Kind):
    """Named values: those keys and no others; a key that ends in ``?`` may be left out.

    Inside other kinds a mapping of keys to kinds stands for one.
    """

    def __init__(self, keys: Keys) -> None:
        self._kinds = {key.removesuffix("?"): as_kind(kind) for key, kind in keys.items()}
        self._needed = [key for key in keys if not key.endswith("?")]

    def read(self, value: Any, where: str, sizes: Sizes, tag: str | None = None) -> dict[str, Any]:
        """Return the values, each read; what an array sizes holds for those beside it alone."""
        if not isinstance(value, dict):
            raise wrong(where or "policy", "an object", value)
        found: dict[str, Any] = {} if tag is None else {tag: value[tag]}
        for key in value:
            if key not in self._kinds and key != tag:
                raise ValueError(
                    f"`{where or 'policy'}` has the key {shown(key)}, which means nothing there"
                )
        for key in self._needed:
            if key not in value:
                raise ValueError(f"`{where or 'policy'}` has no {key!r}")
        inside = {"classes": sizes["classes"]} if "classes" in sizes else {}
        for key, kind in self._kinds.items():
            if key in value:
                found[key] = kind.read(value[key], f"{where}.{key}" if where else key, inside)
        return found

    def words(self) -> str:
        """Say that it is one."""
        return "an object" if self._kinds else "an object without keys"

    def parts(self) -> Iterator[tuple[str, Kind]]:
        """Give its keys, those that may be left out with their mark."""
        for key, kind in self._kinds.items():
            yield (key if key in self._needed else f"{key}?"), kind


class ByName(Kind):
    """Named values of which one says what the others are.

    Parameters
    ----------
    tag : str
        The key of that one.
    records : callable
        Returns the keys that each name has beside it: what is registered by now.
    what : str
        What has the name, for messages.
    remedy : str
        What makes a name of the user's own known.
    """

    def __init__(
        self, tag: str, records: Callable[[], Mapping[str, Keys]], *, what: str, remedy: str = ""
    ) -> None:
        self._tag, self._records, self._what, self._remedy = tag, records, what, remedy

    def read(self, value: Any, where: str, sizes: Sizes) -> dict[str, Any]:
        """Return the values, read as their name says."""
        if not isinstance(value, dict):
            raise wrong(where, "an object", value)
        name, records = value.get(self._tag), self._records()
        if not isinstance(name, str) or name not in records:
            raise ValueError(
                f"`{self._what}` {shown(name)} is not known: `{where}.{self._tag}` must be one "
                f"of {', '.join(records)}. {self._remedy}".rstrip(". ")
            )
        return Record(records[name]).read(value, where, sizes, self._tag)

    def words(self) -> str:
        """Say what names it."""
        return f"an object, by its `{self._tag}`"

    def parts(self) -> Iterator[tuple[str, Kind]]:
        """Give the keys of each name; names of the same keys together."""
        records = self._records()
        yield self._tag, OneOf(*records)
        said: list[Keys] = []
        for keys in records.values():
            if keys not in said:
                said.append(keys)
                names = ", ".join(name for name, one in records.items() if one == keys)
                for key, kind in Record(keys).parts():
                    yield f"{key} ({names})", kind


class MapOf(Kind):
    """Values of one kind, by names of any text."""

    def __init__(self, kind: Kind, *, name: Text, least: int = 1, most: int = 1_000) -> None:
        self._kind, self._name, self._least, self._most = kind, name, least, most

    def read(self, value: Any, where: str, sizes: Sizes) -> dict[str, Any]:
        """Return them, each read."""
        if not isinstance(value, dict) or not self._least <= len(value) <= self._most:
            raise wrong(where, self.words(), value)
        for name in value:
            self._name.read(name, f"{where} (a name)", sizes)
        return {
            name: self._kind.read(one, f"{where}.{shown(name)}", dict(sizes))
            for name, one in value.items()
        }

    def words(self) -> str:
        """Say of what."""
        return f"{self._least:,} to {self._most:,} names, each with {self._kind.words()}"

    def parts(self) -> Iterator[tuple[str, Kind]]:
        """Give the keys of each."""
        for key, kind in self._kind.parts():
            yield f"NAME.{key}", kind


class ListOf(Kind):
    """A list of values of one kind, or of as many as there are kinds."""

    def __init__(self, *kinds: Kind, least: int = 0, most: int = 1_000) -> None:
        self._kinds, self._least, self._most = kinds, least, most

    def read(self, value: Any, where: str, sizes: Sizes) -> list[Any]:
        """Return them, each read."""
        least, most = self._least, self._most
        kinds = self._kinds
        if len(kinds) > 1:
            least = most = len(kinds)
        if not isinstance(value, list | tuple) or not least <= len(value) <= most:
            raise wrong(where, self.words(), value)
        if len(kinds) == 1:
            kinds = kinds * len(value)
        return [
            kind.read(one, f"{where}[{i}]", sizes)
            for i, (kind, one) in enumerate(zip(kinds, value, strict=True))
        ]

    def words(self) -> str:
        """Say of what."""
        if len(self._kinds) > 1:
            return f"a list of {len(self._kinds)}: {'; '.join(k.words() for k in self._kinds)}"
        return f"a list of at most {self._most:,}, each {self._kinds[0].words()}"


class MadeByOthers(Kind):
    """A record with further keys of its maker's, which nothing here reads: plain values alone."""

    def __init__(self, keys: Keys, *, most: int) -> None:
        self._record, self._most = Record(keys), most

    def read(self, value: Any, where: str, sizes: Sizes) -> dict[str, Any]:
        """Return the record with all its keys."""
        if not isinstance(value, dict):
            raise wrong(where, "an object", value)
        known = {key.removesuffix("?") for key, _ in self._record.parts()}
        own = {key: one for key, one in value.items() if key not in known}
        if len(own) > self._most:
            raise wrong(where, f"an object with at most {self._most} keys of its own", value)
        rest = {key: one for key, one in value.items() if key in known}
        for key, one in own.items():
            Text(least=1).read(key, f"{where} (a key)", sizes)
            kind = named(one)
            if kind in ("list", "object", "else"):
                raise wrong(f"{where}.{key}", "text, a number, true, false or null", one)
            if one is not None:
                LABEL.read(one, f"{where}.{key}", sizes)
        return {**self._record.read(rest, where, sizes), **own}

    def words(self) -> str:
        """Say so."""
        return "an object, with plain values of its maker's besides"

    def parts(self) -> Iterator[tuple[str, Kind]]:
        """Give the keys that mean something."""
        return self._record.parts()


def listed(kind: Kind, where: str = "") -> Iterator[tuple[str, str]]:
    """Give every key of a schema with what it must be, outer ones first."""
    for key, part in kind.parts():
        path = f"{where.removesuffix('?')}.{key}" if where else key
        yield path, part.words()
        yield from listed(part, path)


#: Kinds that several parts of a file have.
SCALE = OneOf("probabilities", "logits")
NAME = Text(least=1)
# The name of a metric may hold a matrix of costs.
LONG_NAME = Text(2**20, least=1)
SHARE = Number(0, 1)
# A weight or a cost: sums and squares of many of them stay finite.
MOST = 1e100
AMOUNT = Number(0, MOST)
# What may have no value, as JSON has no NaN and no infinity.
FOUND = Either(null=None, number=Number())
# An edge in probabilities, which may lie where no probability is.
EDGE = Number(-1, 2)


def amounts(*shape: str) -> Numbers:
    """Return the kind of weights or costs."""
    return Numbers(shape, low=0, high=MOST)


def proportions(*shape: str, plain: bool = False) -> Numbers:
    """Return the kind of numbers that sum to 1."""
    return Numbers(shape, low=0, high=1, sums=True, plain=plain)
