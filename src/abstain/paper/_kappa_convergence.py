"""Do the two algorithms for weighted kappa agree? The paper's appendix, section on convergence.

On its four-class simulation, the mean absolute difference between the outputs of the Monte-Carlo
algorithm and the deterministic one, against the number of label vectors M.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from abstain._inputs import FloatArray
from abstain.datasets import simulate_four_class_normal
from abstain.metrics import WeightedKappa
from abstain.paper._experiment import Options, new_figure

N_EXAMPLES = 10_000
N_SAMPLES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, eq=False)
class KappaConvergence:
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

    def save_figures(self, folder: Path) -> list[Path]:
        """Write the paper's figure and return its path."""
        figure = new_figure(5.2, 4.2)
        axes = figure.subplots()
        mean = self.differences.mean(axis=0)
        axes.loglog(self.n_samples, self.differences.T, color="#56B4E9", alpha=0.5, linewidth=1)
        axes.loglog(self.n_samples, mean, color="#0072B2", marker="o", label="mean of the runs")
        guide = mean[0] * np.sqrt(self.n_samples[0] / np.array(self.n_samples))
        axes.loglog(
            self.n_samples, guide, color="#4D4D4D", linestyle="--", label="one over the root of M"
        )
        axes.set_xlabel("Label vectors M")
        axes.set_ylabel("Mean absolute difference in kappa")
        axes.set_title("Monte-Carlo against deterministic kappa")
        axes.legend(frameon=False)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "kappa-convergence.png"
        figure.savefig(path, dpi=150)
        return [path]


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
