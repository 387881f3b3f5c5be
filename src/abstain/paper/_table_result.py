"""The outcome of an experiment that ends in a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from abstain.evaluation import ResultTable

_LEGEND = (
    "Mean and standard error over {repeats} repeats; * best of the column, by the paper's "
    "signed-rank procedure.{published}"
)
_PUBLISHED = " In brackets what the paper prints."


@dataclass(frozen=True)
class TableResult:
    """A table of the paper, rerun.

    Parameters
    ----------
    experiment : str
        Its name.
    repeats : int
        How many repeats were run.
    table : ResultTable
        The cells.
    """

    experiment: str
    repeats: int
    table: ResultTable

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain data (what ``--json`` prints)."""
        cells = [
            {
                "metric": cell["metric"],
                "method": cell["method"],
                "prepared": cell["prepared"],
                "abstain": _fraction(cell["abstain"]),
                **{key: cell[key] for key in ("mean", "se", "best", "values")},
            }
            for cell in self.table.to_dict()["cells"]
        ]
        return {"experiment": self.experiment, "repeats": self.repeats, "cells": cells}

    def to_text(self) -> str:
        """Return the outcome as a table for people."""
        return f"{self.table.to_text()}\n\n{self._legend()}"

    def to_markdown(self) -> str:
        """Return the outcome as a Markdown table."""
        return f"{self.table.to_markdown()}\n\n{self._legend().replace('* best', 'bold: best')}"

    def save_figures(self, folder: Path) -> list[Path]:
        """Write nothing: a table has no figures."""
        return []

    def _legend(self) -> str:
        known = any(cell.reference is not None for cell in self.table.cells)
        return _LEGEND.format(repeats=self.repeats, published=_PUBLISHED if known else "")


def _fraction(printed: str) -> float:
    return 0.0 if printed == "base" else int(printed[1:-1]) / 100
