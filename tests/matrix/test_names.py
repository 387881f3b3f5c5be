"""The name of every built-in metric gives the metric back."""

import numpy as np
import pytest

from abstain import metrics

PROBA = {
    "two": np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.2, 0.8]]),
    "four": np.random.default_rng(0).dirichlet(np.ones(4), size=20),
}
# A file is not at hand; the metric of a matrix is among the known defects.
NAMES = [name for name, summary in metrics.summaries() if "FILE" not in name]
NAMES += ["kappa", "kappa:linear", "f1:macro", "fbeta:0.5:weighted", "precision:micro", "top-k=1"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_gives_the_metric_back(name):
    metric = metrics.get(name)
    assert metrics.get(metric) is metric
    for again in (metrics.get(metric.name), metrics.from_dict(metric.to_dict())):
        assert again.name == metric.name
        for classes, proba in PROBA.items():
            averaged = any(word in name for word in ("macro", "micro", "weighted"))
            positive = name.split(":")[0] in ("f1", "fbeta", "jaccard", "precision", "recall")
            if classes == "two" or not (metric.binary_only or (positive and not averaged)):
                assert again.expected(proba) == metric.expected(proba)
