"""One registry of names for metrics, calibrators, shift estimators, scores, regions and rules."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Registry(Generic[T]):
    """Things by name, and a helpful error for a name that is not there.

    Parameters
    ----------
    what : str
        The argument that takes the names, for messages.
    things : iterable of (str, object)
        The names and what they stand for, each name once.
    kind : str, optional
        What may be given in place of a name, for messages.
    known_as : mapping of str to sequence of str, optional
        What things are called elsewhere, in small letters with hyphens: the names to propose for
        it. Never taken in their place.

    Examples
    --------
    >>> colours = Registry("colour", [("red", 0xFF0000), ("blue", 0x0000FF)])
    >>> colours["blue"]
    255
    >>> colours["bleu"]
    Traceback (most recent call last):
    ValueError: `colour` 'bleu' is not known. Did you mean 'blue'? Known: blue, red.
    """

    def __init__(
        self,
        what: str,
        things: Iterable[tuple[str, T]],
        kind: str = "",
        known_as: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._what = what
        self._known_as = known_as or {}
        self._kinds = f"a name or a {kind}" if kind else "a name"
        self._things: dict[str, T] = {}
        for name, thing in things:
            if name in self._things:
                raise ValueError(f"{name!r} is registered twice.")
            self._things[name] = thing

    def __contains__(self, name: object) -> bool:
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._things))

    def __len__(self) -> int:
        return len(self._things)

    def __getitem__(self, name: str) -> T:
        if not isinstance(name, str):
            raise TypeError(f"`{self._what}` must be {self._kinds}; got {type(name).__name__}.")
        if name in self._things:
            return self._things[name]
        raise ValueError(self.complaint(name))

    def __setitem__(self, name: str, thing: T) -> None:
        self._things[name] = thing

    def complaint(self, name: str, *, shown: Iterable[str] | None = None) -> str:
        """Return what to say of an unknown name.

        ``shown`` are the names to list, where those are longer than the registered ones.
        """
        listed = [*self] if shown is None else [*shown]
        near = self._near(name, listed)
        hint = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
        return f"`{self._what}` {name!r} is not known. {hint}Known: {', '.join(listed)}."

    def _near(self, name: str, listed: list[str]) -> Sequence[str]:
        """Return what may have been meant: as it is called elsewhere, or spelt nearly so."""
        plain = "-".join(re.split(r"[\s_-]+", name.strip().lower()))
        # With its argument, without it, and without what it is to be had at.
        heads = [plain, re.split(r"[=:]", plain)[0], re.split(r"[=:@]", plain)[0]]
        for head in heads:
            if head in self._known_as:
                return self._known_as[head]
        names = {re.split(r"[=:]", one)[0]: [one] for one in reversed(listed)}
        names |= {one: [one] for one in listed}
        # What a thing is called elsewhere is only taken for a slip of the hand.
        everything = {**self._known_as, **names}
        for head, among, cutoff in (
            (heads[0], everything, 0.85),
            (heads[2], everything, 0.85),
            (heads[0], names, 0.6),
            (heads[2], names, 0.5),
        ):
            near = difflib.get_close_matches(head, [*among], n=1, cutoff=cutoff)
            if near:
                return among[near[0]]
        return []
