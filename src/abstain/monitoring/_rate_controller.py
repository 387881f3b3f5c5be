"""A controller for streams: keeps the long-run share withheld at a rate while the mix drifts.

A budget (the paper's Section 3) is for a batch. In a stream the same region would withhold more
or fewer as the cases change; here it is widened and narrowed along a nested family instead.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import FloatArray, IntArray, check_fraction
from abstain.baselines import ScoreThreshold
from abstain.regions import GainThreshold, Interval, Region, TopShare
from abstain.rules import Threshold

if TYPE_CHECKING:
    from abstain.decisions import Decisions
    from abstain.policy import Policy

__all__ = ["RateController", "priority"]

# The distribution of priorities is remembered at this many quantiles.
_QUANTILES = 257


class RateController:
    r"""Withhold a given share of a stream in the long run, the most pressing cases first.

    Parameters
    ----------
    policy : Policy
        The rule whose region is widened and narrowed.
    scores_reference : array-like of shape (n,) or (n, n_classes)
        Recent unlabelled scores, which tell how pressing cases usually are.
    rate : float
        The share to withhold: reviewer hours per hour, times cases per hour of review, over
        cases per hour.
    step : float
        How fast to react. After about ``1 / step`` cases a drift is made up for; smaller is
        steadier.

    Attributes
    ----------
    level : float
        Cases whose priority, as a quantile of the reference, is at least this are withheld now.
    n_seen, n_withheld : int
        Cases so far, and how many of them were withheld.

    Notes
    -----
    Each case moves the level by ``step * (withheld - rate)``. Priorities are quantiles in
    [0, 1], so the level stays within ``step`` of [0, 1], and after T cases

    .. math:: |\text{share withheld} - \text{rate}| \le \frac{1 + 2\,\text{step}}{\text{step}\; T},

    whatever the cases are: no assumption about the drift is needed.

    Examples
    --------
    >>> import numpy as np
    >>> from abstain import Abstainer
    >>> from abstain.datasets import screening_clinic
    >>> from abstain.selection import RateController
    >>> clinic = screening_clinic(random_state=0)
    >>> abstainer = Abstainer("auroc", budget=0.1, calibration="platt", scale="logits")
    >>> policy = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target).policy
    >>> controller = RateController(policy, clinic.scores_target, rate=0.1, step=0.01)
    >>> decisions = controller.decide(clinic.scores_target + 1.5)  # everybody scores higher
    >>> abs(controller.abstention_rate - 0.1) <= 1.02 / (0.01 * 5000)
    True
    """

    def __init__(
        self,
        policy: "Policy",
        scores_reference: ArrayLike,
        *,
        rate: float,
        step: float = 0.005,
    ) -> None:
        self.policy = policy
        self.rate = check_fraction(rate, name="rate")
        if isinstance(step, bool) or not isinstance(step, int | float) or not 0 < step < 1:
            raise ValueError(f"`step` must be between 0 and 1, such as 0.005; got {step!r}.")
        self.step = float(step)
        proba = policy.predict_proba(scores_reference)
        usual = priority(policy.region, proba, policy.rule.predict(proba), policy.rule)
        self._quantiles: FloatArray = np.quantile(usual, np.linspace(0, 1, _QUANTILES))
        self.level = 1 - self.rate
        self.n_seen = 0
        self.n_withheld = 0

    @property
    def abstention_rate(self) -> float:
        """The share withheld so far."""
        return self.n_withheld / self.n_seen if self.n_seen else float("nan")

    def decide(self, scores: ArrayLike) -> "Decisions":
        """Decide about the next cases, in the order they come.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores on the scale the policy was made on.

        Returns
        -------
        Decisions
            As the policy would give, except for ``abstain``.
        """
        decisions = self.policy.apply(scores)
        prediction = self.policy.rule.predict(decisions.proba)
        pressing = priority(self.policy.region, decisions.proba, prediction, self.policy.rule)
        abstain = np.empty(len(pressing), dtype=bool)
        for case, quantile in enumerate(self._as_quantile(pressing).tolist()):
            withheld = quantile >= self.level
            self.level += self.step * (withheld - self.rate)
            abstain[case] = withheld
        self.n_seen += len(abstain)
        self.n_withheld += int(abstain.sum())
        return replace(decisions, abstain=abstain)

    def _as_quantile(self, pressing: FloatArray) -> FloatArray:
        """Return where each priority lies in the reference, ties in the middle."""
        low = np.searchsorted(self._quantiles, pressing, side="left")
        high = np.searchsorted(self._quantiles, pressing, side="right")
        between: FloatArray = np.interp(
            pressing, self._quantiles, np.linspace(0, 1, _QUANTILES), left=0.0, right=1.0
        )
        middle: FloatArray = np.clip((low + high - 1) / (2 * (_QUANTILES - 1)), 0, 1)
        return np.where(high - low > 1, middle, between)

    def to_dict(self) -> dict[str, Any]:
        """Return where the controller stands, to go on later from ``restore``."""
        return {"level": self.level, "n_seen": self.n_seen, "n_withheld": self.n_withheld}

    def restore(self, state: dict[str, Any]) -> Self:
        """Go on from where ``to_dict`` left."""
        self.level = float(state["level"])
        self.n_seen, self.n_withheld = int(state["n_seen"]), int(state["n_withheld"])
        return self


def priority(region: Region, proba: FloatArray, prediction: IntArray, rule: Any) -> FloatArray:
    """Return how deep in a region each row lies: the order of a nested family of regions.

    Parameters
    ----------
    region : Region
        A region; what it withholds comes before what it does not.
    proba : ndarray of shape (n, n_classes)
        Calibrated, adapted probabilities.
    prediction : ndarray of shape (n,)
        Predicted columns.
    rule : DecisionRule
        A threshold inside an interval is the point around which that grows; the middle, without.

    Returns
    -------
    ndarray of shape (n,)
        Higher is more pressing. For an interval, how much it would have to shrink (in log-odds,
        in proportion on both sides) before the row is outside, negative where it must grow.
    """
    if isinstance(region, GainThreshold):
        return region.score(proba, prediction)
    if isinstance(region, ScoreThreshold):
        return region.values(proba)
    if isinstance(region, TopShare):
        return -region.share(proba)
    if not isinstance(region, Interval):
        raise TypeError(f"A region of kind {region.kind!r} has no nested family.")
    if region.lower > region.upper:
        raise ValueError("The policy withholds nothing, so there is no region to widen.")
    low, high = _log_odds(region.lower), _log_odds(region.upper)
    middle = 0.5 * (low + high)
    if isinstance(rule, Threshold) and region.lower < rule.threshold < region.upper:
        middle = _log_odds(rule.threshold)
    z = _log_odds(proba[:, 1])
    narrow = 1e-6
    below, above = max(middle - low, narrow), max(high - middle, narrow)
    depth: FloatArray = 1 - np.where(z < middle, (middle - z) / below, (z - middle) / above)
    return depth


def _log_odds(p: Any) -> Any:
    tiny = np.finfo(np.float64).tiny
    clipped = np.clip(p, tiny, 1.0)
    return np.log(clipped) - np.log(np.maximum(1 - clipped, np.finfo(np.float64).eps / 2))
