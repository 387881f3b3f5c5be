"""Decisions about rows on a device: the choice comes from the host, the mask stays there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from abstain._inputs import FloatArray, Missing
from abstain.cuda._arrays import OnDevice, cupy, device_scores, made_of, unfit
from abstain.cuda._kernels import logistic_of, mark_rows
from abstain.cuda._summary import check_fit, refuse, summary_of
from abstain.estimation import Estimate
from abstain.policy import Policy
from abstain.regions import Interval

if TYPE_CHECKING:
    from abstain.abstainer import Abstainer


@dataclass(frozen=True, eq=False)
class DeviceDecisions:
    """What was decided about rows on a device, as tensors or arrays on that device.

    Attributes
    ----------
    abstain : tensor of bool, shape (n,)
        True: give to a person. Rows without a score are.
    proba : tensor of shape (n, n_classes)
        Calibrated, adapted probabilities, in the precision of the scores; NaN without a score.
        Made when asked for.
    prediction : tensor of shape (n,)
        The predicted class, also where abstaining: its label where labels are numbers, else its
        place in ``classes``. Made when asked for.
    policy : Policy
        The rule.
    classes : ndarray of shape (n_classes,)
        The label of each column of ``proba``.
    """

    policy: Policy
    abstain: Any
    _given: OnDevice

    @property
    def classes(self) -> NDArray[Any]:
        """The label of each column of probabilities."""
        return self.policy.classes

    @property
    def priors(self) -> FloatArray:
        """The class proportions that the probabilities are adapted to."""
        return self.policy.priors

    @property
    def estimate(self) -> Estimate | None:
        """The metric on the rows that the rule was chosen on, without labels."""
        return self.policy.estimate

    @cached_property
    def proba(self) -> Any:
        """Calibrated, adapted probabilities."""
        with self._given.at_work():
            cp = cupy()
            both = made_of(cp, self.policy, self._given.values, "proba")
            gaps, _ = unfit(cp, self.policy.calibrator, self._given.values)
            both = cp.where(gaps[:, None], cp.nan, both)
            return self._given.back(both.astype(self._given.values.dtype))

    @cached_property
    def prediction(self) -> Any:
        """The predicted class of each row."""
        with self._given.at_work():
            cp = cupy()
            columns = made_of(cp, self.policy, self._given.values, "prediction")
            if self.classes.dtype.kind in "iuf":
                columns = cp.asarray(self.classes)[columns]
            return self._given.back(columns)

    @property
    def abstention_rate(self) -> float:
        """The share of rows that are withheld."""
        return float(self.abstain.sum()) / len(self)

    def __len__(self) -> int:
        return len(self.abstain)

    def __repr__(self) -> str:
        return (
            f"<DeviceDecisions: {self.abstention_rate:.1%} of {len(self)} rows withheld, metric "
            f"{self.policy.metric.name}>"
        )


def decide(
    abstainer: Abstainer, scores: Any, *, missing: Missing = "error", **for_memory: Any
) -> DeviceDecisions:
    """Adapt to rows on a device and choose which to withhold; see ``Abstainer.decide``."""
    refuse(**for_memory)
    summariser = abstainer.summariser()
    given = device_scores(scores, summariser.order)
    with given.at_work():
        # A ranking is chosen by whole bins, so that nothing hangs on the rows inside them.
        ends = not (abstainer.metric_.ranks and abstainer.score is None)
        summary = summary_of(summariser, given, missing=missing, ends=ends)
    return _decided(abstainer.decide_summary(summary), given, missing)


def apply(
    policy: Policy, scores: Any, *, missing: Missing = "error", **for_memory: Any
) -> DeviceDecisions:
    """Decide about rows on a device by a policy; see ``Policy.apply``."""
    refuse(**for_memory)
    return _decided(policy, device_scores(scores, policy.order), missing)


def _decided(policy: Policy, given: OnDevice, missing: Missing) -> DeviceDecisions:
    values, region = given.values, policy.region
    how = logistic_of(policy.calibrator) if values.ndim == 1 else None
    with given.at_work():
        cp = cupy()
        if how is not None and isinstance(region, Interval):
            negative, positive = policy.ratios.tolist()
            ends = region.lower, region.upper
            mask, counts = mark_rows(values, how, negative, positive, *ends)
            n_missing, n_wrong = cp.asnumpy(counts).tolist()
        else:
            gaps, wrong = unfit(cp, policy.calibrator, values)
            n_missing, n_wrong = int(gaps.sum()), int(wrong.sum())
            mask = made_of(cp, policy, values, "abstain") | gaps
        check_fit(n_missing, n_wrong, len(values), missing)
        return DeviceDecisions(policy, given.back(mask), given)
