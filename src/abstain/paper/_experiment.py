"""What every reproduced experiment of the paper returns, and how its data files are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


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


def data_folder(options: Options, experiment: str) -> Path:
    """Return the folder with the data files, or say that one is needed."""
    if options.data is None:
        raise ValueError(
            f"The experiment {experiment!r} needs its data files: pass --data DIR with the folder "
            f"that holds them. docs/paper.md describes their layout."
        )
    folder = Path(options.data)
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}.")
    return folder


def files_are_there(folder: Path, names: tuple[str, ...]) -> bool:
    """Tell whether all files of an experiment are in the folder."""
    return all((folder / name).is_file() for name in names)


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
            f"{', '.join(layout)}; docs/paper.md describes the layout."
        )
    with np.load(path, allow_pickle=False) as stored:
        missing = [name for name in layout if name not in stored.files]
        if missing:
            raise ValueError(f"{path} has no array {', '.join(missing)}; it has {stored.files}.")
        arrays = {name: stored[name] for name in layout}
    for name, shape in layout.items():
        _check_shape(arrays[name], shape, f"{name} of {path}")
    return arrays


def _check_shape(array: NDArray[Any], shape: tuple[int | None, ...], what: str) -> None:
    fits = array.ndim == len(shape) and all(
        wanted is None or wanted == length
        for wanted, length in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise ValueError(f"{what} must have shape ({wanted}); got {array.shape}.")
