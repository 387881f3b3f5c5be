"""One registry of names for metrics, calibrators, shift estimators, scores, regions and rules."""

import difflib
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

__all__ = ["Registry"]

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

    Examples
    --------
    >>> colours = Registry("colour", [("red", 0xFF0000), ("blue", 0x0000FF)])
    >>> colours["blue"]
    255
    >>> colours["bleu"]
    Traceback (most recent call last):
    ValueError: `colour` 'bleu' is not known. Did you mean 'blue'? Known: blue, red.
    """

    def __init__(self, what: str, things: Iterable[tuple[str, T]], kind: str = "") -> None:
        self._what = what
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

    def complaint(
        self, name: str, *, shown: Iterable[str] | None = None, head: str | None = None
    ) -> str:
        """Return what to say of an unknown name.

        ``shown`` are the names to list, where those are longer than the registered ones; ``head``
        is the part of the name that is registered.
        """
        listed = [*self] if shown is None else [*shown]
        near = difflib.get_close_matches(name, listed, n=1)
        near = near or difflib.get_close_matches(head or name, [*self], n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        return f"`{self._what}` {name!r} is not known. {hint}Known: {', '.join(listed)}."
