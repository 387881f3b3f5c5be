"""Decisions against the truth: realised metrics, per group, and what had been estimated."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain import metrics as metric_registry
from abstain._inputs import Mask, check_labels, check_same_length
from abstain._numerics import plain
from abstain.decisions import Decisions
from abstain.estimation import EstimatedValue
from abstain.evaluation._risk_coverage import RiskCoverage, risk_coverage
from abstain.metrics import Metric

__all__ = ["Evaluation", "Realised", "evaluate"]


@dataclass(frozen=True)
class Realised:
    """A metric on some rows, from their labels.

    Attributes
    ----------
    n : int
        How many rows there are.
    abstention_rate : float
        The (weighted) share of them that is withheld.
    all, kept, withheld : float
        The metric on all of them, on the kept and on the withheld; NaN where not defined.
    """

    n: int
    abstention_rate: float
    all: float
    kept: float
    withheld: float


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How decisions turned out.

    Attributes
    ----------
    metric : str
        The metric the decisions were made for.
    realised : dict of str to Realised
        Each metric's realised values, the decisions' own first.
    groups : dict of label to dict of str to Realised
        The same within each group.
    estimated_before, estimated_after : EstimatedValue
        What had been estimated without labels for all rows and for the kept ones.
    risk_coverage : RiskCoverage
        The curve of wrong predictions, withheld in the decisions' own order.
    """

    metric: str
    realised: dict[str, Realised]
    groups: dict[Any, dict[str, Realised]]
    estimated_before: EstimatedValue
    estimated_after: EstimatedValue
    risk_coverage: RiskCoverage

    @property
    def inside_before(self) -> bool | None:
        """Whether the realised value of all rows lies in its interval; None if not defined."""
        return _inside(self.estimated_before, self.realised[self.metric].all)

    @property
    def inside_after(self) -> bool | None:
        """Whether the realised value of the kept lies in its interval; None if not defined."""
        return _inside(self.estimated_after, self.realised[self.metric].kept)

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as plain data; what is not defined is None."""
        own = self.realised[self.metric]
        curve = self.risk_coverage
        facts: dict[str, Any] = {
            "metric": self.metric,
            "realised": {name: asdict(found) for name, found in self.realised.items()},
            "groups": {
                label: {name: asdict(found) for name, found in by_metric.items()}
                for label, by_metric in self.groups.items()
            },
            "estimated": {
                "before": _estimate(self.estimated_before, own.all),
                "after": _estimate(self.estimated_after, own.kept),
            },
            "aurc": curve.aurc,
            "augrc": curve.augrc,
            "excess_aurc": curve.excess_aurc,
        }
        return plain(facts)  # type: ignore[no-any-return]

    def to_text(self) -> str:
        """Return the evaluation as a table for people."""
        head = f"{'':<32}  {'n':>7}  {'withheld':>8}  {'all':>8}  {'kept':>8}  {'withheld':>8}"
        lines = [head, *(_line(name, found) for name, found in self.realised.items())]
        for label, by_metric in self.groups.items():
            lines += [_line(f"{name} [{label}]", found) for name, found in by_metric.items()]
        own, curve = self.realised[self.metric], self.risk_coverage
        lines += [
            "",
            f"{self.metric}, estimated without labels against realised",
            f"  all   {self.estimated_before}   realised {own.all:.4f}{_said(self.inside_before)}",
            f"  kept  {self.estimated_after}   realised {own.kept:.4f}{_said(self.inside_after)}",
            f"risk and coverage: AURC {curve.aurc:.4f}, AUGRC {curve.augrc:.4f}, "
            f"excess-AURC {curve.excess_aurc:.4f}",
        ]
        return "\n".join(lines)


def evaluate(
    decisions: Decisions[Any],
    y_true: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    metrics: tuple[Metric | str, ...] = (),
) -> Evaluation:
    """Compare decisions with the truth.

    Parameters
    ----------
    decisions : Decisions
        What was decided.
    y_true : array-like of shape (n,)
        True labels of the same rows.
    groups : array-like of shape (n,), optional
        Which group each row belongs to, such as a hospital or a sex. Abstaining can help some
        groups and harm others, which the whole does not show.
    metrics : tuple of Metric or str
        More metrics to compute beside the one the decisions were made for.

    Returns
    -------
    Evaluation

    Notes
    -----
    That abstention can magnify disparities between groups: Jones et al., "Selective
    classification can magnify disparities across groups", ICLR 2021.

    Examples
    --------
    >>> from abstain import Abstainer
    >>> from abstain.datasets import screening_clinic
    >>> from abstain.evaluation import evaluate
    >>> clinic = screening_clinic(random_state=0)
    >>> abstainer = Abstainer("auroc", budget=0.2, scale="logits", random_state=0)
    >>> decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    >>> found = evaluate(decisions, clinic.y_target).realised["auroc"]
    >>> found.kept > found.all
    True
    """
    n = len(decisions)
    codes = check_labels(y_true, classes=decisions.classes, n_rows=n, name="y_true")
    own = decisions.metric
    chosen = {metric.name: metric for metric in (own, *map(metric_registry.get, metrics))}
    prediction = decisions.columns
    judge = _Judge(decisions, codes, prediction)
    everyone = np.ones(n, dtype=bool)
    return Evaluation(
        metric=own.name,
        realised={name: judge.realised(metric, everyone) for name, metric in chosen.items()},
        groups={
            label: {name: judge.realised(metric, rows) for name, metric in chosen.items()}
            for label, rows in _group_rows(groups, n)
        },
        estimated_before=decisions.estimate.before,
        estimated_after=decisions.estimate.after,
        risk_coverage=risk_coverage(
            (codes != prediction).astype(np.float64),
            decisions.priority,
            sample_weight=decisions.sample_weight,
        ),
    )


@dataclass(frozen=True, eq=False)
class _Judge:
    """Computes metrics on parts of a batch."""

    decisions: Decisions[Any]
    codes: NDArray[np.intp]
    prediction: NDArray[np.intp]

    def realised(self, metric: Metric, rows: Mask) -> Realised:
        withheld = self.decisions.abstain
        weight = self.decisions.sample_weight
        share = np.average(withheld[rows], weights=None if weight is None else weight[rows])
        return Realised(
            n=int(rows.sum()),
            abstention_rate=float(share),
            all=self._value(metric, rows),
            kept=self._value(metric, rows & ~withheld),
            withheld=self._value(metric, rows & withheld),
        )

    def _value(self, metric: Metric, rows: Mask) -> float:
        if not rows.any():
            return float("nan")
        weight = self.decisions.sample_weight
        return metric.observed(
            self.codes[rows],
            self.decisions.proba[rows],
            prediction=self.prediction[rows],
            sample_weight=None if weight is None else weight[rows],
        )


def _group_rows(groups: ArrayLike | None, n: int) -> list[tuple[Any, Mask]]:
    if groups is None:
        return []
    labels = np.asarray(groups)
    if labels.ndim != 1:
        raise ValueError(f"`groups` must be one-dimensional; got shape {labels.shape}.")
    check_same_length(decisions=range(n), groups=labels)
    return [(label, labels == label) for label in np.unique(labels).tolist()]


def _estimate(estimated: EstimatedValue, realised: float) -> dict[str, Any]:
    return {
        "value": estimated.value,
        "realised": realised,
        "interval": estimated.interval,
        "level": estimated.level,
        "inside": _inside(estimated, realised),
    }


def _inside(estimated: EstimatedValue, realised: float) -> bool | None:
    if not np.isfinite([realised, *estimated.interval]).all():
        return None
    return estimated.holds(realised)


def _said(inside: bool | None) -> str:
    return "" if inside is None else ", inside" if inside else ", outside"


def _line(name: str, found: Realised) -> str:
    return (
        f"{name:<32}  {found.n:>7}  {found.abstention_rate:>8.1%}  {found.all:>8.4f}  "
        f"{found.kept:>8.4f}  {found.withheld:>8.4f}"
    )
