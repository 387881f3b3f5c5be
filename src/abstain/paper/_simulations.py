"""The paper's simulations: regions depend on the metric (Figure 1), two algorithms agree (kappa).

Figure 1: ROC curves of the paper's simulated classifier before and after withholding 30% of the
examples for each of four objectives: auROC, JS divergence, sensitivity at 90% specificity,
accuracy. Convergence (the appendix): on the four-class simulation, the mean absolute difference
between the outputs of the Monte-Carlo algorithm for weighted kappa and the deterministic one,
against the number of label vectors M.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain.datasets import simulate_binary_normal, simulate_four_class_normal
from abstain.evaluation import Cell, ResultTable
from abstain.exceptions import extra
from abstain.metrics import AUROC, Accuracy, SensitivityAtSpecificity, WeightedKappa
from abstain.paper._experiment import Options, Result, new_figure
from abstain.regions import Choice
from abstain.selection import Selection
from abstain.summaries import RowSummary

FRACTION = 0.3
SPECIFICITY = 0.9
METRICS = {
    "auroc": AUROC(),
    "sensitivity@specificity=0.9": SensitivityAtSpecificity(SPECIFICITY),
    "accuracy": Accuracy(),
}
#: Row of the result, and its colour in the paper's figure.
CURVES = {
    "base": "black",
    "auroc": "tab:blue",
    "js-divergence": "tab:orange",
    "sensitivity@specificity=0.9": "tab:green",
    "accuracy": "tab:red",
}

Curve = tuple[FloatArray, FloatArray]
N_EXAMPLES = 10_000
N_SAMPLES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, eq=False)
class Figure1(Result):
    """ROC curves after withholding for each objective, and the metrics of each.

    Attributes
    ----------
    curves : dict of str to (ndarray, ndarray)
        False-positive and true-positive rates.
    table : ResultTable
        The realised metrics of each curve.
    """

    curves: dict[str, Curve]
    table: ResultTable

    @property
    def values(self) -> dict[str, dict[str, float]]:
        """The realised metrics of each curve."""
        found: dict[str, dict[str, float]] = {row: {} for row in self.curves}
        for cell in self.table.cells:
            found[cell.row[0]][cell.column[0]] = cell.mean
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return values and curves as plain data; a cell for each curve and metric."""
        cells = [
            cell
            | {"prepared": "calibrated", "abstain": 0.0 if cell["method"] == "base" else FRACTION}
            for cell in self.table.to_dict()["cells"]
        ]
        curves = {
            row: {"false_positive_rate": x.tolist(), "true_positive_rate": y.tolist()}
            for row, (x, y) in self.curves.items()
        }
        return {"experiment": "figure1", "repeats": 1, "cells": cells, "curves": curves}

    def to_text(self) -> str:
        """Return the metrics of each curve as a table; ``*`` marks the best of a column."""
        return self.table.to_text()

    def figures(self) -> Iterator[tuple[str, Any]]:
        """Draw the figure as the paper has it."""
        figure = new_figure(5.2, 4.8)
        axes = figure.subplots()
        for row, (x, y) in self.curves.items():
            axes.plot(x, y, color=CURVES[row], label="before" if row == "base" else row)
        axes.axvline(1 - SPECIFICITY, color="black", linestyle="--", linewidth=1)
        axes.set(xlabel="1 - specificity", ylabel="sensitivity", xlim=(0, 1), ylim=(0, 1.01))
        axes.legend(loc="lower right", frameon=False)
        yield "figure1", figure


def figure1(options: Options) -> Figure1:
    """Simulate the paper's classifier and withhold for each objective.

    Parameters
    ----------
    options : Options
        Nothing of it applies: the simulation has one repeat and its own methods.

    Returns
    -------
    Figure1
    """
    simulation = simulate_binary_normal(10_000, random_state=0)
    proba, y = simulation.proba, simulation.y
    capacity = float(int(FRACTION * len(y)))
    choices: dict[str, Choice] = {
        name: metric.choose(proba, capacity, decision="argmax") for name, metric in METRICS.items()
    }
    by_score = Selection(budget=FRACTION, score="js-divergence", decision="argmax")
    choices["js-divergence"] = by_score.choose(METRICS["auroc"], RowSummary(proba))
    kept = {"base": np.ones(len(y), dtype=bool)}
    kept |= {row: ~choices[row].apply(proba)[1] for row in CURVES if row in choices}
    values = {
        (row, name): metric.observed(y[rows], proba[rows])
        for row, rows in kept.items()
        for name, metric in METRICS.items()
    }
    highest = {name: max(values[row, name] for row in kept) for name in METRICS}
    cells = (
        Cell((row,), (name,), (value,), value == highest[name])
        for (row, name), value in values.items()
    )
    title = f"Figure 1: metrics after withholding {FRACTION:.0%} for each objective"
    return Figure1(
        curves={row: _roc(y[rows], proba[rows, 1]) for row, rows in kept.items()},
        table=ResultTable((*cells,), ("method",), ("metric",), title),
    )


def _roc(y: IntArray, p: FloatArray) -> Curve:
    with extra("sklearn", "Figure 1 needs scikit-learn"):
        from sklearn.metrics import roc_curve

    false_rate, true_rate, _ = roc_curve(y, p)
    return false_rate, true_rate


@dataclass(frozen=True, eq=False)
class KappaConvergence(Result):
    """The differences found.

    Attributes
    ----------
    n_samples : tuple of int
        The numbers M of label vectors.
    differences : ndarray of shape (n_repeats, len(n_samples))
        Mean over examples of the absolute difference of the two outputs.
    """

    n_samples: tuple[int, ...]
    differences: FloatArray

    @property
    def rate(self) -> float:
        """The power of M by which the difference falls; -0.5 for independent draws."""
        slope = np.polyfit(np.log(self.n_samples), np.log(self.differences.mean(axis=0)), 1)[0]
        return float(slope)

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain data."""
        return {
            "experiment": "kappa-convergence",
            "n_examples": N_EXAMPLES,
            "n_samples": list(self.n_samples),
            "mean_absolute_difference": self.differences.mean(axis=0).tolist(),
            "repeats": self.differences.tolist(),
            "rate": self.rate,
        }

    def to_text(self) -> str:
        """Return the outcome as a table for people."""
        lines = [
            "Weighted kappa after withholding each example: Monte-Carlo against deterministic",
            f"({N_EXAMPLES:,} examples of the four-class simulation, "
            f"{len(self.differences)} runs)",
            "",
            f"{'M':>6}  {'mean absolute difference':>24}",
        ]
        for m, difference in zip(self.n_samples, self.differences.mean(axis=0), strict=True):
            lines.append(f"{m:>6}  {difference:>24.6f}")
        lines += ["", f"The difference falls as M to the power {self.rate:.2f}."]
        return "\n".join(lines)

    def figures(self) -> Iterator[tuple[str, Any]]:
        """Draw the paper's figure."""
        figure = new_figure(5.2, 4.2)
        axes = figure.subplots()
        mean = self.differences.mean(axis=0)
        axes.loglog(self.n_samples, self.differences.T, color="#56B4E9", alpha=0.5, linewidth=1)
        axes.loglog(self.n_samples, mean, color="#0072B2", marker="o", label="mean of the runs")
        guide = mean[0] * np.sqrt(self.n_samples[0] / np.array(self.n_samples))
        axes.loglog(
            self.n_samples, guide, color="#4D4D4D", linestyle="--", label="one over the root of M"
        )
        axes.set(xlabel="Label vectors M", ylabel="Mean absolute difference in kappa")
        axes.set_title("Monte-Carlo against deterministic kappa")
        axes.legend(frameon=False)
        yield "kappa-convergence", figure


def kappa_convergence(options: Options) -> KappaConvergence:
    """Run the experiment.

    Parameters
    ----------
    options : Options
        ``repeats`` simulations are run, 5 when not given (the paper shows one).

    Returns
    -------
    KappaConvergence
    """
    repeats = 5 if options.repeats is None else options.repeats
    differences = np.empty((repeats, len(N_SAMPLES)))
    for repeat in range(repeats):
        proba = simulate_four_class_normal(N_EXAMPLES, random_state=repeat).proba
        exact = WeightedKappa("quadratic").marginal_values(proba)
        for column, m in enumerate(N_SAMPLES):
            sampled = WeightedKappa(
                "quadratic", solver="marginal", method="sampled", n_samples=m, random_state=repeat
            ).marginal_values(proba)
            differences[repeat, column] = np.abs(sampled - exact).mean()
    return KappaConvergence(N_SAMPLES, differences)
