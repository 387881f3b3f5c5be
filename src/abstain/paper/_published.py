"""The numbers the paper prints, read from ``tables.json`` beside the data, if it is there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

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
