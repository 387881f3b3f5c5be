"""One window in the order of p is the best of all subsets: brute force over all of them."""

import numpy as np
import pytest

from abstain import metrics

N = 9
WITHHELD = ((np.arange(2**N)[:, None] >> np.arange(N)) & 1).astype(bool)

BATCHES = {
    "even": lambda rng: rng.random(N),
    "rare": lambda rng: rng.beta(0.3, 3, N),
    "common": lambda rng: rng.beta(4, 0.5, N),
    "two clusters": lambda rng: np.r_[rng.beta(0.5, 9, N // 2), rng.beta(9, 0.5, N - N // 2)],
}


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(
    "name",
    [
        "auroc",
        "average-precision",
        "partial-auroc=0.3",
        "precision@recall=0.7",
        "recall@precision=0.8",
        "sensitivity@specificity=0.8",
        "specificity@sensitivity=0.8",
    ],
)
def test_no_subset_beats_the_best_window(name, batch):
    metric = metrics.get(name)
    rng = np.random.default_rng(0)
    for capacity in (1, 3, 5):
        p = np.sort(np.clip(BATCHES[batch](rng), 1e-6, 1 - 1e-6))
        fits = WITHHELD[WITHHELD.sum(axis=1) <= capacity]
        best_subset = max(metric.expected(p[~withheld]) for withheld in fits)
        # On a handful of examples a smaller window can be better than a full one.
        sizes = np.arange(capacity + 1)
        best_window = metric.curve(p, (sizes + 0.5) / N).values.max()
        assert best_window == pytest.approx(best_subset, abs=1e-9)
