"""What others estimate without labels, for the classifier's own predictions on the whole batch.

CBPE is written after NannyML's (0.13): isotonic calibration of each class against the rest, used
where it makes the calibration error of held-out rows smaller, then the expected value of the
metric. Average thresholded confidence is Garg et al. (2022), difference of confidences Guillory et
al. (2021), both of accuracy and on scores scaled by a temperature, as Garg et al. advise.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit

from abstain import calibration, metrics
from benchmarks.honesty.sets import as_proba
from benchmarks.honesty.shifts import Split

__all__ = ["PEERS", "Peers", "by_confidence"]

PEERS = ("CBPE", "ATC", "DoC", "validation")

_BINS = 10


class Peers:
    """The peers' estimates on one split."""

    def __init__(self, split: Split) -> None:
        self._split = split
        self._val = as_proba(split.scores_val, split.scale)
        self._batch = as_proba(split.scores, split.scale)
        self._cbpe = cbpe_proba(self._val, split.y_val, self._batch)

    def estimates(self, name: str) -> Iterator[tuple[str, float, float]]:
        """Yield each peer, what it estimates of the metric, and what came out."""
        metric = metrics.get(name)
        n_classes = self._batch.shape[1]
        truth = metric.observed(self._split.y, self._batch)
        at_validation = metric.observed(self._split.y_val, self._val)
        yield "CBPE", expected(metric, self._batch, self._cbpe), truth
        yield "validation", at_validation, truth
        if name == "accuracy" and len(np.unique(self._split.y_val)) == n_classes:
            predictions = self._val.argmax(axis=1), self._batch.argmax(axis=1)
            for peer, value in by_confidence(self._split, *predictions).items():
                yield peer, value, truth


def by_confidence(
    split: Split, prediction_val: NDArray[Any], prediction: NDArray[Any]
) -> dict[str, float]:
    """Return the accuracy by ATC and DoC: from how probable, scaled, the predicted classes are."""
    scaling = calibration.get("temperature", scale=split.scale)
    scaling.fit(split.scores_val, split.y_val)
    val, batch = (
        np.asarray(scaling.predict_proba(scores))[np.arange(len(chosen)), chosen]
        for scores, chosen in ((split.scores_val, prediction_val), (split.scores, prediction))
    )
    accuracy = float(np.mean(prediction_val == split.y_val))
    return {
        "ATC": thresholded(val, batch, accuracy),
        "DoC": accuracy + float(batch.mean() - val.mean()),
    }


def thresholded(val: NDArray[Any], batch: NDArray[Any], accuracy: float) -> float:
    """Return the part of the batch above the confidence that the right part of validation has."""
    # So many validation rows are below the threshold as there are mistakes.
    mistakes = round((1 - accuracy) * len(val))
    threshold = np.sort(val)[min(mistakes, len(val) - 1)]
    return float(np.mean(batch >= threshold))


def expected(metric: Any, proba: NDArray[Any], labels: NDArray[Any]) -> float:
    """Return the metric of the raw scores where each row has every label as likely as said."""
    n, k = proba.shape
    rows, codes = np.repeat(np.arange(n), k), np.tile(np.arange(k), n)
    weight = labels.ravel()
    there = weight > 0
    return float(metric.observed(codes[there], proba[rows[there]], sample_weight=weight[there]))


def cbpe_proba(val: NDArray[Any], y_val: NDArray[Any], batch: NDArray[Any]) -> NDArray[Any]:
    """Return the batch's probabilities as CBPE calibrates them."""
    if val.shape[1] == 2:
        positive = _calibrated(val[:, 1], y_val == 1, batch[:, 1])
        return np.column_stack([1 - positive, positive])
    columns = [_calibrated(val[:, k], y_val == k, batch[:, k]) for k in range(val.shape[1])]
    proba = np.column_stack(columns)
    total = proba.sum(axis=1, keepdims=True)
    made: NDArray[Any] = np.where(total > 0, proba / np.where(total > 0, total, 1), batch)
    return made


def _calibrated(val: NDArray[Any], y: NDArray[Any], batch: NDArray[Any]) -> NDArray[Any]:
    if not _needs_calibration(val, y):
        return batch
    made: NDArray[Any] = _isotonic(val, y).predict(batch)
    return made


def _needs_calibration(p: NDArray[Any], y: NDArray[Any]) -> bool:
    if min(y.sum(), (~y).sum()) < 2 or roc_auc_score(y, p) > 0.999:
        return False
    held_out = []
    for train, test in StratifiedShuffleSplit(10, test_size=0.1, random_state=42).split(p, y):
        after = _isotonic(p[train], y[train]).predict(p[test])
        held_out.append((y[test], p[test], after))
    truth, before, after = (np.concatenate(parts) for parts in zip(*held_out, strict=True))
    return _calibration_error(truth, before) > _calibration_error(truth, after)


def _isotonic(p: NDArray[Any], y: NDArray[Any]) -> IsotonicRegression:
    return IsotonicRegression(out_of_bounds="clip").fit(p, y)


def _calibration_error(y: NDArray[Any], p: NDArray[Any]) -> float:
    bins = np.array_split(np.argsort(p), _BINS)
    return float(sum(abs(p[rows].mean() - y[rows].mean()) * len(rows) for rows in bins) / len(p))
