"""An experiment that ends in a table of the paper: run the repeats, mark the best, print.

Every repeat is prepared two ways (calibrated or not, adapted or not); every method is run on
both, at each fraction withheld.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np

from abstain._numerics import progress
from abstain.evaluation import Cell, ResultTable, best_methods
from abstain.metrics import Metric
from abstain.paper._experiment import (
    REPEATS,
    STAND_IN,
    Options,
    Printed,
    Published,
    Result,
    data_folder,
    read_published,
    write_stand_in,
)
from abstain.paper._methods import METHODS, Method, own_method
from abstain.paper._trial import Trial

OPTIMAL = "delta-metric-optimal"

Row = tuple[str, str]
Column = tuple[str, float]


@dataclass(frozen=True)
class TableResult(Result):
    """A table of the paper, rerun.

    Parameters
    ----------
    experiment : str
        Its name.
    repeats : int
        How many repeats were run.
    table : ResultTable
        The cells.
    simulated : bool
        Whether it is of a stand-in for the data.
    """

    experiment: str
    repeats: int
    table: ResultTable
    simulated: bool = False

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
        told: dict[str, Any] = {"experiment": self.experiment, "repeats": self.repeats}
        return told | ({"simulated": True} if self.simulated else {}) | {"cells": cells}

    def to_text(self) -> str:
        """Return the outcome as a table for people."""
        return f"{self.table.to_text()}\n\n{self._legend()}"

    def to_markdown(self) -> str:
        """Return the outcome as a Markdown table."""
        return f"{self.table.to_markdown()}\n\n{self._legend().replace('* best', 'bold: best')}"

    def _legend(self) -> str:
        known = any(cell.reference is not None for cell in self.table.cells)
        return (
            f"Mean and standard error over {self.repeats} repeats; * best of the column, by the "
            f"paper's signed-rank procedure."
            f"{' In brackets what the paper prints.' if known else ''}"
            f"{' ' + STAND_IN if self.simulated else ''}"
        )


def _fraction(printed: str) -> float:
    return 0.0 if printed == "base" else int(printed[1:-1]) / 100


class Source(Protocol):
    """The data of an experiment, opened."""

    def trials(self, repeat: int) -> Iterator[tuple[str, Trial]]:
        """Return the trial of each preparation, by its name."""
        ...


def printed_rows(
    methods: tuple[str, ...], prepared: tuple[str, str], once: tuple[str, ...] = ()
) -> frozenset[Row]:
    """Return the paper's rows; some methods it prints with the first preparation only."""
    return frozenset(
        (name, way)
        for name in methods
        for way in prepared
        if way == prepared[0] or name not in once
    )


@dataclass(frozen=True)
class TableExperiment:
    """One table of the paper.

    Parameters
    ----------
    name : str
        The name that ``abstain reproduce`` knows.
    title : str
        What the table is about.
    files : tuple of str
        The data files it needs.
    source : callable
        Opens them.
    metrics : tuple of Metric
        What is measured.
    fractions : tuple of float
        The fractions withheld, as the paper's columns are ordered.
    paper_rows : tuple of (str, str)
        Method and preparation of the rows that the paper prints, among which it marks the best.
    methods : tuple of str
        All methods that are run.
    published : Published
        Where its numbers are in the paper's tables.
    repeats : int
        How many repeats the paper has.
    """

    name: str
    title: str
    files: tuple[str, ...]
    source: Callable[[Path], Source]
    metrics: tuple[Metric, ...]
    fractions: tuple[float, ...]
    paper_rows: Mapping[str, frozenset[Row]]
    methods: tuple[str, ...]
    published: Published
    repeats: int = 30

    def available(self, folder: Path) -> bool:
        """Tell whether the data files are in the folder."""
        return all((folder / name).is_file() for name in self.files)

    def __call__(self, options: Options) -> TableResult:
        """Run the experiment."""
        if options.simulated:
            with TemporaryDirectory() as folder:
                write_stand_in(Path(folder), self.files[0].removesuffix(".npz"))
                repeats = options.repeats or REPEATS
                made = replace(options, data=Path(folder), repeats=repeats, simulated=False)
                return replace(self(made), simulated=True)
        return self._run(options, data_folder(options, self.name))

    def _run(self, options: Options, folder: Path) -> TableResult:
        methods = self._methods(options)
        source = self.source(folder)
        repeats = options.repeats or self.repeats
        if repeats > self.repeats:
            raise ValueError(
                f"`--repeats` of {self.name} is at most {self.repeats}, as in the paper; "
                f"got {repeats}."
            )
        values: dict[tuple[Row, Column], list[float]] = {}
        for repeat in progress(range(repeats), self.name):
            for place, value in self._repeat(source, repeat, methods):
                values.setdefault(place, []).append(value)
        return self._result(values, repeats, read_published(folder, self.published))

    def _repeat(
        self, source: Source, repeat: int, methods: Mapping[str, Method]
    ) -> Iterator[tuple[tuple[Row, Column], float]]:
        """Yield the realised metric of every row and column in one repeat."""
        for prepared, trial in source.trials(repeat):
            for metric in self.metrics:
                for name, method in methods.items():
                    for fraction, value in self._column(trial, metric, name, method):
                        yield ((name, prepared), (metric.name, fraction)), value

    def _methods(self, options: Options) -> dict[str, Method]:
        unknown = [name for name in options.methods if name not in self.methods]
        if unknown:
            raise ValueError(
                f"`--methods`: {', '.join(unknown)} is no method of {self.name}; there are "
                f"{', '.join(self.methods)}."
            )
        chosen = [name for name in self.methods if not options.methods or name in options.methods]
        own = {name: own_method(name) for name in options.extra_methods}
        return {name: METHODS[name] for name in chosen} | own

    def _column(
        self, trial: Trial, metric: Metric, name: str, method: Method
    ) -> Iterator[tuple[float, float]]:
        """Yield each fraction withheld and the realised metric, first without abstaining."""
        n = len(trial.y)
        base = method(trial, metric, 0) if name == OPTIMAL else trial.by_score(np.zeros(n))
        yield 0.0, trial.realised(metric, base, 0.0)
        for fraction in self.fractions:
            # As many as are withheld: all but int(n (1 - fraction)).
            capacity = int(n * fraction)
            yield fraction, trial.realised(metric, method(trial, metric, capacity), fraction)

    def _result(
        self,
        values: Mapping[tuple[Row, Column], list[float]],
        repeats: int,
        published: Mapping[tuple[str, str, str, float], Printed],
    ) -> TableResult:
        columns = dict.fromkeys(column for _, column in values if column[1] > 0)
        best = {place for column in columns for place in self._best(values, column)}
        rank = {name: number for number, name in enumerate(self.methods)}
        cells = []
        # As the paper prints: a row per method and preparation.
        for row, column in sorted(values, key=lambda place: rank.get(place[0][0], len(rank))):
            printed = published.get((column[0], *row, column[1]))
            cells.append(
                Cell(
                    row=row,
                    column=(column[0], "base" if column[1] == 0 else f"@{column[1]:.0%}"),
                    values=tuple(values[row, column]),
                    best=(row, column) in best,
                    reference=None if printed is None else (printed.mean, printed.se),
                )
            )
        table = ResultTable(
            tuple(cells), ("method", "prepared"), ("metric", "abstain"), self.title
        )
        return TableResult(self.name, repeats, table)

    def _best(
        self, values: Mapping[tuple[Row, Column], list[float]], column: Column
    ) -> Iterator[tuple[Row, Column]]:
        """Yield the best of a column: the paper's rows among themselves, as it marks them.

        A row that the paper does not have is marked if it would be among the best with them.
        """
        rows = [row for row, other in values if other == column]
        pool = [row for row in rows if row in self.paper_rows[column[0]]] or rows
        for row in rows:
            entered = pool if row in pool else [*pool, row]
            marks = best_methods([values[other, column] for other in entered], procedure="paper")
            if marks[entered.index(row)]:
                yield row, column
