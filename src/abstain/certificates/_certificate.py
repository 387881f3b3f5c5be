"""Certificate: what held-out labels prove about a rule, at every prevalence at once.

Under label shift (the paper's Section 2) the distribution of the scores of each class stays, so
for a fixed rule the rates P(predict j, kept | true class i) stay too: only the proportions move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from abstain import metrics
from abstain._display import block, table
from abstain._inputs import FloatArray, IntArray, label_array, shown
from abstain._inputs import number as check_number
from abstain._numerics import auroc_lower, clopper_pearson, nan_if_none, plain
from abstain._schema import (
    FOUND,
    LONG_NAME,
    Either,
    Flag,
    Keys,
    ListOf,
    MapOf,
    Number,
    Numbers,
    Record,
    Whole,
)
from abstain._words import number
from abstain.certificates._worst_case import check_prior_range, worst_case
from abstain.metrics import AUROC, BalancedAccuracy, BaseConfusionMetric, Metric
from abstain.regions import Choice
from abstain.summaries import LabelledSummary, own_order

#: What a policy file holds of a certificate.
KEYS: Keys = {
    "confidence": Number(0, 1, open=True),
    "bounds": MapOf(
        Record({"value": FOUND, "observed": FOUND, "n": Whole(0)}), name=LONG_NAME, most=2**16
    ),
    "counts": Numbers(("classes", "outcomes"), low=0, high=2**53, whole=True),
    "searched": Flag(),
    "prior_range": Either(
        null=None,
        list=ListOf(Numbers(("classes",), low=0, high=1), Numbers(("classes",), low=0, high=1)),
    ),
}


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the certifying examples did under a rule.

    Parameters
    ----------
    counts : ndarray of shape (n_classes, n_classes + 1)
        Examples of true class i (row) that were kept and predicted as j (column); the last
        column counts those withheld.
    kept_scores, kept_labels : ndarray or None
        Positive probability and label of the kept examples of two classes, for auROC.
    area : float or None
        The auROC to be expected, where the counts are expected ones too.
    """

    counts: FloatArray
    kept_scores: FloatArray | None = None
    kept_labels: IntArray | None = None
    area: float | None = None

    @classmethod
    def of(cls, labelled: LabelledSummary, choice: Choice) -> Self:
        """Return the evidence in labelled rows about a choice."""
        proba, codes = labelled.proba, labelled.labels
        n_classes = proba.shape[1]
        prediction, abstain = choice.apply(proba)
        outcome = np.where(abstain, n_classes, prediction)
        counts = np.zeros((n_classes, n_classes + 1))
        np.add.at(counts, (codes, outcome), 1.0)
        kept = ~abstain
        return cls(counts, proba[kept, -1], codes[kept]) if n_classes == 2 else cls(counts)

    @property
    def hits(self) -> FloatArray:
        """Kept examples of each class predicted right."""
        return np.diagonal(self.counts).copy()

    @property
    def kept(self) -> FloatArray:
        """Kept examples of each class."""
        return np.asarray(self.counts[:, :-1].sum(axis=1))


@dataclass(frozen=True)
class Bound:
    """A bound that held-out labels prove, and what was observed.

    Parameters
    ----------
    value : float
        The quantity is at least this; at most, where lower is better.
    observed : float
        What it was on the certifying examples; NaN when there were none.
    n : int
        How many labelled, kept examples that is.
    """

    value: float
    observed: float
    n: int

    @property
    def lower(self) -> float:
        """The bound; for a quantity that should be high."""
        return self.value


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """What held-out labelled examples prove about a rule.

    Attributes
    ----------
    confidence : float
        How sure: over repetitions of the labelled sample, all bounds hold at once at least this
        often. An auROC bound is only asymptotically so, and by itself.
    bounds : dict of Bound
        By name. ``sensitivity`` and ``specificity`` for two classes, else ``recall:CLASS``; and
        ``balanced-accuracy``. They are about the kept examples and hold at every prevalence.
        After a search for a target the bounds are the targets, or what is promised of arms,
        since those are what the search proves; ``observed`` is then evidence, not an unbiased
        estimate.
    evidence : Evidence
        The counts behind them.
    searched : bool
        Whether the rule was searched for with these labels.
    prior_range : tuple or None
        The class proportions (lowest, highest) that a bound which depends on them is for.

    Notes
    -----
    Given how many examples of class i are kept, the number predicted right is binomial, so
    Clopper and Pearson's bound is exact. The certifying examples must not have chosen the rule,
    unless the proof is for all rules that they could have chosen: a sensitivity and a specificity
    are proved for all windows of scores at once, arms in a sequence of thresholds that is fixed
    without labels. For other targets and a budget ``Abstainer`` splits the labelled data.

    References
    ----------
    A. Angelopoulos, S. Bates, E. Candès, M. Jordan, L. Lei (2021). Learn then test: calibrating
    predictive algorithms to achieve risk control. arXiv:2110.01052.

    Examples
    --------
    >>> import numpy as np
    >>> from abstain.certificates import Evidence, certify
    >>> counts = np.array([[180.0, 10.0, 10.0], [2.0, 88.0, 10.0]])
    >>> certificate = certify(Evidence(counts), confidence=0.9, classes=["well", "ill"])
    >>> certificate.bounds["sensitivity"].lower
    0.931
    >>> certificate.worst_case("accuracy", prior_range=(0.05, 0.3))
    0.898
    """

    confidence: float
    bounds: dict[str, Bound]
    evidence: Evidence
    searched: bool = False
    prior_range: tuple[FloatArray, FloatArray] | None = field(default=None)

    def worst_case(
        self, metric: Metric | str, prior_range: tuple[ArrayLike, ArrayLike] | None = None
    ) -> float:
        """Return the worst value of a confusion metric that the labels leave possible.

        Parameters
        ----------
        metric : Metric or str
            A metric of the confusion matrix.
        prior_range : pair, optional
            The lowest and highest proportion of each class; of the positive class, for two. All
            proportions when not given.

        Returns
        -------
        float
            A lower bound with the certificate's confidence; an upper one where lower is better.
            Exact for metrics that are ratios of linear functions of the confusion matrix
            (accuracy, precision, F-beta, cost, ...); for others the worst that was found.

        Raises
        ------
        ValueError
            After a search: what it proves are its targets, no more.
        """
        if self.searched:
            raise ValueError(
                "These labels searched for the rule, which proves its targets and nothing else. "
                "Certify a fixed budget, or make this metric the target."
            )
        return bound_of(metric, self.evidence, 1 - self.confidence, prior_range).value

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain data."""
        return {
            "confidence": self.confidence,
            "bounds": plain({name: asdict(bound) for name, bound in self.bounds.items()}),
            "counts": self.evidence.counts.astype(int).tolist(),
            "searched": self.searched,
            "prior_range": self.prior_range and [side.tolist() for side in self.prior_range],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the certificate that ``to_dict`` described."""
        counts = np.array(data["counts"], dtype=np.float64)
        if counts.shape[1] != len(counts) + 1:
            raise ValueError(
                f"`certificate.counts` must have a column for each of the {len(counts)} classes "
                f"and one for what was withheld; got {counts.shape[1]}"
            )
        bounds = {
            name: Bound(nan_if_none(said["value"]), nan_if_none(said["observed"]), int(said["n"]))
            for name, said in data["bounds"].items()
        }
        for name, bound in bounds.items():
            if bound.n > counts.sum():
                raise ValueError(
                    f"`certificate.bounds.{shown(name)}` is of more examples than were counted"
                )
        low, high = map(np.array, data["prior_range"] or [[], []])
        if len(low) and ((low > high).any() or low.sum() > 1 or high.sum() < 1):
            raise ValueError(
                "`certificate.prior_range` must be the lowest and the highest proportions"
            )
        return cls(
            confidence=float(data["confidence"]),
            bounds=bounds,
            evidence=Evidence(counts),
            searched=bool(data["searched"]),
            prior_range=(low, high) if len(low) else None,
        )

    def _repr_html_(self) -> str:
        rows = [
            (name, number(bound.value), number(bound.observed), f"{bound.n:,}")
            for name, bound in self.bounds.items()
        ]
        return block(
            "Certificate",
            f"held-out labels prove with {self.confidence:.0%} confidence",
            table(("on kept rows", "bound", "observed", "labels"), rows),
        )

    def __repr__(self) -> str:
        return f"<Certificate: {self}>"

    def __str__(self) -> str:
        parts = ", ".join(
            f"{name} {bound.value:.3g} (observed {bound.observed:.3g} of {bound.n})"
            for name, bound in self.bounds.items()
        )
        return f"{self.confidence:.0%} confidence: {parts}"


def check_confidence(confidence: float) -> float:
    """Return a confidence in (0, 1)."""
    value = check_number(confidence, "confidence")
    if not 0 < value < 1:
        raise ValueError(f"`confidence` must be between 0 and 1, such as 0.9; got {confidence!r}.")
    return value


def split_for_certificate(
    logits: FloatArray,
    codes: IntArray,
    *,
    classes: NDArray[Any],
    weight: FloatArray | None,
    apart: bool,
) -> tuple[IntArray, IntArray]:
    """Split labelled rows into those that fit and those that certify, where none may do both.

    The split is always the same, in whatever order the rows come.

    Parameters
    ----------
    logits : ndarray of shape (n, n_classes)
        Scores.
    codes : ndarray of shape (n,)
        True columns.
    classes : ndarray of shape (n_classes,)
        The label of each column.
    weight : ndarray of shape (n,) or None
        Sample weights, which there must not be: a bound counts independent examples.
    apart : bool
        Whether none may do both; a proof for all thresholds at once lets all do both.

    Returns
    -------
    fitting, certifying : ndarray
        Rows of each half, each class split evenly; of an odd number one more certifies.

    Raises
    ------
    ValueError
        If rows are weighted, or a class has fewer than two examples.
    """
    if weight is not None and np.ptp(weight) > 0:
        raise ValueError(
            "`sample_weight` and `confidence` do not go together: a certificate counts "
            "independent labelled examples, each once."
        )
    rng, every = np.random.default_rng(0), own_order(softmax(logits, axis=1))
    order = np.arange(len(codes)) if every is None else every
    certifying = np.zeros(len(codes), dtype=bool)
    for code, label in enumerate(classes.tolist()):
        rows = rng.permutation(order[codes[order] == code])
        if len(rows) < 2:
            raise ValueError(
                f"`confidence` needs labelled examples that prove it, at least two of each class; "
                f"class {label!r} has {len(rows)}."
            )
        certifying[rows[: (len(rows) + 1) // 2]] = True
    return np.flatnonzero(~certifying | (not apart)), np.flatnonzero(certifying | (not apart))


def certify(
    evidence: Evidence, *, confidence: float, classes: Sequence[Any] | NDArray[Any]
) -> Certificate:
    """Return the certificate of a rule that was fixed before its certifying labels were seen.

    Parameters
    ----------
    evidence : Evidence
        What the certifying examples did under the rule.
    confidence : float
        How sure the bounds are to be, all at once.
    classes : sequence
        The label of each column.

    Returns
    -------
    Certificate
    """
    if not isinstance(evidence, Evidence):
        raise TypeError(f"`evidence` must be an Evidence; got {shown(evidence)}.")
    error = 1 - check_confidence(confidence)
    n_classes = len(evidence.hits)
    if len(label_array(classes, "classes")) != n_classes:
        raise ValueError(
            f"`classes` must name each of the {n_classes} classes of the evidence; got "
            f"{shown(classes)}."
        )
    names = rate_names(classes)
    bounds = {
        names[i]: _rate_bound(evidence, i, error / n_classes) for i in reversed(range(n_classes))
    }
    bounds["balanced-accuracy"] = bound_of(BalancedAccuracy(), evidence, error)
    if evidence.kept_scores is not None:
        bounds["auroc"] = bound_of(AUROC(), evidence, error)
    return Certificate(confidence, bounds, evidence)


def rate_names(classes: Sequence[Any] | NDArray[Any]) -> list[str]:
    """Return the name of each class's recall."""
    if len(classes) == 2:
        return ["specificity", "sensitivity"]
    return [f"recall:{label}" for label in np.asarray(classes).tolist()]


def _rate_bound(evidence: Evidence, column: int, error: float) -> Bound:
    hits, kept = evidence.hits[column], evidence.kept[column]
    lower, _ = clopper_pearson(hits, kept, error)
    return Bound(float(lower), float(hits / kept) if kept else float("nan"), int(kept))


def bound_of(
    what: Metric | str,
    evidence: Evidence,
    error: float,
    prior_range: tuple[ArrayLike, ArrayLike] | None = None,
) -> Bound:
    """Return the bound of one rate or metric, wrong with at most the chance ``error``."""
    hits, kept = evidence.hits, evidence.kept
    n_classes, total = len(hits), int(kept.sum())
    names = rate_names(np.arange(n_classes))
    if isinstance(what, str) and what in names:
        return _rate_bound(evidence, names.index(what), error)
    metric = metrics.get(what)
    if isinstance(metric, AUROC):
        if evidence.kept_scores is None or evidence.kept_labels is None:
            raise ValueError("The certifying scores are not kept, so auROC cannot be bounded.")
        area, lower_area = auroc_lower(evidence.kept_scores, evidence.kept_labels, error)
        return Bound(lower_area, area, total)
    if isinstance(metric, BalancedAccuracy):
        lower, _ = clopper_pearson(hits, kept, error / n_classes)
        with np.errstate(invalid="ignore"):
            return Bound(float(lower.mean()), float((hits / kept).mean()), total)
    if not isinstance(metric, BaseConfusionMetric):
        raise ValueError(
            f"`metric` {metric.name!r} cannot be certified. What can: sensitivity and "
            f"specificity, balanced-accuracy, auroc, and any metric of the confusion matrix."
        )
    box = check_prior_range(prior_range, n_classes)
    value = worst_case(metric, evidence.counts, error, box)
    return Bound(value, metric.value(evidence.counts[:, :-1]), total)
