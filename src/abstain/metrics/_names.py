"""Names of metrics: matrices inside them, and what metrics are called elsewhere.

A matrix is part of ``cost:[[0,1],[5,0]]`` and ``kappa:[[0,1],[2,0]]``.
"""

from __future__ import annotations

import json

from abstain._inputs import FloatArray
from abstain._schema import is_nested

#: What a metric is called elsewhere, in small letters with hyphens, by what is proposed for it.
#: Each is proposed, never taken: a bare sensitivity says nothing about the specificity it is to be
#: had at.
KNOWN_AS = {
    "sensitivity@specificity=0.9 recall": "sensitivity sens tpr true-positive-rate hit-rate",
    "sensitivity@specificity=0.9": "tpr@fpr recall@fpr recall@specificity sensitivity@fpr",
    "specificity@sensitivity=0.9": (
        "specificity spec tnr true-negative-rate fpr false-positive-rate specificity@recall "
        "fpr@tpr"
    ),
    "auroc": ("auc auc-roc roc roc-auc roc-auc-score rocauc c-index c-statistic concordance gini"),
    "partial-auroc=0.1": "pauc partial-auc",
    "average-precision": "ap auc-pr auprc average-precision-score map pr-auc prauc",
    "precision precision@recall=0.9": "ppv positive-predictive-value",
    "recall@precision=0.9 precision": "fdr false-discovery-rate",
    "specificity@sensitivity=0.9 precision:macro": "npv negative-predictive-value",
    "accuracy": "acc accuracy-score top-1 top1",
    "balanced-accuracy": ("bacc bal-acc balanced-accuracy-score uar youden youden-j informedness"),
    "error-rate": "error misclassification zero-one-loss 0-1-loss",
    "f1": "f f-score f-measure f1-score dice",
    "f1:macro": "f1-macro macro-f1",
    "f1:micro": "f1-micro micro-f1",
    "f1:weighted": "f1-weighted weighted-f1",
    "fbeta:2": "f2 f2-score fbeta-score f-beta",
    "fbeta:0.5": "f0.5",
    "precision:macro": "precision-macro",
    "precision:micro": "precision-micro",
    "precision:weighted": "precision-weighted",
    "precision": "precision-score",
    "recall:macro": "recall-macro",
    "recall:micro": "recall-micro",
    "recall:weighted": "recall-weighted",
    "recall": "recall-score",
    "jaccard": "iou jaccard-score",
    "kappa": "cohen cohen-kappa cohen-kappa-score cohens-kappa",
    "kappa:linear": "kappa-linear linear-kappa lwk",
    "kappa:quadratic": "kappa-quadratic quadratic-kappa quadratic-weighted-kappa qwk",
    "kappa:quadratic kappa:linear": "weighted-kappa",
    "mcc": (
        "matthews matthews-corrcoef matthews-correlation matthews-correlation-coefficient phi"
    ),
    "net-benefit=0.2": "netbenefit decision-curve dca",
    "top-k=3": "top-3 top-k-accuracy top-k-accuracy-score",
    "top-k=5": "top-5 top5",
    "top-k=10": "top-10",
    "brier": "brier-score brier-score-loss mse mean-squared-error",
    "log-loss": "logloss log-likelihood nll cross-entropy crossentropy deviance",
    "cost:FILE": "expected-cost",
}


def matrix_in_name(matrix: FloatArray) -> str:
    """Return a matrix as the part of a name that stands for it, whole numbers as such."""
    rows = [[int(x) if float(x).is_integer() else x for x in row] for row in matrix.tolist()]
    return json.dumps(rows, separators=(",", ":"))


def matrix_from_name(text: str) -> list[list[float]]:
    """Return the matrix that a part of a name stands for."""
    wrong = f"`metric` has {text[:60]!r} for a matrix, which must be rows of numbers such as "
    try:
        if is_nested(text.encode(errors="replace"), 2):
            raise ValueError("brackets do not close, or stand in brackets in brackets")
        rows: list[list[float]] = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{wrong}[[0,1],[5,0]]; {error}.") from error
    return rows


def check_matrix_fits(matrix: FloatArray, n_classes: int, name: str) -> None:
    """Raise if a matrix is not for this number of classes."""
    if len(matrix) != n_classes:
        raise ValueError(
            f"`{name}` must have a row and a column for each of the {n_classes} classes; got "
            f"{len(matrix)}."
        )
