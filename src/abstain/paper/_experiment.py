"""What experiments of the paper share: what they return, their data files, what the paper prints.

The printed numbers are read from ``tables.json`` beside the data, if it is there. A small stand-in
has the same files and arrays, simulated: it shows what a rerun takes where the authors'
predictions are not at hand, and none of its figures is the paper's.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax, softmax

from abstain._inputs import FloatArray
from abstain.exceptions import extra

# What the paper calls the rows; its own method is named by the metric.
_ROWS = {
    "Dist. from 0.5": "distance-from-half",
    "Entropy": "entropy",
    "Fumera et al.": "class-thresholds",
    "JS Div. (Ours)": "js-divergence",
    "Max Class Prob.": "max-probability",
    "Test-time Dropout": "dropout-variance",
}
_PREPARED = {
    ("adapted", "Y"): "adapted",
    ("adapted", "N"): "unadapted",
    ("calib", "Y"): "calibrated",
    ("calib", "N"): "uncalibrated",
}
N_MODELS, N_ROWS, N_DRAWS = 10, 240, 6
N_COPIES, N_PATIENTS, N_GRADES, N_GRADED_DRAWS = 8, 60, 5, 4
GRADES = (0.4, 0.2, 0.2, 0.1, 0.1)
#: How many repeats of it are run, where nobody says.
REPEATS = 3
STAND_IN = "Of a small simulated stand-in: none of these figures is the paper's."


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


class Result(ABC):
    """The outcome of an experiment."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain data (what ``--json`` prints)."""

    @abstractmethod
    def to_text(self) -> str:
        """Return the outcome as a table for people."""

    def figures(self) -> Iterator[tuple[str, Any]]:
        """Draw the experiment's figures, if it has any, each with its name."""
        yield from ()

    def save_figures(self, folder: Path) -> list[Path]:
        """Write the figures, and return their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for name, figure in self.figures():
            paths.append(folder / f"{name}.png")
            figure.savefig(paths[-1], dpi=150)
        return paths


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


class Printed(NamedTuple):
    """A cell as the paper prints it."""

    mean: float
    se: float
    bold: bool


@dataclass(frozen=True)
class Published:
    """Where an experiment's numbers are in the paper's tables.

    Parameters
    ----------
    table : str
        The label of the table.
    groups : mapping of str to (str, str)
        For each metric the heading its group of columns begins with, and the method that the
        paper's own row is.
    """

    table: str
    groups: Mapping[str, tuple[str, str]]


def read_published(
    folder: Path, published: Published
) -> dict[tuple[str, str, str, float], Printed]:
    """Return what is printed, by metric, method, preparation and fraction withheld."""
    path = folder / "tables.json"
    if not path.is_file():
        return {}
    found = {}
    for cell in json.loads(path.read_text(encoding="utf-8")):
        if cell["table"] != published.table:
            continue
        for metric, (heading, own) in published.groups.items():
            if cell["group"].startswith(heading):
                method = _ROWS.get(cell["method"], own)
                prepared = _PREPARED[cell["flag"], cell["flag_value"]]
                place = metric, method, prepared, _fraction(cell["column"])
                found[place] = Printed(cell["mean"], cell["se"], cell["bold"])
    return found


def _fraction(column: str) -> float:
    return 0.0 if column == "Base" else int(column[1:].split("%")[0]) / 100


def write_stand_in(folder: Path, name: str) -> None:
    """Write the two files of a data set into a folder.

    Parameters
    ----------
    folder : Path
    name : {"imdb", "catdog", "hema", "dr"}
        How the names of the files begin.
    """
    arrays, draws = _grades() if name == "dr" else _two_classes(2 if name == "hema" else None)
    np.savez(folder / f"{name}.npz", **arrays)
    np.savez(folder / f"{name}_mc.npz", **draws)


def _two_classes(n_tasks: int | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return logits of ten models, as good as each other, and draws of dropout around them."""
    rng, tail = np.random.default_rng(0), () if n_tasks is None else (n_tasks,)
    arrays: dict[str, Any] = {}
    for side in ("valid", "test"):
        y = rng.integers(2, size=(N_ROWS, *tail))
        noise: FloatArray = rng.normal(size=(N_MODELS, N_ROWS, *tail))
        arrays[f"{side}_labels"] = y.astype(np.int8)
        arrays[f"{side}_logits"] = (2.0 * (2 * y - 1) + 2 * noise).astype(np.float32)
    noise = rng.normal(size=(N_MODELS, N_DRAWS, N_ROWS, *tail))
    draws = arrays["test_logits"][:, None] + noise
    return arrays, {"test_mc_logits": draws.astype(np.float16)}


def _grades() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return probabilities of five grades for eight copies of pairs of eyes, and draws of them."""
    rng = np.random.default_rng(0)
    grades = rng.choice(N_GRADES, size=2 * N_PATIENTS, p=GRADES)
    logits = rng.normal(size=(N_COPIES, len(grades), N_GRADES)) + 2 * np.eye(N_GRADES)[grades]
    noise = rng.normal(size=(N_COPIES, N_GRADED_DRAWS, len(grades), N_GRADES))
    logs = log_softmax(logits[:, None] + 0.3 * noise, axis=3)
    centred = (logs - logs.mean(axis=3, keepdims=True)).astype(np.float16)
    proba = {"det_probs": softmax(logits, axis=2), "mcmean_probs": np.exp(logs).mean(axis=1)}
    return {"labels": grades.astype(np.int8), **proba}, {"mc_centered_logprobs": centred}
