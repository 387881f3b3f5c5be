"""Decisions: what was decided about each row of a batch, and what it is expected to do."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray, to_native_frame
from abstain._kernels.adapt import adapted
from abstain.baselines import ScoreThreshold
from abstain.metrics import Metric
from abstain.regions import GainThreshold, Mask
from abstain.shift import ratio_of_priors

if TYPE_CHECKING:
    from abstain.policy import Policy
    from abstain.selection import Certificate

__all__ = ["Decisions", "Estimate", "EstimatedValue", "estimate_metric"]

CONFIDENCE = 0.9
N_DRAWS = 200


@dataclass(frozen=True)
class EstimatedValue:
    """A metric estimated without labels, and where its realised value is expected to lie.

    Parameters
    ----------
    value : float
        The estimate.
    interval : tuple of float
        Ends of the 90% interval. It holds the noise of the unknown labels: how the metric would
        come out over and over if labels were drawn from the probabilities; and, where asked for,
        the uncertainty of the class proportions and of the calibration.
    """

    value: float
    interval: tuple[float, float]

    def __str__(self) -> str:
        return f"{self.value:.4f} (90% interval {self.interval[0]:.4f} to {self.interval[1]:.4f})"


@dataclass(frozen=True)
class Estimate:
    """The metric on all rows and on the kept rows, both estimated without labels."""

    before: EstimatedValue
    after: EstimatedValue


@dataclass(frozen=True, eq=False)
class Decisions:
    """What to do with each row of a batch.

    Attributes
    ----------
    abstain : ndarray of bool, shape (n,)
        True where the row goes to a person.
    proba : ndarray of shape (n, n_classes)
        Calibrated, adapted probabilities.
    prediction : ndarray of shape (n,)
        The predicted class label, also where abstaining.
    priors, source_priors : ndarray of shape (n_classes,)
        Estimated class proportions of the target, and those of the validation data.
    classes : ndarray of shape (n_classes,)
        The label of each column.
    policy : Policy
        The rule, as data.
    certificate : Certificate or None
        What held-out labels prove about the rule, where that was asked for.
    sample_weight : ndarray of shape (n,) or None
        How much each row counts.
    prior_draws : ndarray of shape (n_draws, n_classes) or None
        Class proportions drawn from their uncertainty, which the intervals then hold too.
    replicates : tuple of ndarray or None
        What ``proba`` would be from resampled validation and target data, which the intervals
        then hold too.
    frame : frame or None
        The frame the scores came in, if they did.
    carried : tuple of str
        Its columns that are no scores, such as an id.
    """

    abstain: Mask
    proba: FloatArray
    prediction: NDArray[Any]
    classes: NDArray[Any]
    policy: "Policy"
    sample_weight: FloatArray | None = None
    seed: int = 0
    prior_draws: FloatArray | None = None
    replicates: tuple[FloatArray, ...] | None = None
    frame: Any = None
    carried: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.abstain)

    @property
    def priors(self) -> FloatArray:
        """Estimated class proportions of the target."""
        return self.policy.priors

    @property
    def source_priors(self) -> FloatArray:
        """Class proportions of the validation data."""
        return self.policy.source_priors

    @property
    def certificate(self) -> "Certificate | None":
        """What held-out labels prove about the rule, where that was asked for."""
        return self.policy.certificate

    @property
    def abstention_rate(self) -> float:
        """The fraction of the (weighted) rows that is withheld."""
        return float(np.average(self.abstain, weights=self.sample_weight))

    @cached_property
    def estimate(self) -> Estimate:
        """The metric before and after abstaining, estimated on these rows without labels."""
        return estimate_metric(
            self.policy.metric,
            self.proba,
            self.policy.rule.predict(self.proba),
            self.abstain,
            sample_weight=self.sample_weight,
            seed=self.seed,
            # Ratios of drawn to estimated proportions move the probabilities.
            prior_ratios=(
                None
                if self.prior_draws is None
                else [ratio_of_priors(drawn, self.priors) for drawn in self.prior_draws]
            ),
            replicates=self.replicates,
        )

    @property
    def gain(self) -> FloatArray:
        """What withholding each row is worth.

        The score that ordered the rows, where there is one: an expected gain in the metric, or
        a score of uncertainty. Where a window of rows is withheld as a whole, its rows share the
        estimated improvement of the metric and the others have 0.
        """
        region = self.policy.region
        if isinstance(region, GainThreshold):
            return region.score(self.proba, self.policy.rule.predict(self.proba))
        if isinstance(region, ScoreThreshold):
            return region.values(self.proba)
        improvement = self.estimate.after.value - self.estimate.before.value
        return np.where(self.abstain, improvement / max(int(self.abstain.sum()), 1), 0.0)

    def to_frame(self) -> Any:
        """Return one row per decision, in the kind of frame that the scores came in.

        The frame's index and its columns that are no scores come first, then ``abstain``,
        ``reason`` (the region that withholds the row, or nothing), ``prediction``, ``gain``
        and the probability of each class as ``p_`` and its name. Scores that came as an array
        give a frame of pandas, Polars or PyArrow, the first of them that is installed.
        """
        columns: dict[str, Any] = {
            "abstain": self.abstain,
            "reason": np.where(self.abstain, self.policy.region.describe(), ""),
            "prediction": self.prediction,
            "gain": self.gain,
        }
        for name, values in zip(self.classes.tolist(), self.proba.T, strict=True):
            columns[f"p_{name}"] = values
        return to_native_frame(columns, like=self.frame, carried=self.carried)

    def __repr__(self) -> str:
        return (
            f"<Decisions: {int(self.abstain.sum())} of {len(self)} rows withheld "
            f"({self.abstention_rate:.1%}), metric {self.policy.metric.name}>"
        )


def estimate_metric(
    metric: Metric,
    proba: FloatArray,
    prediction: IntArray,
    abstain: Mask,
    *,
    sample_weight: FloatArray | None = None,
    seed: int = 0,
    prior_ratios: Sequence[FloatArray] | None = None,
    replicates: Sequence[FloatArray] | None = None,
) -> Estimate:
    """Estimate a metric on all rows and on the kept rows, with 90% intervals.

    With ``prior_ratios`` the labels are drawn from the probabilities as they would be at other
    class proportions, those drawn from the uncertainty of the shift; with ``replicates``, from
    other probabilities altogether, those of other validation data.
    """

    def on(rows: Mask) -> EstimatedValue:
        weight = None if sample_weight is None else sample_weight[rows]
        columns = prediction[rows]
        value = metric.expected(proba[rows], prediction=columns, sample_weight=weight)

        def draws(moved: FloatArray, n_draws: int, number: int) -> FloatArray:
            return metric.draws(
                moved,
                prediction=columns,
                sample_weight=weight,
                n_draws=n_draws,
                seed=seed + number,
            )

        if replicates is not None:
            moved = [replicate[rows] for replicate in replicates]
        elif prior_ratios is not None:
            moved = [adapted(proba[rows], ratios) for ratios in prior_ratios]
        else:
            return EstimatedValue(value, _interval(draws(proba[rows], N_DRAWS, 0), value))
        # Draws of labels that share their probabilities tell less, so there are more of them.
        each = -(-2 * N_DRAWS // len(moved))
        found = [draws(part, each, number) for number, part in enumerate(moved)]
        return EstimatedValue(value, _interval(np.concatenate(found), value))

    return Estimate(before=on(np.ones_like(abstain)), after=on(~abstain))


def _interval(draws: FloatArray, value: float) -> tuple[float, float]:
    """Return the central interval of the draws, wide enough to hold the value itself."""
    finite = draws[np.isfinite(draws)]
    if not finite.size or not np.isfinite(value):
        return (float("nan"), float("nan"))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(finite, [tail, 1 - tail])
    return (min(float(low), value), max(float(high), value))
