"""A metric of the final answers: the model's where it is kept, the team's where it is referred.

What a person will answer is not known beforehand, but how probable each answer is, and what it
would make of the probabilities. So a referred row counts as its answers do, each by its chance;
everything else that is known of metrics stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any, Self

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask, both_columns
from abstain._kernels.confusion import expected_confusion
from abstain.exceptions import ArgumentError, Way
from abstain.metrics import (
    BaseConfusionMetric,
    Candidate,
    ConfusionBatch,
    Decision,
    Metric,
    solve_joint,
)
from abstain.regions import Choice, score_threshold
from abstain.rules import Argmax, BestGain, DecisionRule
from abstain.summaries import BatchSummary, LabelledReplicates, Moves, RowSummary
from abstain.team._combined import posterior
from abstain.team._region import OpinionGain
from abstain.team._team import Team

# Numbers that are held at a time, and rows on which answers are drawn.
_MOST_NUMBERS = 2**22
_MOST_DRAWN = 20_000
_FEWEST_DRAWN = 2_000
# An opinion that is worth less, in errors, is worth nobody's time.
_LEAST_WORTH = 1e-6
# How often a misfit that is drawn once for all is drawn, and thresholds looked for again.
_REPEATS = 25
_ROUNDS = 3
_TANGENTS = 24
# What a metric of one's own says of itself, which is true of the team's as well.
_SAME = ("greater_is_better", "of_positive", "binary_only", "known", "summary")
_SAME_DRAWS = ("n_replicates", "value_range")


class TeamMetric(Metric):
    """A metric of the final answers of a team.

    Parameters
    ----------
    own : Metric
        The metric.
    team : Team
        Who is asked, and what becomes of the answer.
    """

    of_team = True

    def __init__(self, own: Metric, team: Team) -> None:
        self.own, self.team = own, team
        self.rule: DecisionRule = Argmax()
        self.ratios: FloatArray | None = None
        for name in (*_SAME, *_SAME_DRAWS):
            setattr(self, name, getattr(own, name))
        if team.answer == "replace" and own.ranks:
            raise ArgumentError(
                f'`team` "replace" takes an answer for the verdict, and {own.name!r} is of the '
                f'order of scores, which an answer has none of. Use team="combine", where the '
                f"posterior is the score.",
                "team",
                ways=[Way("team", "combine", 'team="combine"')],
            )

    @property
    def name(self) -> str:
        """The name of the metric."""
        return self.own.name

    @property
    def replaces(self) -> bool:
        """Whether an answer is the verdict."""
        return self.team.answer == "replace"

    @property
    def for_scores(self) -> Mapping[str, Any]:
        """What scores may be told of the readers."""
        if self.team.advantages is None:
            return {}
        ratios = np.ones(len(self.team.reviewer.base)) if self.ratios is None else self.ratios
        return {"advantages": self.team.advantages.tolist(), "ratios": ratios.tolist()}

    def at(self, ratios: FloatArray) -> Self:
        """Return the metric for probabilities that are adapted by these ratios."""
        return self._with(ratios=ratios)

    def for_choice(self, choice: Choice) -> Self:
        """Return the metric for a rule that predicts after an opinion as without one."""
        return self._with(rule=choice.rule)

    def _with(self, **changes: Any) -> Self:
        made = copy(self)
        for name, value in changes.items():
            setattr(made, name, value)
        return made

    # What the model does alone.

    def expected_on(self, summary: BatchSummary, prediction: IntArray | None) -> float:
        return self.own.expected_on(summary, prediction)

    def observed_on(
        self, codes: IntArray, rows: BatchSummary, prediction: IntArray | None
    ) -> float:
        return self.own.observed_on(codes, rows, prediction)

    def resampled(
        self, codes: IntArray, rows: RowSummary, prediction: IntArray, n_draws: int, seed: int
    ) -> tuple[float, FloatArray]:
        return self.own.resampled(codes, rows, prediction, n_draws, seed)

    def draws_on(
        self, summary: BatchSummary, prediction: IntArray | None, n_draws: int, seed: int
    ) -> FloatArray:
        return self.own.draws_on(summary, prediction, n_draws, seed)

    def resolved(self, decision: Decision) -> Decision:
        return self.own.resolved(decision)

    def rule_on(self, summary: BatchSummary, decision: Decision) -> DecisionRule:
        return self.own.rule_on(summary, decision)

    def check_n_classes(self, n_classes: int) -> None:
        """Raise if the metric is not for this number of classes."""
        self.own.check_n_classes(n_classes)

    # What comes out where rows are referred.

    def before_and_after(
        self, summary: BatchSummary, prediction: IntArray, withheld: Mask
    ) -> tuple[float, float]:
        before = self.own.expected_on(summary, prediction)
        if not withheld.any():
            return before, before
        if isinstance(self.own, BaseConfusionMetric):
            weight = np.empty(0) if summary.weight is None else summary.weight
            found = self.confusion(summary.proba, prediction, withheld, weight)
            return before, self.own.value(found)
        if self.own.ranks:
            return before, self.own.expected_on(self._by_answer(summary, withheld), None)
        rng = np.random.default_rng(0)
        codes = _fallen(summary.proba, rng)
        final, columns = self._answered(summary.proba, prediction, withheld, codes, rng)
        return before, self.own.expected_on(RowSummary(final, summary.weight), columns)

    def after_on(
        self, summary: BatchSummary, choice: Choice, prediction: IntArray, withheld: Mask
    ) -> float:
        """Return the expected value of the final answers."""
        return self.for_choice(choice).before_and_after(summary, prediction, withheld)[1]

    def point_on(self, summary: BatchSummary, choice: Choice) -> Any:
        """Return what a choice does to a summary."""
        made = self.for_choice(choice)
        return super(TeamMetric, made).point_on(summary, choice)

    def moved_draws(
        self, summary: BatchSummary, prediction: IntArray, withheld: Mask, moves: Moves, seed: int
    ) -> tuple[FloatArray, FloatArray]:
        nobody = np.zeros_like(withheld)
        before, _ = self.own.moved_draws(summary, prediction, nobody, moves, seed)
        if not withheld.any():
            return before, before
        rows, weight = _drawn_from(summary)
        some = RowSummary(np.ascontiguousarray(summary.proba[rows]), weight)
        columns, referred = prediction[rows], withheld[rows]
        source, after = some.adapted(moves.undoing), np.full(len(moves), np.nan)
        readers, rng = self.team.reviewer.drawn(len(moves), seed), np.random.default_rng([seed, 3])
        for k, move in enumerate(zip(moves.slope, moves.bias, moves.ratios, strict=True)):
            codes = _fallen(source.moved(*move).proba, rng)
            final, answers = self._answered(some.proba, columns, referred, codes, rng, readers[k])
            after[k] = self.own.observed_on(codes, RowSummary(final, weight), answers)
        return before, after

    def misfits(
        self, labelled: LabelledReplicates, prediction: IntArray, withheld: Mask, seed: int
    ) -> tuple[FloatArray, FloatArray]:
        before, _ = self.own.misfits(labelled, prediction, np.zeros_like(withheld), seed)
        if not withheld.any():
            return before, before
        if isinstance(self.own, BaseConfusionMetric):
            observed, expected = self._confusions(labelled, prediction, withheld)
            value = self.own.value
            pairs = zip(observed, expected, strict=True)
            return before, np.array([value(one) - value(other) for one, other in pairs])
        return before, self._drawn_misfits(labelled, prediction, withheld, seed)

    def _confusions(
        self, labelled: LabelledReplicates, prediction: IntArray, withheld: Mask
    ) -> tuple[FloatArray, FloatArray]:
        """Return observed and expected confusions of final answers to labelled rows."""
        n_classes = labelled.proba.shape[1]
        observed, expected = np.zeros((2, len(labelled.weight), n_classes, n_classes))
        final = self._after_answers(labelled, prediction, withheld)
        for part, fate in self._fates(labelled.proba, prediction, withheld):
            weight, codes = labelled.weight[:, part], labelled.codes[part]
            # How a reader answered goes before how one of this kind would.
            seen, known = fate[np.arange(len(codes)), codes], final[part] >= 0
            seen[known] = np.eye(n_classes)[final[part][known]]
            for i in range(n_classes):
                own = codes == i
                observed[:, i] += weight[:, own] @ seen[own]
                expected[:, i] += (weight * _of_class(labelled.believed, i)[:, part]) @ fate[:, i]
        return observed, expected

    def _after_answers(
        self, labelled: LabelledReplicates, prediction: IntArray, withheld: Mask
    ) -> IntArray:
        """Return the final answers to referred rows that a reader answered about, -1 elsewhere."""
        final = np.full(len(prediction), -1, dtype=np.intp)
        if labelled.answers is not None:
            rows = np.flatnonzero(withheld & (labelled.answers >= 0))
            known = self._told(labelled.proba[rows], labelled.answers[rows])
            final[rows] = known[1]
        return final

    def _told(self, proba: FloatArray, opinions: IntArray) -> tuple[FloatArray, IntArray]:
        """Return the posterior of rows after these opinions, and the final answers."""
        asked = np.ascontiguousarray(proba)
        known = self.team.reviewer.chances(asked, self.ratios)
        found = posterior(asked, known[np.arange(len(asked)), :, opinions], opinions)
        return found, opinions if self.replaces else self.rule.predict(found)

    def _drawn_misfits(
        self, labelled: LabelledReplicates, prediction: IntArray, withheld: Mask, seed: int
    ) -> FloatArray:
        """Return observed less expected value, by drawing rows, answers and labels believed."""
        rng, found = np.random.default_rng([seed, 4]), np.full(len(labelled.weight), np.nan)
        for k, weight in enumerate(labelled.weight):
            if weight.sum() <= 0:
                continue
            apart = []
            for _ in range(_REPEATS if k < labelled.still else 1):
                rows = rng.choice(len(weight), size=len(weight), p=weight / weight.sum())
                decided = labelled.proba[rows], prediction[rows], withheld[rows]
                said = None if labelled.answers is None else labelled.answers[rows]
                believed = both_columns(np.ascontiguousarray(labelled.believed[k, rows]))
                values = []
                for codes, known in ((labelled.codes[rows], said), (_fallen(believed, rng), None)):
                    final, columns = self._answered(*decided, codes, rng, said=known)
                    values.append(self.own.observed_on(codes, RowSummary(final), columns))
                apart.append(values[0] - values[1])
            found[k] = np.mean(apart)
        return found

    def _answered(
        self,
        proba: FloatArray,
        prediction: IntArray,
        referred: Mask,
        codes: IntArray,
        rng: np.random.Generator,
        reader: FloatArray | None = None,
        said: IntArray | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """Return final probabilities and answers, with opinions drawn for rows of these labels."""
        rows, reviewer = np.flatnonzero(referred), self.team.reviewer
        base = reviewer.base if reader is None else reader
        chance = base[codes[rows]] * reviewer.likely(proba[rows], self.ratios)
        opinions = _fallen(chance / chance.sum(axis=1, keepdims=True), rng)
        if said is not None:
            opinions = np.where(said[rows] >= 0, said[rows], opinions)
        final, columns = proba.copy(), prediction.copy()
        final[rows], columns[rows] = self._told(proba[rows], opinions)
        return final, columns

    def played(
        self, codes: IntArray, proba: FloatArray, prediction: IntArray, referred: Mask, seed: int
    ) -> tuple[FloatArray, IntArray]:
        """Return final probabilities and answers to rows of known labels, with opinions drawn."""
        rng = np.random.default_rng([seed, 5])
        return self._answered(proba, prediction, referred, codes, rng)

    def _fates(
        self, proba: FloatArray, prediction: IntArray, referred: Mask
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Give, block by block, the chance of each final answer for each class of a row."""
        n_classes = proba.shape[1]
        size = max(_MOST_NUMBERS // n_classes**2, 1)
        for begin in range(0, len(proba), size):
            part = slice(begin, begin + size)
            columns, fate = prediction[part], np.zeros((len(prediction[part]), *2 * [n_classes]))
            fate[np.arange(len(columns)), :, columns] = 1.0
            rows = np.flatnonzero(referred[part])
            if len(rows):
                posteriors, _, chances = self._answers(proba[part][rows])
                final = np.tile(np.arange(n_classes), len(rows))
                if not self.replaces:
                    final = self.rule.predict(posteriors.reshape(-1, n_classes))
                fate[rows] = chances @ np.eye(n_classes)[final].reshape(chances.shape)
            yield part, fate

    def _answers(self, proba: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the posterior after each answer, how probable it is, and it is for each class."""
        n, n_classes = proba.shape
        chances = self.team.reviewer.chances(proba, self.ratios)
        each = np.moveaxis(chances, 2, 1).reshape(-1, n_classes)
        whole = np.repeat(proba, n_classes, axis=0)
        found = posterior(whole, each, np.tile(np.arange(n_classes), n))
        shares = (whole * each).sum(axis=1).reshape(n, n_classes)
        return found.reshape(chances.shape), shares, chances

    def confusion(
        self, proba: FloatArray, prediction: IntArray, referred: Mask, weight: FloatArray
    ) -> FloatArray:
        """Return the expected confusion of the final answers."""
        found = expected_confusion(proba, prediction, weight, ~referred)
        asked, columns = proba[referred], prediction[referred]
        mass = asked if not weight.size else asked * weight[referred][:, None]
        for part, fate in self._fates(asked, columns, np.ones(len(asked), dtype=np.bool_)):
            found = found + np.einsum("xi,xif->if", mass[part], fate)
        return found

    def _by_answer(self, summary: BatchSummary, referred: Mask) -> BatchSummary:
        """Return a batch in which a referred row is each of its posteriors, by its chance."""
        posteriors, shares, _ = self._answers(np.ascontiguousarray(summary.proba[referred]))
        weight = np.ones(len(referred)) if summary.weight is None else summary.weight
        p = np.append(summary.proba[~referred, 1], posteriors[:, :, 1].ravel())
        each = (shares * weight[referred][:, None]).ravel()
        return self.own.summarised(p, np.append(weight[~referred], each))

    # Whom to refer.

    def region(self, worth: FloatArray, threshold: float = np.inf) -> OpinionGain:
        """Return the region of rows about which an opinion is worth enough, in errors."""
        reviewer, scale = self.team.reviewer, float(np.ptp(worth)) or 1.0
        ratios = np.ones(len(worth)) if self.ratios is None else self.ratios
        return OpinionGain(
            worth / scale, reviewer.base, reviewer.dependence_, ratios, self.replaces, threshold
        )

    def most_worth(
        self, worth: FloatArray, summary: BatchSummary, prediction: IntArray, capacity: float
    ) -> tuple[OpinionGain, Mask]:
        """Return the region of the rows that fit a capacity, and which these are."""
        region = self.region(worth)
        gain = region.score(summary.proba, prediction)
        threshold = max(score_threshold(gain, capacity, summary.weight), _LEAST_WORTH)
        return self.region(worth, threshold), gain >= threshold

    def choose_on(self, summary: BatchSummary, capacity: float, decision: Decision) -> Choice:
        if isinstance(self.own, BaseConfusionMetric):
            batch = _FinalBatch(self.own, summary.proba, capacity, summary.weight, self)
            found = solve_joint(batch, self.own.resolved(decision))
        else:
            found = self._best_of(summary, capacity, decision)
        nobody = Choice(self.region(np.eye(summary.proba.shape[1])), found.rule)
        return found if self._worth(summary, found) > self._worth(summary, nobody) else nobody

    def _worth(self, summary: BatchSummary, choice: Choice) -> float:
        value = self.after_on(summary, choice, *choice.apply(summary.proba))
        value = value if self.greater_is_better else -value
        return value if np.isfinite(value) else -np.inf

    def _best_of(self, summary: BatchSummary, capacity: float, decision: Decision) -> Choice:
        """Try what opinions may be worth: at thresholds, and along the whole order."""
        rule = self.own.rule_on(summary, decision)
        prediction, best = (
            rule.predict(summary.proba),
            (-np.inf, Choice(self.region(np.eye(2)), rule)),
        )
        waiting = _worths(summary, rule.threshold)
        for round_ in range(_ROUNDS):
            for worth in waiting:
                region, referred = self.most_worth(worth, summary, prediction, capacity)
                if not referred.any():
                    continue
                again = rule
                if self.own.ranks:
                    again = self.own.rule_on(self._by_answer(summary, referred), decision)
                choice = Choice(region, again)
                best = max(best, (self._worth(summary, choice), choice), key=lambda one: one[0])
            # At the threshold that the final answers have.
            level = best[1].rule.threshold
            if level is None or round_ == _ROUNDS - 1:
                break
            waiting = [_at_threshold(level)]
        return best[1]

    def choice_by_cost(self, errors: FloatArray, price: FloatArray) -> Choice | None:
        """Return the choice that asks where an opinion saves more than it costs."""
        if np.ptp(price):
            raise ArgumentError(
                "`abstain` of the cost must be one price of an opinion for a team, and not one "
                "for each class.",
                "cost",
            )
        rule, scale = BestGain(-errors).simplified(), float(np.ptp(errors)) or 1.0
        above = max(float(np.nextafter(price[0] / scale, np.inf)), _LEAST_WORTH)
        return Choice(self.region(-errors, above), rule)


class _FinalBatch(ConfusionBatch):
    """Rows to choose among by the confusion of the final answers."""

    def __init__(
        self,
        metric: BaseConfusionMetric,
        proba: FloatArray,
        capacity: float,
        weight: FloatArray | None,
        team: TeamMetric,
    ) -> None:
        super().__init__(metric, proba, capacity, weight)
        self.team = team

    def removal_gains(self, prediction: IntArray) -> FloatArray:
        everyone = np.ones(len(prediction), dtype=np.bool_)
        return -self.sign * self.metric.gradient(self.confusion(prediction, everyone))

    def candidate(self, rule: DecisionRule, prediction: IntArray, gains: FloatArray) -> Candidate:
        summary = RowSummary(self.proba, self.sample_weight)
        region, referred = self.team.most_worth(-gains, summary, prediction, self.capacity)
        final = self.team.for_choice(Choice(region, rule))
        confusion = final.confusion(self.proba, prediction, referred, self.weight)
        return Candidate(region, confusion, self.worth(confusion), rule, gains)


def _fallen(chances: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return a column of each row, drawn by its chances."""
    fallen: IntArray = (rng.random((len(chances), 1)) > chances[:, :-1].cumsum(axis=1)).sum(axis=1)
    return fallen


def _of_class(believed: FloatArray, i: int) -> FloatArray:
    """Return what is believed of a class, of probabilities that may be of the positive alone."""
    if believed.ndim == 3:
        return believed[..., i]
    return believed if i else 1 - believed


def _drawn_from(summary: BatchSummary) -> tuple[IntArray, FloatArray | None]:
    """Return rows that stand for a batch, once each where they can, and their weights."""
    n_classes, weight = summary.proba.shape[1], summary.weight
    most = int(np.clip(2 * _MOST_NUMBERS // n_classes**2, _FEWEST_DRAWN, _MOST_DRAWN))
    whole = summary.counted or (weight is not None and bool((weight % 1 == 0).all()))
    size = min(round(summary.total) if whole else len(summary.proba), most)
    if size == len(summary.proba) and (weight is None or not whole):
        return np.arange(size), weight
    reached = np.cumsum(np.ones(len(summary.proba)) if weight is None else weight)
    marks = (np.arange(size) + 0.5) * (reached[-1] / size)
    return np.searchsorted(reached, marks), None


def _at_threshold(level: float) -> FloatArray:
    """Return what predictions are worth that are best made from a probability on."""
    return np.array([[0.0, -level], [0.0, 1 - level]])


def _worths(summary: BatchSummary, level: float | None) -> list[FloatArray]:
    """Return what opinions may be worth: where a threshold is, for the order, and by class."""
    proba = summary.proba
    n_classes = proba.shape[1]
    found = [np.eye(n_classes), np.diag(1 / np.maximum(summary.class_sums, 1e-9))]
    if n_classes > 2:
        return found
    weight = np.ones(len(proba)) if summary.weight is None else summary.weight
    p, order = proba[:, 1], np.argsort(proba[:, 1])
    marks = (np.arange(_TANGENTS) + 0.5) / _TANGENTS
    shares = [np.cumsum((weight * side)[order]) for side in (1 - p, p)]
    shares = [one / max(one[-1], 1e-12) for one in shares]
    places = np.unique(np.searchsorted(sum(shares) / 2, marks))
    levels = p[order][places]
    # Lines that touch what a place in the order is worth, and what a squared error costs.
    found.append(np.array([1 - shares[1][places], shares[0][places]]))
    found.append(np.array([-(levels**2), 2 * levels - levels**2]))
    tried = [*levels[::4].tolist(), *([] if level is None else [level])]
    return [*found, *map(_at_threshold, tried)]
