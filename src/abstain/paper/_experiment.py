"""What every reproduced experiment of the paper returns, and the list of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True)
class Options:
    """What a user of ``abstain reproduce`` may set.

    Parameters
    ----------
    data : Path, optional
        The folder with the experiment's data files; simulations need none.
    repeats : int, optional
        How many repeats to run; as many as the paper when not given.
    methods : tuple of str
        The methods to run; all when empty.
    extra_methods : tuple of str
        The user's own scores, as ``module:function``.
    """

    data: Path | None = None
    repeats: int | None = None
    methods: tuple[str, ...] = ()
    extra_methods: tuple[str, ...] = field(default=())


class Result(Protocol):
    """The outcome of an experiment."""

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain data (what ``--json`` prints)."""
        ...

    def to_text(self) -> str:
        """Return the outcome as a table for people."""
        ...

    def save_figures(self, folder: Path) -> list[Path]:
        """Write the experiment's figures, if it has any, and return their paths."""
        ...


class Experiment(Protocol):
    """A function that runs one experiment."""

    def __call__(self, options: Options) -> Result:
        """Run the experiment."""
        ...
