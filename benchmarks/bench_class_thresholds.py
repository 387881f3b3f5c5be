"""Class thresholds (Fumera et al.): every offset by prefix sums, or the metric anew for each."""

from collections.abc import Iterator

import numpy as np

from abstain.metrics import AUROC, SensitivityAtSpecificity
from abstain.selection import choose_class_thresholds
from abstain.summaries import LabelledSummary, summarise
from benchmarks._row import Row, best_of

N, CAPACITY = 10_000, 1_500


def run() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    p, p_val = rng.uniform(size=N), rng.uniform(size=N)
    y_val = (rng.uniform(size=N) < p_val).astype(np.intp)
    proba_val = np.column_stack([1 - p_val, p_val])
    ordered = np.sort(p)
    half = int(np.searchsorted(ordered, 0.5))

    for metric in (SensitivityAtSpecificity(0.9), AUROC()):

        def ours(metric=metric):
            labelled = LabelledSummary(proba_val, y_val)
            choose_class_thresholds(metric, summarise(p), CAPACITY, labelled)

        def anew(metric=metric):
            for offset in range(0, CAPACITY, 50):
                low, high = ordered[half - offset], ordered[half - offset + CAPACITY - 1]
                kept = (p_val < low) | (p_val > high)
                metric.observed(y_val[kept], proba_val[kept])

        yield Row(
            f"class thresholds for {metric.name}, {CAPACITY} offsets",
            best_of(ours),
            "metric anew per offset",
            # One offset in fifty is computed; the rest take as long.
            best_of(anew, 2) * 50,
            at_least=100,
        )
