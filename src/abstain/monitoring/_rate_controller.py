"""A controller for streams: keeps the long-run share withheld at a rate while the mix drifts.

A budget (the paper's Section 3) is for a batch. In a stream the same region would withhold more
or fewer as the cases change; here it is widened and narrowed along a nested family instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import (
    FloatArray,
    Missing,
    both_columns,
    check_fraction,
    check_number,
    check_whole,
    shown,
)
from abstain.decisions import Decisions
from abstain.estimation import Estimate
from abstain.exceptions import ArgumentError
from abstain.policy import Policy
from abstain.shift import OnlineProportions

# The distribution of priorities is remembered at this many quantiles.
_QUANTILES = 257
# It is the rate that limits how many are withheld here, not the budget of the policy.
_NO_LIMIT = 2**62


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
    adapt : {"online"}, optional
        Adapt each case to the class proportions of those before it, by
        :class:`abstain.shift.OnlineProportions`, and not to those that the policy was made for.

    Attributes
    ----------
    level : float
        Cases whose priority, as a quantile of the reference, is at least this are withheld now.
    n_seen, n_withheld : int
        Cases so far, and how many of them were withheld.
    proportions : OnlineProportions or None
        The class proportions as they are followed, where each case is adapted to them.

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
    >>> from abstain.monitoring import RateController
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
        policy: Policy,
        scores_reference: ArrayLike,
        *,
        rate: float,
        step: float = 0.005,
        adapt: Literal["online"] | None = None,
    ) -> None:
        if not isinstance(policy, Policy):
            raise TypeError(f"`policy` must be a Policy; got {shown(policy)}.")
        self.policy = policy
        self.rate = check_fraction(rate, name="rate")
        if isinstance(step, bool) or not isinstance(step, int | float) or not 0 < step < 1:
            raise ValueError(f"`step` must be between 0 and 1, such as 0.005; got {step!r}.")
        self.step = float(step)
        if adapt not in (None, "online"):
            raise ArgumentError(f'`adapt` must be "online" or None; got {shown(adapt)}.', "adapt")
        self.proportions = OnlineProportions(policy.source_priors) if adapt else None
        # What comes out of it is calibrated, and adapted to nothing.
        self._calibrated = replace(policy, priors=policy.source_priors)
        reference = policy.apply(scores_reference, at_most=_NO_LIMIT)
        if not reference.abstain.any():
            raise ValueError("The policy withholds nothing here, so there is no region to widen.")
        usual = reference.priority
        self._quantiles: FloatArray = np.quantile(usual, np.linspace(0, 1, _QUANTILES))
        self.level = 1 - self.rate
        self.n_seen = 0
        self.n_withheld = 0

    @property
    def abstention_rate(self) -> float:
        """The share withheld so far."""
        return self.n_withheld / self.n_seen if self.n_seen else float("nan")

    def decide(self, scores: ArrayLike, *, missing: Missing = "error") -> Decisions:
        """Decide about the next cases, in the order they come.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores on the scale the policy was made on.
        missing : {"error", "refer", "drop"}
            What to do with cases without a score, as of :meth:`abstain.Policy.apply`. Those that
            are referred count towards the rate, and others make room for them.

        Returns
        -------
        Decisions
            As the policy would give, except for ``abstain``. Adapted online, each case is at
            class proportions of its own, and so ``estimate`` is not defined; for how well the
            rule does now see :func:`abstain.estimate` and :class:`Monitor`.
        """
        if self.proportions is None:
            decisions = self.policy.apply(scores, missing=missing, at_most=_NO_LIMIT)
        else:
            decisions = self._adapted(scores, missing, self.proportions)
        pressing = decisions.priority
        abstain = np.empty(len(pressing), dtype=bool)
        for case, quantile in enumerate(self._as_quantile(pressing).tolist()):
            withheld = quantile >= self.level or pressing[case] == np.inf
            self.level += self.step * (withheld - self.rate)
            abstain[case] = withheld
        self.n_seen += len(abstain)
        self.n_withheld += int(abstain.sum())
        abstain_scored = abstain[decisions.scored_at]
        if self.proportions is None:
            return decisions.judged(abstain=abstain_scored)
        return decisions.judged(
            abstain=abstain_scored, figures=Estimate.undefined(self.policy.level)
        )

    def _adapted(
        self, scores: ArrayLike, missing: Missing, proportions: OnlineProportions
    ) -> Decisions:
        """Return the cases, each adapted to those before it; nothing is estimated of them."""
        decisions = self._calibrated.rows(scores, missing=missing)
        rows = proportions.adapt(both_columns(decisions.outcome.compact))
        compact = rows[:, 1].copy() if decisions.outcome.compact.ndim == 1 else rows
        now = replace(self.policy, priors=proportions.priors, estimate=None, certificate=None)
        return replace(decisions, policy=now, outcome=now.outcome(compact))

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
        state: dict[str, Any] = {
            "level": self.level,
            "n_seen": self.n_seen,
            "n_withheld": self.n_withheld,
        }
        if self.proportions is not None:
            state["proportions"] = self.proportions.to_dict()
        return state

    def restore(self, state: dict[str, Any]) -> Self:
        """Go on from where ``to_dict`` left."""
        if not isinstance(state, Mapping) or not {"level", "n_seen", "n_withheld"} <= {*state}:
            raise ValueError(
                "`state` must be what to_dict() returned: `level`, `n_seen` and `n_withheld`."
            )
        level = check_number(state["level"], name="level")
        if not -self.step <= level <= 1 + self.step:
            raise ValueError(
                f"`level` must be within {self.step:g} of [0, 1], as it is by itself; "
                f"got {level!r}."
            )
        n_seen = check_whole(state["n_seen"], name="n_seen", least=0, most=_NO_LIMIT)
        n_withheld = check_whole(state["n_withheld"], name="n_withheld", least=0, most=n_seen)
        if self.proportions is not None:
            if "proportions" not in state:
                raise ValueError('`state` has no `proportions`: it is not of adapt="online".')
            self.proportions = OnlineProportions.from_dict(state["proportions"])
        self.level, self.n_seen, self.n_withheld = level, n_seen, n_withheld
        return self
