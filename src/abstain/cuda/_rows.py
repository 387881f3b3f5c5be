"""Rows on a device: summarised and decided about there; what comes to the host is a summary."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, Missing
from abstain._kernels.label_draws import STEP, mixed
from abstain._summariser import Summariser
from abstain.cuda._arrays import OnDevice, calibrated, cupy, device_scores, made_of, unfit
from abstain.cuda._kernels import AS_THEY_ARE, binned, logistic_of, mark_rows
from abstain.estimation import Estimate
from abstain.policy import Policy
from abstain.regions import Interval
from abstain.summaries import SAMPLE_SEED, STEPS, Bins, Sample, Summary, most_rows, n_moments

if TYPE_CHECKING:
    from abstain.abstainer import Abstainer


def summarise(
    summariser: Summariser, scores: Any, sample_weight: Any = None, *, missing: Missing = "error"
) -> Summary:
    """Return the summary of scores on a device; see :meth:`abstain.Abstainer.summarise`.

    Rows count once each, and rows without a score cannot be left out.
    """
    refuse(sample_weight=sample_weight)
    given = device_scores(scores, summariser.order)
    with given.at_work():
        return summary_of(summariser, given, missing=missing, ends=True)


def refuse(**unsupported: Any) -> None:
    """Refuse what is for rows in memory."""
    for name, given in unsupported.items():
        if given is not None:
            raise ValueError(
                f"`{name}` is for scores in memory, and these are on a device. Move them to "
                f"memory: scores.cpu()."
            )


def summary_of(
    summariser: Summariser, given: OnDevice, *, missing: Missing, ends: bool
) -> Summary:
    """Return the summary of scores on a device; the ends of bins are looked for or not."""
    calibrator, values = summariser.calibrator, given.values
    of_one = logistic_of(calibrator) if values.ndim == 1 else None
    part: Bins | Sample
    if of_one is not None:
        part, n_missing, n_wrong = binned(values, of_one, ends=ends)
        check_fit(n_missing, n_wrong, len(values), missing)
        return summariser.of_part(part, len(values) - n_missing, n_missing)
    cp = cupy()
    gaps, wrong = unfit(cp, calibrator, values)
    n_missing, n_wrong = int(gaps.sum()), int(wrong.sum())
    check_fit(n_missing, n_wrong, len(values), missing)
    proba = calibrated(cp, calibrator, values[~gaps] if n_missing else values)
    part = binned(proba, AS_THEY_ARE, ends=ends)[0] if proba.ndim == 1 else sampled(cp, proba)
    return summariser.of_part(part, len(proba), n_missing)


def check_fit(n_missing: int, n_wrong: int, n_rows: int, missing: Missing) -> None:
    """Raise for scores that are not there, or cannot be."""
    if missing == "drop":
        raise ValueError(
            '`missing` "drop" is for scores in memory; on a device it is "error" or "refer". '
            "Leave rows out before: scores[~scores.isnan()]."
        )
    if missing not in ("error", "refer"):
        raise ValueError(f'`missing` must be "error" or "refer" on a device; got {missing!r}.')
    if n_wrong:
        raise ValueError(
            f"`scores` must be finite, and probabilities between 0 and 1 that sum to 1; {n_wrong} "
            f'of {n_rows} rows are not. If these are logits, pass scale="logits".'
        )
    if n_missing and missing == "error":
        raise ValueError(
            f"`scores` has gaps: {n_missing} of {n_rows} rows are NaN. Pass "
            f'missing="refer" to give these rows to a person.'
        )


def sampled(xp: Any, proba: Any) -> Sample:
    """Return what is kept of rows of more than two classes; see ``summaries.Sample``.

    With the arrays of NumPy or CuPy, picked where they are.
    """
    n, n_classes = proba.shape
    numbers, most = _numbers(xp, proba), most_rows(n_classes)
    edge, kept = np.inf, slice(None)
    if n > most:
        edge = float(xp.partition(numbers, most)[most])
        kept = xp.flatnonzero(numbers < edge)
    host = _to_host(xp, numbers[kept]), _to_host(xp, proba[kept])
    return Sample.gathered(*host, edge, _moments(xp, proba))


def _numbers(xp: Any, proba: Any) -> Any:
    """Return the number of each row, as ``row_numbers`` does on the host."""
    bits = xp.full(len(proba), SAMPLE_SEED, dtype=xp.uint64)
    for column in range(proba.shape[1]):
        own = xp.ascontiguousarray(proba[:, column]).view(xp.uint64)
        bits = mixed((bits ^ own) + STEP)
    return (bits >> np.uint64(11)) * 2.0**-53


def _moments(xp: Any, proba: Any) -> Any:
    """Return the sums of the moments of each group of rows."""
    n, n_classes = proba.shape
    steps = xp.rint(proba * STEPS)
    column = xp.argmax(proba, axis=1)
    group = column + n_classes * (steps[xp.arange(n), column] == STEPS)
    moments = np.zeros((1, 2 * n_classes, n_moments(n_classes)), dtype=np.int64)
    upper = np.triu_indices(n_classes)
    for k in range(2 * n_classes):
        own = steps[group == k]
        moments[0, k, 0] = len(own)
        # Whole numbers, whose sums stay below 2**53 and so are exact.
        if len(own) and moments.shape[2] > n_classes + 1:
            moments[0, k, 1:] = _to_host(xp, own.T @ own)[upper]
        elif len(own):
            moments[0, k, 1:] = _to_host(xp, own.sum(axis=0))
    return moments


def _to_host(xp: Any, array: Any) -> Any:
    return array if xp is np else xp.asnumpy(array)


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
