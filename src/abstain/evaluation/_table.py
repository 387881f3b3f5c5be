"""Tables of results: methods down, columns across, and their renderings.

One table of facts, rendered afterwards as text, Markdown, LaTeX, CSV or JSON. Cells print as the
paper's do: mean and standard error, the best of a column marked.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from abstain._display import block, sentence, table
from abstain._numerics import aligned, plain

_LATEX = {
    **{sign: f"\\{sign}" for sign in "%_&#${}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
_STARS = sentence("* among the best of its column", soft=True)


@dataclass(frozen=True)
class Cell:
    """One method in one column of a table.

    Parameters
    ----------
    row, column : tuple of str
        Where it stands.
    values : tuple of float
        The metric in each repeat.
    best : bool
        Whether it is among the best of its column.
    reference : tuple of float, optional
        A published mean and standard error to print beside it.
    """

    row: tuple[str, ...]
    column: tuple[str, ...]
    values: tuple[float, ...]
    best: bool = False
    reference: tuple[float, float] | None = None

    @property
    def mean(self) -> float:
        """The mean over repeats."""
        return float(np.mean(self.values))

    @property
    def se(self) -> float:
        """The standard error of the mean; NaN for one repeat."""
        n = len(self.values)
        return float(np.std(self.values, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")


@dataclass(frozen=True, repr=False)
class ResultTable:
    """Results by row and column.

    Parameters
    ----------
    cells : tuple of Cell
        The results, row by row.
    row_names, column_names : tuple of str
        What the parts of a cell's place are, such as ``("method",)`` and ``("budget",)``.
    title : str
        What is printed above the table.
    """

    cells: tuple[Cell, ...]
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]
    title: str = ""

    def to_text(self) -> str:
        """Return the table for a terminal; ``*`` marks the best of a column."""
        rows = aligned(self._grid("{}*"))
        n_head = len(self.column_names)
        body = [*rows[:n_head], "-" * max(map(len, rows)), *rows[n_head:]]
        return "\n".join(([self.title, ""] if self.title else []) + body)

    def to_markdown(self) -> str:
        """Return the table in Markdown; the best of a column are bold."""
        heads, lines = self._under_one_head("**{}**", name=_markdown)
        n_rows = len(self.row_names)
        rule = ["---"] * n_rows + ["---:"] * (len(heads) - n_rows)
        body = [heads, rule, *lines]
        return "\n".join("| " + " | ".join(line) + " |" for line in body)

    def to_latex(self) -> str:
        """Return the table in LaTeX; the best of a column are bold."""
        lines = self._grid(r"\textbf{{{}}}", name=_latex)
        n_head, n_rows = len(self.column_names), len(self.row_names)
        columns = "l" * n_rows + "r" * (len(lines[0]) - n_rows)
        body = [" & ".join(line).replace("±", r"$\pm$") + r" \\" for line in lines]
        inner = [*body[:n_head], r"\hline", *body[n_head:]]
        return "\n".join(
            [rf"\begin{{tabular}}{{{columns}}}", r"\hline", *inner, r"\hline", r"\end{tabular}"]
        )

    def to_csv(self) -> str:
        """Return the cells one per line: place, mean, standard error, repeats, best."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*self.row_names, *self.column_names, "mean", "se", "repeats", "best"])
        for cell in self.cells:
            facts = [repr(cell.mean), repr(cell.se), len(cell.values), cell.best]
            writer.writerow([*cell.row, *cell.column, *facts])
        return text.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain data; what is not defined is None."""
        places = (*self.row_names, *self.column_names)
        return {
            "cells": [
                dict(zip(places, (*cell.row, *cell.column), strict=True)) | facts(cell)
                for cell in self.cells
            ]
        }

    def to_json(self) -> str:
        """Return the table as JSON."""
        return json.dumps(self.to_dict())

    def _repr_html_(self) -> str:
        heads, lines = self._under_one_head("{} *")
        return block("Results", self.title, table(heads, lines), _STARS)

    def __repr__(self) -> str:
        rows, columns = (
            {getattr(cell, side) for cell in self.cells} for side in ("row", "column")
        )
        of = f" of {self.title!r}" if self.title else ""
        return f"<ResultTable{of}: {len(rows)} x {len(columns)}; print(table.to_text())>"

    def _under_one_head(
        self, best: str, *, name: Callable[[str], str] | None = None
    ) -> tuple[list[str], list[list[str]]]:
        """Return the names of the columns, each in one cell, and the lines below them."""
        lines, n_head = self._grid(best, name=name), len(self.column_names)
        heads = [" ".join(filter(None, parts)) for parts in zip(*lines[:n_head], strict=True)]
        return heads, lines[n_head:]

    def _grid(self, best: str, *, name: Callable[[str], str] | None = None) -> list[list[str]]:
        """Return the table as lines of text, the names of rows and columns included."""
        name = name or _in_one_line
        columns = list(dict.fromkeys(cell.column for cell in self.cells))
        rows = list(dict.fromkeys(cell.row for cell in self.cells))
        placed = {(cell.row, cell.column): cell for cell in self.cells}
        n_head = len(self.column_names)
        lines = [
            [
                *(name(row) if k == n_head - 1 else "" for row in self.row_names),
                *(name(column[k]) for column in columns),
            ]
            for k in range(n_head)
        ]
        for row in rows:
            found = [placed.get((row, column)) for column in columns]
            lines.append([*map(name, row), *(_printed(cell, best) for cell in found)])
        return lines


def facts(cell: Cell) -> dict[str, Any]:
    """Return mean, standard error, mark and values of a cell as plain data."""
    found: dict[str, Any] = {
        "mean": cell.mean,
        "se": cell.se,
        "best": cell.best,
        "values": cell.values,
    }
    return plain(found)  # type: ignore[no-any-return]


def _printed(cell: Cell | None, best: str) -> str:
    if cell is None:
        return ""
    own = f"{cell.mean:.4f}" if np.isnan(cell.se) else f"{cell.mean:.4f}±{cell.se:.4f}"
    own = best.format(own) if cell.best else own
    return own if cell.reference is None else f"{own} ({cell.reference[0]:.4f})"


def _in_one_line(text: str) -> str:
    return " ".join(text.splitlines())


def _markdown(text: str) -> str:
    return _in_one_line(text).replace("\\", "\\\\").replace("|", "\\|")


def _latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in _in_one_line(text))
