"""What every reproduced experiment of the paper returns, and how its data files are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from abstain.exceptions import extra


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
    simulated : bool
        Whether to run on a small simulated stand-in for the data of a table.
    """

    data: Path | None = None
    repeats: int | None = None
    methods: tuple[str, ...] = ()
    extra_methods: tuple[str, ...] = ()
    simulated: bool = False


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


#: A function that runs one experiment.
Experiment = Callable[[Options], Result]


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of so many inches; the error names the extra where it is missing."""
    with extra("plots", "Figures need matplotlib"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), layout="constrained")


def data_folder(options: Options, experiment: str) -> Path:
    """Return the folder with the data files, or say that one is needed."""
    if options.data is None:
        raise ValueError(
            f"The experiment {experiment!r} needs its data files: pass --data DIR with the folder "
            f"that holds them, or --simulated for a small stand-in. The page `The paper` of the "
            f"documentation says where they are to be had, and their layout."
        )
    folder = Path(options.data)
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}.")
    return folder


def read_arrays(path: Path, layout: Mapping[str, tuple[int | None, ...]]) -> dict[str, Any]:
    """Read named arrays from an ``.npz`` file and check their shapes.

    Parameters
    ----------
    path : Path
        The file.
    layout : mapping of str to tuple
        The shape of each array that is needed; None where any length will do.

    Returns
    -------
    dict of str to ndarray
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no file {path.name} in {path.parent}. It must hold the arrays "
            f"{', '.join(layout)}: the page `The paper` of the documentation has the layout."
        )
    with np.load(path, allow_pickle=False) as stored:
        missing = [name for name in layout if name not in stored.files]
        if missing:
            raise ValueError(f"{path} has no array {', '.join(missing)}; it has {stored.files}.")
        arrays = {name: stored[name] for name in layout}
    for name, shape in layout.items():
        found = arrays[name].shape
        # Any length will do where none is said.
        filled = tuple(own if own is not None else n for own, n in zip(shape, found, strict=False))
        if found != filled or len(found) != len(shape):
            wanted = ", ".join("any" if length is None else str(length) for length in shape)
            raise ValueError(f"{name} of {path} must have shape ({wanted}); got {found}.")
    return arrays
