"""How well sampled and deterministic window values agree (the paper's Appendix C.2).

The paper compares its O(N) and O(MN) algorithms for auROC on 100 simulated datasets; the same
comparison is made here for sensitivity at specificity, which the paper only samples. The
datasets are the authors' own: their published notebook fixes every seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from abstain._inputs import FloatArray
from abstain.metrics import AUROC, RankingMetric, SensitivityAtSpecificity
from abstain.paper._experiment import Options, Result, new_figure

REPEATS = 100
N_EXAMPLES = 1000
WITHHELD = 100
N_SAMPLES = 1000
SMOOTHING = (11, 1)
SPECIFICITY = 0.9
# The seeds of the authors: of the parameters and again of every dataset; of the labels.
SEED = 1234
LABEL_SEED = 1


@dataclass(frozen=True, eq=False)
class Agreement(Result):
    """Correlations between sampled and deterministic abstention scores, one per dataset.

    The score of an example is the highest value of the windows that withhold it.

    Parameters
    ----------
    metric : str
        The metric's registered name.
    spearman, pearson : ndarray of shape (n_datasets,)
        Correlation over all examples of a dataset.
    spread : ndarray of shape (n_datasets,)
        Largest less smallest deterministic value: what there was to agree on.
    paper : dict
        What the paper says the lowest correlations are above, where it has the experiment.
    """

    metric: str
    spearman: FloatArray
    pearson: FloatArray
    spread: FloatArray
    paper: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain data."""
        return {
            "metric": self.metric,
            "n_datasets": len(self.spearman),
            "n_examples": N_EXAMPLES,
            "withheld": WITHHELD,
            "n_samples": N_SAMPLES,
            "spearman": _summary(self.spearman),
            "pearson": _summary(self.pearson),
            "spearman_values": self.spearman.tolist(),
            "pearson_values": self.pearson.tolist(),
            "spread_values": self.spread.tolist(),
            "paper": self.paper,
        }

    def to_text(self) -> str:
        """Return the outcome as a table for people."""
        lines = [
            f"Sampled against deterministic {self.metric}: {len(self.spearman)} simulated "
            f"datasets, n = {N_EXAMPLES}, d = {WITHHELD}, M = {N_SAMPLES}",
            "",
            f"{'correlation':<12}{'lowest':>9}{'second':>9}{'5%':>9}{'median':>9}{'paper':>12}",
        ]
        for name in ("spearman", "pearson"):
            row = _summary(getattr(self, name))
            above = f"> {self.paper[name]:g}" if name in self.paper else "-"
            numbers = "".join(
                f"{row[key]:>9.4f}" for key in ("lowest", "second", "percentile_5", "median")
            )
            lines.append(f"{name.capitalize():<12}{numbers}{above:>12}")
        worst = int(np.argmin(self.spearman))
        lines += [
            "",
            f"On the lowest dataset the value moves by {self.spread[worst]:.4f} over all windows; "
            f"the median dataset's by {np.median(self.spread):.4f}.",
        ]
        return "\n".join(lines)

    def figures(self) -> Iterator[tuple[str, Any]]:
        """Draw the two histograms of correlations."""
        for name in ("spearman", "pearson"):
            figure = new_figure(5, 3.2)
            ax = figure.add_subplot()
            ax.hist(getattr(self, name), bins=30, color="tab:blue")
            ax.set_xlabel(f"{name.capitalize()} correlation")
            ax.set_ylabel("simulated datasets")
            ax.set_title(f"{self.metric}: sampled against deterministic", fontsize="medium")
            yield f"{self.metric.partition('@')[0]}-agreement-{name}", figure


def auroc_agreement(options: Options) -> Agreement:
    """Compare the paper's O(N) and O(MN) algorithms for auROC."""
    return _agreement(AUROC(), options, {"spearman": 0.96, "pearson": 0.996})


def sensitivity_agreement(options: Options) -> Agreement:
    """Compare deterministic sensitivity at specificity with the paper's Algorithm 1."""
    return _agreement(SensitivityAtSpecificity(SPECIFICITY), options, {})


def _agreement(metric: RankingMetric, options: Options, paper: dict[str, float]) -> Agreement:
    from scipy.stats import pearsonr, spearmanr

    rng = np.random.RandomState(SEED)
    rows = []
    for _ in range(options.repeats or REPEATS):
        p = _dataset(rng)
        exact = _scores(metric.window_values(p, WITHHELD))
        sampled = _scores(_sampled_values(metric, p))
        rows.append((spearmanr(exact, sampled)[0], pearsonr(exact, sampled)[0], np.ptp(exact)))
    spearman, pearson, spread = np.array(rows).T
    return Agreement(metric.name, spearman, pearson, spread, paper)


def _sampled_values(metric: RankingMetric, p: FloatArray) -> FloatArray:
    """Return the mean window values over the very label vectors the authors drew, smoothed."""
    from scipy.signal import savgol_filter

    ordered = np.sort(p)
    rng = np.random.RandomState(LABEL_SEED)
    total: FloatArray | float = 0.0  # probabilities that rounding alone tells apart are one
    for _ in range(N_SAMPLES):
        labels = (rng.random_sample(N_EXAMPLES) < ordered).astype(np.intp)
        total = total + metric.observed_window_values(labels, ordered, WITHHELD)
    return np.asarray(savgol_filter(total / N_SAMPLES, *SMOOTHING, mode="nearest"))


def _scores(values: FloatArray) -> FloatArray:
    """Return for each example the highest value of the windows that withhold it."""
    from numpy.lib.stride_tricks import sliding_window_view

    padded = np.pad(values, WITHHELD - 1, constant_values=-np.inf)
    return np.asarray(sliding_window_view(padded, WITHHELD).max(axis=1))


def _dataset(rng: np.random.RandomState) -> FloatArray:
    """Draw the parameters of one simulation and return its exact posteriors.

    The order of the draws is the authors': in each dataset a label and its score in turn.
    """
    mean_positive = rng.uniform(0, 5)
    mean_negative = mean_positive - rng.uniform(0, 5)
    rate = rng.uniform(0.1, 0.9)
    sd_positive, sd_negative = rng.uniform(1, 5), rng.uniform(1, 5)
    own = np.random.RandomState(SEED)
    draws = np.array([(own.random_sample(), own.standard_normal()) for _ in range(N_EXAMPLES)])
    positive = draws[:, 0] < rate
    score = np.where(
        positive,
        mean_positive + sd_positive * draws[:, 1],
        mean_negative + sd_negative * draws[:, 1],
    )
    log_odds = (
        np.log(rate / (1 - rate) * sd_negative / sd_positive)
        + ((score - mean_negative) / sd_negative) ** 2 / 2
        - ((score - mean_positive) / sd_positive) ** 2 / 2
    )
    return np.asarray(expit(log_odds))


def _summary(correlations: FloatArray) -> dict[str, float]:
    ordered = np.sort(correlations)
    return {
        "lowest": float(ordered[0]),
        "second": float(ordered[min(1, len(ordered) - 1)]),
        "percentile_5": float(np.quantile(ordered, 0.05)),
        "median": float(np.median(ordered)),
    }
