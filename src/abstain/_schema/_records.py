"""The kinds of value that hold others: objects by their keys, and lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from abstain._schema._kinds import LABEL, Kind, OneOf, Sizes, Text, named, shown, wrong

__all__ = ["ByName", "ListOf", "MadeByOthers", "MapOf", "Record", "listed"]


class Record(Kind):
    """Named values: those keys and no others; a key that ends in ``?`` may be left out."""

    def __init__(self, keys: Mapping[str, Kind]) -> None:
        self._kinds = {key.removesuffix("?"): kind for key, kind in keys.items()}
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
    """Named values of which one says what the others are."""

    def __init__(self, tag: str, records: Mapping[str, Record], *, what: str) -> None:
        self._tag, self._records, self._what = tag, records, what

    def read(self, value: Any, where: str, sizes: Sizes) -> dict[str, Any]:
        """Return the values, read as their name says."""
        if not isinstance(value, dict):
            raise wrong(where, "an object", value)
        name = value.get(self._tag)
        if not isinstance(name, str) or name not in self._records:
            raise ValueError(
                f"`{self._what}` {shown(name)} is not known: `{where}.{self._tag}` must be one "
                f"of {', '.join(self._records)}"
            )
        return self._records[name].read(value, where, sizes, self._tag)

    def words(self) -> str:
        """Say what names it."""
        return f"an object, by its `{self._tag}`"

    def parts(self) -> Iterator[tuple[str, Kind]]:
        """Give the keys of each name."""
        yield self._tag, OneOf(*self._records)
        for record in dict.fromkeys(self._records.values()):
            names = ", ".join(name for name, one in self._records.items() if one is record)
            for key, kind in record.parts():
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

    def __init__(self, record: Record, *, most: int) -> None:
        self._record, self._most = record, most

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
