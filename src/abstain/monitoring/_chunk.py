"""A chunk of a stream: what is kept of it, which is all that a monitor remembers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from abstain._inputs import (
    FloatArray,
    IntArray,
    both_columns,
    check_labels,
    check_same_length,
    check_sample_weight,
    read_scores,
)
from abstain._kernels.proportions import adapted
from abstain._numerics import nan_if_none, plain
from abstain.deciding import Batch, Given, ShiftEvidence, estimate_shift
from abstain.estimation import Estimate, drawn_choice
from abstain.exceptions import AbstainError
from abstain.monitoring._times import named
from abstain.monitoring._watched import Watched, one_value
from abstain.policy import Policy
from abstain.shift import World, ratio_of_priors
from abstain.summaries import Summary

_DIGITS = 7


@dataclass(frozen=True)
class Realised:
    """What labels say of a chunk, once there are any.

    Attributes
    ----------
    rows : int
        How many labels there are.
    before, after : float
        The metric on them, and on those of them that the rule keeps; NaN where not defined.
    order : int
        When the first of them came, among all chunks.
    """

    rows: int
    before: float
    after: float
    order: int


@dataclass(frozen=True, eq=False)
class Chunk:
    """What is known of a chunk.

    Attributes
    ----------
    name : str
        What it is called: its period, or what it was called when it was added.
    start, end : float or None
        When it begins and ends, in seconds since 1970 in UTC; None where that is not known.
    rows, missing : int
        How many rows have a score, and how many came without one.
    referred : float
        How many rows the rule gives to a person, those without a score among them.
    estimate : Estimate
        The metric before and after abstaining, estimated without labels.
    priors : ndarray of shape (n_classes,), or None
        Class proportions; None where the rows cannot tell.
    interval : ndarray of shape (n_classes, 2), or None
    worlds : dict of str to float, or None
        How probable it is that nothing moved, that class proportions did, the scores, or both.
    realised : Realised or None
        What labels say.
    sums : dict of str to ndarray
        What the alarms are made of.
    """

    name: str
    start: float | None
    end: float | None
    rows: int
    missing: int
    referred: float
    estimate: Estimate
    priors: FloatArray | None = None
    interval: FloatArray | None = None
    worlds: Mapping[World, float] | None = None
    realised: Realised | None = None
    sums: dict[str, FloatArray] = field(default_factory=dict)

    @property
    def referral_rate(self) -> float:
        """The share of the rows that goes to a person; NaN without rows."""
        n = self.rows + self.missing
        return self.referred / n if n else float("nan")

    def __repr__(self) -> str:
        return f"<Chunk {self.name}: {self.rows:,} rows, {self.estimate}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the chunk as plain data."""
        realised = self.realised
        return {
            "name": self.name,
            "start": self.start,
            "end": self.end,
            "from": None if self.start is None else named(self.start),
            "to": None if self.end is None else named(self.end),
            "rows": self.rows,
            "missing": self.missing,
            "referred": self.referred,
            "referral_rate": plain(self.referral_rate),
            "estimate": self.estimate.to_dict(),
            "priors": plain(self.priors, digits=_DIGITS),
            "interval": plain(self.interval, digits=_DIGITS),
            "worlds": plain(self.worlds, digits=_DIGITS),
            "realised": None if realised is None else plain(vars(realised)),
            "sums": plain(self.sums),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the chunk that ``to_dict`` described."""
        told, found = data["realised"], dict(data)
        for name in ("from", "to", "referral_rate"):
            found.pop(name, None)
        for name in ("priors", "interval"):
            found[name] = None if data[name] is None else np.array(data[name], dtype=np.float64)
        if told is not None:
            values = {side: nan_if_none(told[side]) for side in ("before", "after")}
            found["realised"] = Realised(**{**told, **values})
        found["estimate"] = Estimate.from_dict(data["estimate"])
        found["sums"] = {
            kind: np.array(sums, dtype=np.float64) for kind, sums in data["sums"].items()
        }
        return cls(**found)


@dataclass(frozen=True, eq=False)
class Looking:
    """What a chunk is looked at with.

    Attributes
    ----------
    policy : Policy
    given : Given
        What the rule was made from.
    watched : Watched
    capacity : float, int or None
        The share of the rows that people can look at, or their number in each chunk.
    floor : float or None
        What the metric is to reach.
    """

    policy: Policy
    given: Given
    watched: Watched
    capacity: float | None
    floor: float | None

    def chunk(
        self, summary: Summary | None, name: str, start: float | None, end: float | None
    ) -> Chunk:
        """Return what is to be known of the rows of a summary, of which there may be none."""
        undefined = Estimate.undefined(self.policy.level)
        if summary is None or not summary.n_rows:
            missing = 0 if summary is None else summary.n_missing
            sums = {} if not missing else {"referrals": self._referrals(missing, float(missing))}
            return Chunk(name, start, end, 0, missing, float(missing), undefined, sums=sums)
        metric, choice = self.policy.metric, self.policy.choice
        batch = Batch.of_summary(summary, metric)
        try:
            found: ShiftEvidence | None = estimate_shift(
                self.given, batch.summary, used=self.policy.ratios
            )
        except AbstainError:
            # Rows that cannot tell their proportions are taken to have those of the rule.
            found = None
        now = batch.chosen_from.adapted(self.policy.ratios)
        withheld = choice.withheld(now.proba)
        weight = np.ones(len(withheld)) if now.weight is None else now.weight
        share = float(weight[withheld].sum() / weight.sum())
        estimate = undefined
        if now.total > 0:
            replicates = () if found is None else found.replicates
            estimate = drawn_choice(metric, now, choice, replicates=replicates).estimate(
                self.policy.level
            )
        shares = None if found is None else found.proportions(self.policy.level)
        priors = self.policy.priors if shares is None else shares.values
        referred = share * summary.n_rows + summary.n_missing
        sums = self.watched.sums(batch.summary, priors)
        sums["referrals"] = self._referrals(summary.n_rows + summary.n_missing, referred)
        sums["metric"] = self._below_floor(estimate, summary.n_rows)
        worlds = None if found is None else found.assumption.worlds
        return Chunk(
            name, start, end, summary.n_rows, summary.n_missing, referred, estimate,
            None if shares is None else shares.values,
            None if shares is None else shares.interval,
            worlds,
            sums={kind: values for kind, values in sums.items() if len(values)},
        )  # fmt: skip

    def _referrals(self, n: int, referred: float) -> FloatArray:
        if self.capacity is None:
            return np.empty((0, 5))
        share = self.capacity / n if isinstance(self.capacity, int) else self.capacity
        return one_value(n, referred, 0.0, min(share, 1.0))

    def _below_floor(self, estimate: Estimate, n: int) -> FloatArray:
        """Return by how many standard deviations the metric is below its floor, for sure.

        What validation rows leave open is the same in every chunk, so it widens the quiet range;
        what the rows of the chunk do is new each time.
        """
        after = estimate.after
        spread = (after.interval[1] - after.interval[0]) / (2 * _in_deviations(after.level))
        if self.floor is None or not np.isfinite(spread + after.value):
            return np.empty((0, 5))
        sign = 1.0 if self.policy.metric.greater_is_better else -1.0
        of_chunk = self.watched.n_labelled / (self.watched.n_labelled + n)
        spread = max(spread, np.finfo(np.float64).tiny)
        below = sign * (self.floor - after.value) / spread
        surprise = self.watched.surprise * np.sqrt(1 - of_chunk)
        return one_value(1.0, float((below - surprise) / np.sqrt(of_chunk)), 0.0, 0.0)

    def labelled_rows(
        self, scores: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> LabelledRows:
        """Return rows at hand whose labels are known."""
        policy = self.policy
        proba = policy.calibrator.compact(
            read_scores(scores, policy.order, scale=policy.calibrator.scale).values
        )
        check_same_length(scores=proba, y=y)
        codes = check_labels(y, classes=policy.classes, name="y")
        weight = check_sample_weight(sample_weight, n_rows=len(codes))
        return LabelledRows(proba, codes, weight, np.ones(len(codes)), len(codes))

    def labelled_summaries(self, labels: Mapping[int, Summary]) -> LabelledRows:
        """Return what stands for rows elsewhere, whose labels are known."""
        parts = []
        for column, summary in labels.items():
            rows, weight = Batch.of_summary(summary, self.policy.metric).summary.one_by_one
            weight = np.ones(len(rows)) if weight is None else weight
            # Weights that make more rows than there are make no more evidence.
            count = weight * min(1.0, summary.n_rows / weight.sum())
            parts.append((rows, np.full(len(rows), column), weight, count))
        proba, codes, weight, count = map(np.concatenate, zip(*parts, strict=True))
        return LabelledRows(
            proba, codes, weight, count, sum(one.n_rows for one in labels.values())
        )

    def labelled(self, chunk: Chunk, rows: LabelledRows, order: int) -> Chunk:
        """Return a chunk with what labels of some of its rows say, in place of others before."""
        policy, codes, weight = self.policy, rows.codes, rows.weight
        decided = policy.outcome(adapted(rows.proba, policy.ratios))
        values = {}
        for side, own in (
            ("before", np.ones(len(codes), dtype=bool)),
            ("after", ~decided.abstain),
        ):
            heavy = None if weight is None else weight[own]
            values[side] = float("nan")
            if own.any() and (heavy is None or heavy.any()):
                values[side] = policy.metric.observed(
                    codes[own],
                    decided.proba[own],
                    prediction=decided.columns[own],
                    sample_weight=heavy,
                )
        priors = policy.priors if chunk.priors is None else chunk.priors
        believed = both_columns(adapted(rows.proba, ratio_of_priors(priors, policy.source_priors)))
        before = policy.source_priors
        uncertain = np.sqrt(before * (1 - before) / rows.n)
        if chunk.interval is not None:
            wide = np.ptp(chunk.interval, axis=1)
            uncertain = wide / (2 * _in_deviations(policy.level))
        found = self.watched.label_sums(believed, codes, uncertain, rows.count)
        sums = chunk.sums | {"labels": found}
        if chunk.realised is not None:
            order = chunk.realised.order
        return replace(chunk, realised=Realised(rows.n, order=order, **values), sums=sums)


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows whose labels are known, or what stands for them.

    Attributes
    ----------
    proba : ndarray of shape (n,) or (n, n_classes)
        Calibrated and not adapted.
    codes : ndarray of int, shape (n,)
        The column of each label.
    weight : ndarray of shape (n,) or None
        How much each counts in the metric.
    count : ndarray of shape (n,)
        How many rows each stands for, as evidence.
    n : int
        How many rows that is.
    """

    proba: FloatArray
    codes: IntArray
    weight: FloatArray | None
    count: FloatArray
    n: int


def _in_deviations(level: float) -> float:
    """Return how many standard deviations an interval that holds so often reaches."""
    return float(ndtri((1 + level) / 2))
