"""What labels say that came back selectively: of rows that were referred, and of an audit.

Each row stands for as many as its probability of being labelled says (Horvitz and Thompson), and
what the probabilities lead to expect of all rows is corrected by the weighted residuals of the
labelled ones (doubly robust). Not in the paper, which never hears of its rows again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from abstain import _words as words
from abstain._inputs import FloatArray, IntArray, Mask, check_labels, known_codes, label_array
from abstain._numerics import gamma_draws
from abstain.audit import check_label_probability
from abstain.decisions import Decisions
from abstain.estimation import EstimatedValue
from abstain.evaluation._intervals import JudgedRows, interval_about, realised_interval
from abstain.evaluation._operating import SHARES_IN_WORDS, OperatingPoint
from abstain.exceptions import ArgumentError, AssumptionWarning, Way, warn_user
from abstain.metrics import CellShare, Metric
from abstain.monitoring import Seen, first_crossing
from abstain.summaries import LabelledReplicates, RowSummary, compact, fewer

_AUDIT = Way("audit", 0.02)
# Rows that stand for all of them where what is expected is drawn again.
_STANDING = 1_000
# How often a promise that is kept may be called broken, whenever and however often one looks.
_FALSE_ALARMS = 0.01


@dataclass(frozen=True)
class SelectedEstimate:
    """A metric of rows of which some have a label, each with a known probability.

    Attributes
    ----------
    inverse_probability : EstimatedValue
        Of the labelled rows, each counted for as many as it stands for.
    doubly_robust : EstimatedValue
        What the probabilities lead to expect of all rows, corrected by how far the labelled ones
        came out otherwise: right whether the model is or not, and surer where it is.
    expected : float
        What the probabilities alone lead to expect.
    """

    inverse_probability: EstimatedValue
    doubly_robust: EstimatedValue
    expected: float

    @property
    def cells(self) -> list[str]:
        """Both as people read them."""
        both = self.inverse_probability, self.doubly_robust
        return [words.estimate(one.value, one.interval) for one in both]


@dataclass(frozen=True)
class Promise:
    """What was estimated before there were labels, held against the labels of kept rows.

    Attributes
    ----------
    promised : EstimatedValue
        The share that was promised of the kept rows.
    found : float
        The share among the labelled ones, each counted for as many as it stands for.
    evidence : float
        How many times its stake a bet has won that the share lies outside its interval, in powers
        of ten. It may be looked at after every label.
    broken : bool
        Whether that is so much that it happens to one kept promise in a hundred at most.
    """

    promised: EstimatedValue
    found: float
    evidence: float
    broken: bool


@dataclass(frozen=True, eq=False)
class SelectedRows:
    """Which rows of a batch have a label, and how probably each was to get it.

    Attributes
    ----------
    codes : ndarray of shape (n,)
        The column of each label; -1 where there is none, or none that may be counted.
    probability : ndarray of shape (n,) or None
        None where all rows have a label.
    """

    codes: IntArray
    probability: FloatArray | None

    @classmethod
    def of(cls, decisions: Decisions, y_true: ArrayLike, selected: Any) -> SelectedRows:
        """Take what came back, and leave out what nobody had drawn; or labels of all rows."""
        n = len(decisions)
        if selected is None or selected is False:
            return cls(_all_codes(decisions, y_true), None)
        codes = known_codes(y_true, decisions.classes, n, name="y_true")
        if codes is None:
            raise ArgumentError("`y_true` has no label at all.", "y_true")
        own = selected is True
        drawn = decisions.label_probability if own else check_label_probability(selected, n)
        if drawn is None:
            raise ArgumentError(
                f"`selected` is True, and these decisions audit no kept row. Decide with an "
                f"audit ({_AUDIT}), or give the probability with which each row was labelled.",
                "selected",
                ways=[_AUDIT],
            )
        probability = drawn
        if own and decisions.audit is not None:
            codes, probability = _as_drawn(decisions, codes, drawn, decisions.audit)
        lost = np.flatnonzero((codes >= 0) & np.isnan(probability))
        if len(lost):
            raise ArgumentError(
                f"`selected` must say of every row that has a label how probably it was to get "
                f"one; {len(lost)} of {n} have none, first is row {lost[0]}.",
                "selected",
            )
        kept = np.isin(np.arange(n), decisions.scored_at) & ~decisions.abstain
        if kept.any() and not (codes[kept] >= 0).any():
            raise ArgumentError(
                f"`y_true` has no label of a kept row, so nothing can be said of them. Have a "
                f"share of these labelled too: decide with an audit ({_AUDIT}), and label the "
                f"rows of decisions.audit.",
                "y_true",
                ways=[_AUDIT],
            )
        return cls(codes, probability)

    @property
    def labelled(self) -> Mask:
        """Which rows have a label."""
        return self.codes >= 0

    @property
    def stands_for(self) -> FloatArray | None:
        """How many rows each stands for, none where it has no label; None for themselves."""
        if self.probability is None:
            return None
        some = np.where(self.labelled, self.probability, 1.0)
        return np.where(self.labelled, 1 / some, 0.0)


def _all_codes(decisions: Decisions, y_true: ArrayLike) -> IntArray:
    """Return the column of the label of every row."""
    labels, n = label_array(y_true, "y_true"), len(decisions)
    if decisions.rows is not None and len(labels) != n:
        raise ValueError(
            f"`y_true` must have one label per row that is left; {len(labels)} "
            f"labels, {n} rows, as others were dropped. Pass y_true[decisions.rows]."
        )
    return check_labels(labels, classes=decisions.classes, n_rows=n, name="y_true")


def _as_drawn(
    decisions: Decisions, codes: IntArray, probability: FloatArray, audit: Mask
) -> tuple[IntArray, FloatArray]:
    """Return the labels of rows that were referred or drawn; what did not come was lost by chance.

    A kept row that nobody drew got its label for a reason, so it stands for nothing but itself.
    """
    asked = decisions.abstain | audit
    unasked = ~asked & (codes >= 0)
    if decisions.known is not None:
        unasked &= ~decisions.known
    codes, probability = np.where(unasked, -1, codes), probability.copy()
    said = []
    for what, rows in (("audited", audit), ("referred", decisions.abstain)):
        back, due = int((codes[rows] >= 0).sum()), int(rows.sum())
        if due and back < due:
            said.append(f"{due - back:,} of {due:,} {what} rows have no label")
            probability[rows] *= back / due
    if unasked.any():
        said.append(f"{int(unasked.sum()):,} kept rows that nobody drew have one, left out")
    if said:
        warn_user(
            f"{'; '.join(said)}. What is missing is taken to be so by chance: where it is not, "
            f"the figures are wrong by as much.",
            AssumptionWarning,
        )
    return codes, probability


@dataclass(frozen=True, eq=False)
class SelectiveJudge:
    """Estimates metrics of a batch from the rows of it that have a label.

    Attributes
    ----------
    decisions : Decisions
    rows : SelectedRows
    level : float
        How often the intervals are to hold.
    """

    decisions: Decisions
    rows: SelectedRows
    level: float

    def estimates(self, metric: Metric) -> dict[str, SelectedEstimate]:
        """Return the metric of all rows, of the kept and, where all referred came back, of a team.

        In the team a referred row has the answer that its label is.
        """
        decided, at = self.decisions, self.decisions.scored_at
        out, columns, proba = decided.abstain[at], decided.columns[at], decided.proba[at]
        codes = self.rows.codes[at]
        nobody = np.zeros(len(at), dtype=bool)
        found = {"all": self._estimate(metric, proba, columns, nobody)}
        if not out.all():
            found["kept"] = self._estimate(metric, proba, columns, out)
        if out.any() and (codes[out] >= 0).all():
            sure, answered = proba.copy(), np.where(out, codes, columns)
            sure[out] = np.eye(proba.shape[1])[codes[out]]
            found["team"] = self._estimate(metric, sure, answered, nobody)
        return found

    def promises(self, point: OperatingPoint | None) -> dict[str, Promise]:
        """Hold what labels say of the rule's own predictions against what was promised of them."""
        if point is None:
            return {}
        at = self.decisions.scored_at
        told = ~self.decisions.abstain[at] & (self.rows.codes[at] >= 0)
        weight = self._weights()[told]
        codes, columns = self.rows.codes[at][told], self.decisions.columns[at][told]
        found = {}
        for name, share in point.shares.items():
            hits, among = CellShare(name).rows(codes, columns)
            promised, some = share.after, weight[among]
            if not some.any() or not np.isfinite(promised.interval).all():
                continue
            x = hits[among].astype(np.float64)
            # Where rows stand for more or less, weights of at most 1 keep the bet a fair one.
            w = some / some.max()
            sums = np.array([w.sum(), w @ x, w @ x, *promised.interval])
            seen = Seen(sums[None, None, :], np.array([[0.0, 1.0]]))
            won = first_crossing(seen, np.ones(1), -np.inf, 0)
            evidence = 0.0 if won is None else float(won.log_evidence)
            # The promises are looked at together.
            broken = bool(evidence >= log(len(point.shares) / _FALSE_ALARMS))
            found[name] = Promise(
                promised, float(np.average(x, weights=w)), evidence / log(10), broken
            )
        return found

    def _weights(self) -> FloatArray:
        weight = self.decisions.scored.sample_weight
        return self._stands_for if weight is None else self._stands_for * weight

    @property
    def _stands_for(self) -> FloatArray:
        return np.asarray(self.rows.stands_for)[self.decisions.scored_at]

    def _estimate(
        self, metric: Metric, proba: FloatArray, columns: IntArray, out: Mask
    ) -> SelectedEstimate:
        """Estimate the metric of the rows that are not out."""
        at, weight = self.decisions.scored_at, self.decisions.scored.sample_weight
        kept, seed = np.flatnonzero(~out), self.decisions.seed
        told = kept[self.rows.codes[at][kept] >= 0]
        judged = JudgedRows(
            self.rows.codes[at][told],
            proba[told],
            columns[told],
            None if weight is None else weight[told],
            self._stands_for[told],
        )
        heavy = None if weight is None else weight[kept]
        everyone = RowSummary(np.ascontiguousarray(proba[kept]), heavy)
        expected = float(metric.expected_on(everyone, columns[kept]))
        value = judged.value(metric)
        ends = realised_interval(metric, value, judged, level=self.level, seed=seed)
        return SelectedEstimate(
            EstimatedValue(value, ends, self.level),
            self._corrected(
                metric, judged, expected, _drawn_again(metric, everyone, columns[kept], seed)
            ),
            expected,
        )

    def _corrected(
        self, metric: Metric, judged: JudgedRows, expected: float, noise: FloatArray
    ) -> EstimatedValue:
        """Return what is expected of all rows, corrected by the residuals of the labelled."""
        (misfit,) = _misfits(metric, judged, judged.drawn_weights(0, 0), self.decisions.seed)
        value = float(np.clip(expected + misfit, *metric.value_range))
        more = judged.with_surprises()
        weights = more.drawn_weights(metric.n_replicates, self.decisions.seed)
        centre, *draws = _misfits(metric, more, weights, self.decisions.seed)
        found = expected + noise + np.array(draws)
        ends = interval_about(metric, value, expected + centre, found, level=self.level)
        return EstimatedValue(value, ends, self.level)


def _misfits(metric: Metric, judged: JudgedRows, weights: FloatArray, seed: int) -> FloatArray:
    """Return observed less expected value of the labelled rows, under each of some weights."""
    believed = np.broadcast_to(compact(judged.proba), (len(weights), *compact(judged.proba).shape))
    rows = LabelledReplicates(judged.proba, judged.codes, weights, believed)
    nobody = np.zeros(len(judged.codes), dtype=bool)
    return metric.misfits(rows, judged.prediction, nobody, seed)[0]


def _drawn_again(metric: Metric, rows: RowSummary, columns: IntArray, seed: int) -> FloatArray:
    """Return by how much what is expected moves with the rows, which are a sample themselves."""
    few, count = fewer(rows.proba, rows.weight, _STANDING)
    step = max(-(-len(columns) // _STANDING), 1)
    part = columns[(step - 1) // 2 :: step] if len(few) < len(columns) else columns
    drawn = gamma_draws(count, metric.n_replicates, np.random.default_rng([seed, 1]))
    still, *values = (
        metric.expected_on(RowSummary(few, weight), part) for weight in np.vstack([count, drawn])
    )
    return np.array(values) - still


def selected_tables(
    selected: dict[str, dict[str, SelectedEstimate]], promises: dict[str, Promise]
) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield what labels say that came back selectively, and whether it breaks a promise."""
    if selected:
        heads = ["", "of", "expected", "inverse probability", "doubly robust"]
        rows = [
            [name, of, words.number(one.expected), *one.cells]
            for name, parts in selected.items()
            for of, one in parts.items()
        ]
        yield "From labels that came back selectively", [heads, *rows]
    if promises:
        called, said = SHARES_IN_WORDS, {True: "BROKEN: make the rule anew", False: "not broken"}
        rows = [
            [called.get(name, name), str(one.promised), words.number(one.found), said[one.broken]]
            for name, one in promises.items()
        ]
        yield "What was promised of the kept", [["", "promised", "found", ""], *rows]
