"""One registry of names for metrics, calibrators, shift estimators, scores, regions and rules."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from abstain._schema import ByName, Keys

T = TypeVar("T")


class Registry(Generic[T]):
    """Things by name, and a helpful error for a name that is not there.

    Parameters
    ----------
    what : str
        The argument that takes the names, for messages.
    things : iterable
        What there is, each with a name of its own.
    tag : str
        The attribute that is their name.
    kind : str, optional
        What may be given in place of a name, for messages.
    known_as : mapping of str to str, optional
        One name or several to propose, and for what: the words that things are called by
        elsewhere, in small letters with hyphens. Never taken in their place.
    remedy : str, optional
        What makes a thing of the user's own known, for messages.

    Examples
    --------
    >>> colours: Registry[int] = Registry("colour")
    >>> colours.add("red", 0xFF0000)
    >>> colours.add("blue", 0x0000FF)
    >>> colours["blue"]
    255
    >>> colours["bleu"]
    Traceback (most recent call last):
    ValueError: `colour` 'bleu' is not known. Did you mean 'blue'? Known: blue, red.
    """

    def __init__(
        self,
        what: str,
        things: Iterable[T] = (),
        tag: str = "name",
        *,
        kind: str = "",
        known_as: Mapping[str, str] | None = None,
        remedy: str = "",
    ) -> None:
        self._what, self._tag = what, tag
        proposed = (known_as or {}).items()
        self._known_as = {word: names.split() for names, said in proposed for word in said.split()}
        self._kinds = f"a name or a {kind}" if kind else "a name"
        self.remedy = remedy
        self._things: dict[str, T] = {}
        self._own: set[str] = set()
        for thing in things:
            self.add(getattr(thing, tag), thing)

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

    def add(self, name: str, thing: T) -> None:
        """Add what is built in."""
        if name in self._things:
            raise ValueError(f"{name!r} is registered twice.")
        self._things[name] = thing

    def register(self, name: str, thing: T) -> None:
        """Add something of the user's own; what was added before under that name is replaced."""
        if not name or (name in self._things and name not in self._own):
            raise ValueError(
                f"`name` {name!r} is {f'that of a built-in {self._what}' if name else 'empty'}; "
                f"choose another."
            )
        self._own.add(name)
        self._things[name] = thing

    def register_class(self, thing: Any, base: type) -> None:
        """Add a class of the user's own, made from a base."""
        if not isinstance(thing, type) or not issubclass(thing, base):
            raise TypeError(
                f"`{self._what}` must be a class that is made from {base.__name__}; got {thing!r}."
            )
        self.register(getattr(thing, self._tag), thing)  # type: ignore[arg-type]

    def stored(self, of: Callable[[T], Keys], *without: str) -> ByName:
        """Return what a policy file holds of the one that it names."""

        def records() -> dict[str, Keys]:
            return {name: of(self[name]) for name in self if name not in without}

        return ByName(self._tag, records, what=self._what, remedy=self.remedy)

    def is_own(self, name: str) -> bool:
        """Tell whether what has a name is the user's own."""
        return name in self._own

    def complaint(self, name: str, *, shown: Iterable[str] | None = None) -> str:
        """Return what to say of an unknown name.

        ``shown`` are the names to list, where those are longer than the registered ones.
        """
        listed = [*self] if shown is None else [*shown]
        near = self._near(name, listed)
        hint = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
        said = f"`{self._what}` {name!r} is not known. {hint}Known: {', '.join(listed)}."
        return f"{said} {self.remedy}".rstrip()

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
