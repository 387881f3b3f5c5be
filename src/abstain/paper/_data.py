"""Reading the data files of the paper's experiments, with messages for what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain.paper._experiment import Options


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
