"""Decisions against the truth: realised metrics, per group, and what had been estimated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import starmap
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from abstain import _words as words
from abstain import metrics as metric_registry
from abstain._display import block, next_steps, sentence, table
from abstain._inputs import (
    ClassOrder,
    Mask,
    check_level,
    check_sample_weight,
    group_names,
    to_native_frame,
)
from abstain._numerics import aligned, plain, progress
from abstain.decisions import Decisions, check_decisions
from abstain.estimation import LEVEL, EstimatedValue
from abstain.evaluation._groups import (
    group_rows,
    grouping,
    label_of,
    label_text,
    sparse_parts,
)
from abstain.evaluation._intervals import JudgedRows, realised_interval
from abstain.evaluation._operating import (
    SHARES_IN_WORDS,
    OperatingPoint,
    count_in_words,
    operating_point,
)
from abstain.evaluation._risk_coverage import RiskCoverage, risk_coverage
from abstain.evaluation._selected import (
    Promise,
    SelectedEstimate,
    SelectedRows,
    SelectiveJudge,
    selected_tables,
)
from abstain.evaluation._team import TeamResult, team_results
from abstain.metrics import SHARES, CellShare, Metric
from abstain.team import opinions_by_name

_AGAINST = ("on all", "on the kept", "as estimated of the kept")
_NOT_DEFINED = (float("nan"), float("nan"))


@dataclass(frozen=True)
class Realised:
    """A metric on some rows, from their labels.

    Attributes
    ----------
    n : int
        How many rows there are.
    abstention_rate : float
        The (weighted) share of them that is withheld; NaN where all of them weigh nothing.
    all, kept, withheld : float
        The metric on all of them, on the kept and on the withheld; NaN where not defined. Rows
        without a score, and rows whose label was known, are no part of these: nothing was
        predicted for them.
    all_interval, kept_interval, withheld_interval : tuple of float
        Where the metric of all rows of this kind lies: these are a sample of them.
    level : float
        How often the intervals are meant to hold.
    """

    n: int
    abstention_rate: float
    all: float
    kept: float
    withheld: float
    all_interval: tuple[float, float] = _NOT_DEFINED
    kept_interval: tuple[float, float] = _NOT_DEFINED
    withheld_interval: tuple[float, float] = _NOT_DEFINED
    level: float = LEVEL

    @property
    def parts(self) -> list[tuple[float, tuple[float, float]]]:
        """The values of all, of the kept and of the withheld rows, each with its interval."""
        values, ends = (
            (self.all, self.kept, self.withheld),
            (self.all_interval, self.kept_interval),
        )
        return [*zip(values, (*ends, self.withheld_interval), strict=True)]


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """How decisions turned out.

    Attributes
    ----------
    metric : str
        The metric the decisions were made for.
    realised : dict of str to Realised
        Each metric's realised values, the decisions' own first.
    groups : dict of label to dict of str to Realised
        The same within each group; of several ways to group, the keys are pairs of the name of
        the grouping and the label.
    estimated_before, estimated_after : EstimatedValue
        What had been estimated without labels for all rows and for the kept ones.
    risk_coverage : RiskCoverage
        The curve of wrong predictions, withheld in the decisions' own order.
    small : tuple of str
        What there are too few rows of to say much about.
    positive : label or None
        The positive class of two.
    at_threshold : dict of str to Realised
        Of two classes with a positive one: sensitivity, specificity, positive and negative
        predictive value (``ppv``, ``npv``) and the number of missed positives (``missed``), of
        the predictions as they were made. A metric such as specificity at a sensitivity is taken
        at the best threshold of the evaluated rows, which no rule could have known.
    estimated_at_threshold : OperatingPoint or None
        What had been estimated of these without labels.
    selected : dict of str to dict of str to SelectedEstimate
        Of labels that came back selectively: each metric of ``all`` rows, of the ``kept`` and,
        where every referred row has a label, of the ``team``, in which that is its answer. Each
        has ``inverse_probability`` and ``doubly_robust``, both with an interval.
    promises : dict of str to Promise
        Of these, sensitivity and the other shares of the kept rows at the rule's own threshold
        held against what was estimated before: ``evidence`` that may be looked at after every
        label, and whether the promise is ``broken``.
    team : dict of str to TeamResult, or None
        Of decisions with opinions, each metric of the model alone, the reader alone and the team,
        and what referral was worth. Where they were made for a team ``estimated_after`` is of the
        final answers, and held against these. None of decisions without either.
    of_team : bool
        Whether they were made for a team.
    """

    metric: str
    realised: dict[str, Realised]
    groups: dict[Any, dict[str, Realised]]
    estimated_before: EstimatedValue
    estimated_after: EstimatedValue
    risk_coverage: RiskCoverage
    small: tuple[str, ...] = ()
    positive: Any = None
    at_threshold: dict[str, Realised] = field(default_factory=dict)
    estimated_at_threshold: OperatingPoint | None = None
    selected: dict[str, dict[str, SelectedEstimate]] = field(default_factory=dict)
    promises: dict[str, Promise] = field(default_factory=dict)
    team: dict[str, TeamResult] | None = None
    of_team: bool = False

    @property
    def inside_before(self) -> bool | None:
        """Whether the realised value of all rows lies in its interval; None if not defined.

        From labels that came back selectively: whether it may, by an interval of its own.
        """
        return _inside(self.estimated_before, *self._found("all"))

    @property
    def inside_after(self) -> bool | None:
        """Whether the realised value of the kept lies in its interval; None if not defined."""
        value, ends = self._after
        return _inside(self.estimated_after, value, ends)

    @property
    def _after(self) -> tuple[float, tuple[float, float]]:
        """Return what came true of what was estimated: of the kept, or of the final answers."""
        if self.team is None or not self.of_team:
            return self._found("kept")
        own = self.team.get(self.metric)
        value = float("nan") if own is None else own.team.value
        return value, (value, value)

    def _found(self, rows: str) -> tuple[float, tuple[float, float]]:
        """Return what was realised, and what it may have been of rows that have no label."""
        own = self.realised[self.metric]
        value = getattr(own, rows)
        return value, getattr(own, f"{rows}_interval") if self.selected else (value, value)

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as plain data; what is not defined is None."""
        own = self.realised[self.metric]
        curve = self.risk_coverage
        facts: dict[str, Any] = {
            "metric": self.metric,
            "positive": self.positive,
            "level": own.level,
            "realised": {name: asdict(found) for name, found in self.realised.items()},
            "groups": self._groups_to_dict(),
            "small": list(self.small),
            "at_threshold": {name: asdict(found) for name, found in self.at_threshold.items()},
            "estimated_at_threshold": self.estimated_at_threshold
            and self.estimated_at_threshold.to_dict(),
            "estimated": {
                "before": _estimate(self.estimated_before, own.all, self.inside_before),
                "after": _estimate(self.estimated_after, self._after[0], self.inside_after),
            },
            "selected": {
                name: {of: asdict(one) for of, one in parts.items()}
                for name, parts in self.selected.items()
            },
            "promises": {name: asdict(one) for name, one in self.promises.items()},
            "team": self.team and {name: asdict(one) for name, one in self.team.items()},
            "aurc": curve.aurc,
            "augrc": curve.augrc,
            "excess_aurc": curve.excess_aurc,
        }
        return plain(facts)  # type: ignore[no-any-return]

    def _groups_to_dict(self) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for (label, by_metric), named in zip(self.groups.items(), self._named(), strict=True):
            values = {name: asdict(one) for name, one in by_metric.items()}
            if grouping(label):
                found.setdefault(grouping(label), {})[named] = values
            else:
                found[named] = values
        return found

    def _named(self) -> list[str]:
        """Return the name of each group, different within a grouping."""
        by_grouping: dict[str, list[Any]] = {}
        for label in self.groups:
            by_grouping.setdefault(grouping(label), []).append(label_of(label))
        names = {name: iter(group_names(labels)) for name, labels in by_grouping.items()}
        return [next(names[grouping(label)]) for label in self.groups]

    def to_frame(self) -> Any:
        """Return one row per metric and group, those of all rows first.

        Columns ``metric``, ``grouping`` (where there are several), ``group`` (as text, empty for
        all rows), ``n``, ``abstention_rate``, ``all``,
        ``kept``, ``withheld``, and the ends of their intervals where there are any, such as
        ``kept_low`` and ``kept_high``. A frame of pandas, Polars or PyArrow, the first of them
        that is installed.
        """
        rows = [
            {"metric": name, "grouping": _written(grouping(label)), "group": _written(named)}
            | _flat(asdict(found))
            for named, (label, by_metric) in zip(
                ["", *self._named()], [("", self.realised), *self.groups.items()], strict=True
            )
            for name, found in by_metric.items()
        ]
        columns = {key: [row[key] for row in rows] for key in rows[0]}
        return to_native_frame(columns, like=None, carried=())

    def _repr_html_(self) -> str:
        parts = [
            sentence(title) * bool(title) + table(rows[0], rows[1:])
            for title, rows in self._tables()
        ]
        return block(
            "Evaluation",
            f"of decisions for {self.metric}, against labels{self._of_positive}",
            *parts,
            sentence(self._areas(), soft=True),
            next_steps(".to_frame()", "print(evaluation.to_text())"),
        )

    def _areas(self) -> str:
        curve = self.risk_coverage
        return (
            f"risk and coverage: AURC {curve.aurc:.4f}, AUGRC {curve.augrc:.4f}, "
            f"excess-AURC {curve.excess_aurc:.4f}"
        )

    def _tables(self) -> Iterator[tuple[str, list[list[str]]]]:
        """Yield what there is to say: what is above a table, and its rows with their head."""
        own, numbers = self.realised[self.metric], ["rows", "withheld"]
        heads = [f"on all ({words.percent(own.level)} interval)", "on the kept", "on the withheld"]
        main = [_cells(name, found) for name, found in self.realised.items()]
        yield "", [["", *numbers, *heads], *main]
        if self.at_threshold:
            said = f" ({self.metric} above is at the best threshold of these rows)"
            title = "At the rule's own threshold" + (said if "@" in self.metric else "")
            yield title, [["", *_AGAINST], *self._threshold_rows()]
        for name in dict.fromkeys(grouping(label) for label in self.groups):
            several = ["metric"] if len(self.realised) > 1 else []
            rows = [
                [label_text(label), *([metric] if several else []), *_cells("", found)[1:]]
                for label, by_metric in self.groups.items()
                if grouping(label) == name
                for metric, found in by_metric.items()
            ]
            yield "", [[f"by {name}" if name else "by group", *several, *numbers, *heads], *rows]
        yield from selected_tables(self.selected, self.promises)
        if self.team:
            heads = ["", "rows", "referred", "model alone", "reader alone", "team", "worth"]
            yield "The final answers", [heads, *starmap(_team_row, self.team.items())]
        rows = [["", "estimated", ""]]
        insides = self.inside_before, self.inside_after
        both = (self.estimated_before, own.all), (self.estimated_after, self._after[0])
        names = "all", "team" if self.of_team else "kept"
        for name, (guess, true), inside in zip(names, both, insides, strict=True):
            said = "" if inside is None else ", inside" if inside else ", outside"
            rows.append([name, str(guess), f"realised {words.number(true)}{said}"])
        yield f"{self.metric}, estimated without labels against realised", rows

    def _threshold_rows(self) -> list[list[str]]:
        """Return what the rule's own predictions were worth, and what had been estimated."""
        rows, said = [], self.estimated_at_threshold
        for name, found in self.at_threshold.items():
            after = EstimatedValue.undefined(found.level)
            if said is not None:
                after = (said.missed if name == "missed" else said.shares[name]).after
            write = count_in_words if name == "missed" else words.estimate
            cells = starmap(write, [*found.parts[:2], (after.value, after.interval)])
            rows.append([SHARES_IN_WORDS.get(name, name), *cells])
        return rows

    @property
    def _of_positive(self) -> str:
        return "" if self.positive is None else f", positive class {self.positive}"

    def __repr__(self) -> str:
        own = self.realised[self.metric]
        return (
            f"<Evaluation: {self.metric} {words.number(own.kept)} on the kept rows, "
            f"{words.number(own.all)} on all {own.n:,}; {len(self.groups)} "
            f"groups{self._of_positive}>"
        )

    def to_text(self) -> str:
        """Return the evaluation as tables for people."""
        parts = [] if self.positive is None else [f"Positive class: {self.positive}"]
        for title, rows in self._tables():
            right = {k for k, head in enumerate(rows[0]) if head in ("rows", "withheld")}
            lines = aligned(rows, right=right)
            parts.append("\n".join([title, *(f"  {line}" for line in lines)] if title else lines))
        return "\n\n".join([*parts, self._areas()])


def evaluate(
    decisions: Decisions,
    y_true: ArrayLike,
    *,
    groups: Any = None,
    metrics: Metric | str | Sequence[Metric | str] = (),
    level: float | None = None,
    selected: bool | ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    opinions: ArrayLike | Mapping[str, ArrayLike] | None = None,
) -> Evaluation:
    """Compare decisions with the truth.

    Parameters
    ----------
    decisions : Decisions
        What was decided.
    y_true : array-like of shape (n,)
        True labels of the same rows.
    groups : array-like of shape (n,), or mapping of str to these, or frame, optional
        Which group each row belongs to, such as a hospital or a sex; at most 5,000 of them.
        Abstaining can help some groups and harm others, which the whole does not show. Several,
        as a mapping or the columns of a frame, are each taken by themselves. Rows without a group
        (None, NaN, NA, masked) are the group "(missing)". Of a group that weighs nothing no
        metric is defined.
    metrics : Metric or str, or a sequence of them
        More metrics to compute beside the one the decisions were made for.
    level : float, optional
        How often the intervals are to hold; as those of the decisions when not given.
    selected : True or array-like of shape (n,), optional
        Where labels came back of some rows alone, and ``y_true`` is empty elsewhere: how probably
        each row was to be labelled. True takes that from decisions with an audit, counts the rows
        alone that were referred or drawn, and takes what is still missing to be so by chance.
        Every figure then counts a labelled row for as many as it stands for.
    sample_weight : array-like of shape (n,), optional
        How much each row counts in what is realised; what it did in the decisions if not given.
    opinions : array-like of shape (n,), or mapping of str to these, optional
        What was answered about the rows, or by each of several readers; None, NaN, NA or empty
        text where nothing. Then model, reader and team are compared, on the rows that have a
        final answer.

    Returns
    -------
    Evaluation

    Raises
    ------
    ValueError
        If no kept row has a label, so that nothing can be said of them.

    Warns
    -----
    AssumptionWarning
        If there are fewer than 30 rows, or fewer than 5 of a class, at all or in a group; it
        says where.

    Notes
    -----
    The rows are a sample of those that the rule is for, and another sample would give other
    values; the intervals say how far. They come from a Bayesian bootstrap of the rows: each gets
    a random weight of mean 1. So that a class which happened never to be mistaken does not come
    out as certain, half a row of each class is added that was.

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
    check_decisions(decisions)
    if sample_weight is not None:
        weight = check_sample_weight(sample_weight, n_rows=len(decisions))
        decisions = replace(decisions, sample_weight=weight)
    if opinions is not None:
        by_name = opinions_by_name(opinions, decisions.classes, len(decisions), "opinions")
        decisions = replace(decisions, opinions=by_name)
    n, at, scored = len(decisions), decisions.scored_at, decisions.scored
    back, chosen = SelectedRows.of(decisions, y_true, selected), _chosen(decisions, metrics)
    level = decisions.level if level is None else check_level(level)
    judge = _Judge.of(decisions, back, level)
    parts = [(None, np.ones(n, dtype=bool)), *group_rows(groups, n)]
    found: dict[Any, dict[str, Realised]] = {label: {} for label, _ in parts}
    steps = [(label, metric, rows) for label, rows in parts for metric in chosen.values()]
    for label, metric, rows in progress(steps, "evaluate"):
        found[label][metric.name] = judge.realised(metric, rows)
    told = back.labelled
    small = sparse_parts(
        [(label, part & told) for label, part in parts], back.codes, decisions.classes
    )
    own, team = decisions.metric, None
    if decisions.opinions is not None or own.of_team:
        team = team_results(decisions, back.codes, chosen, level)
    point = operating_point(decisions) if own.known else None
    said = None if back.probability is None else SelectiveJudge(decisions, back, level)
    return Evaluation(
        metric=own.name,
        realised=found.pop(None),
        groups=found,
        estimated_before=decisions.estimate.before,
        estimated_after=decisions.estimate.after,
        risk_coverage=risk_coverage(
            (back.codes[at] != scored.columns).astype(np.float64)[told[at]],
            scored.priority[told[at]],
            sample_weight=judge.rows.total_weight(at[told[at]]),
        ),
        small=small,
        positive=decisions.positive,
        at_threshold={} if decisions.positive is None else judge.at_threshold(),
        estimated_at_threshold=point,
        selected={} if said is None else {name: said.estimates(chosen[name]) for name in chosen},
        promises={} if said is None else said.promises(point),
        team=team,
        of_team=own.of_team,
    )


def _chosen(
    decisions: Decisions, metrics: Metric | str | Sequence[Metric | str]
) -> dict[str, Metric]:
    """Return the metric of the decisions and more, by name; raise where one is not for them."""
    more = metric_registry.get_several(metrics)
    order = ClassOrder(decisions.classes, decisions.classes, decisions.positive)
    for metric in more:
        metric.check_n_classes(len(decisions.classes))
        if metric.of_positive:
            order.need_positive(f"`metrics` {metric.name!r} is of the positive class")
    return {metric.name: metric for metric in (decisions.metric, *more)}


@dataclass(frozen=True, eq=False)
class _Judge:
    """Computes metrics on parts of a batch."""

    decisions: Decisions
    rows: JudgedRows
    # Rows without a score, or with a label that was known, were not predicted.
    predicted: Mask
    level: float

    @classmethod
    def of(cls, decisions: Decisions, back: SelectedRows, level: float) -> Self:
        """Take decisions with the labels that came back."""
        weight, columns = decisions.sample_weight, decisions.columns
        rows = JudgedRows(back.codes, decisions.proba, columns, weight, back.stands_for)
        predicted = np.isin(np.arange(len(decisions)), decisions.scored_at) & back.labelled
        return cls(decisions, rows, predicted, level)

    def realised(self, metric: Metric, rows: Mask) -> Realised:
        withheld, counts = self.decisions.abstain, self.rows.counts[rows]
        # Rows that count for nothing, all of them, have no share and no metric.
        share = np.average(withheld[rows], weights=counts) if counts.any() else np.nan
        predicted = rows & self.predicted
        parts = (predicted, predicted & ~withheld, predicted & withheld)
        everyone, kept, out = (self._judged(metric, part) for part in parts)
        values, ends = (everyone[0], kept[0], out[0]), (everyone[1], kept[1], out[1])
        return Realised(int(rows.sum()), float(share), *values, *ends, self.level)

    def at_threshold(self) -> dict[str, Realised]:
        """Return each share of the predictions as they were made; of the missed, their number."""
        everyone, withheld = np.ones(len(self.predicted), dtype=bool), self.decisions.abstain
        found = {share: self.realised(CellShare(share), everyone) for share in SHARES}
        weight, missed = self.rows.total_weight(everyone), found["missed"]
        counts = np.where(self.predicted, 1.0 if weight is None else weight, 0.0)
        numbers: dict[str, Any] = {}
        for name, rows in {"all": everyone, "kept": ~withheld, "withheld": withheld}.items():
            size = float(counts[rows].sum())
            low, high = getattr(missed, f"{name}_interval")
            numbers |= {name: size * getattr(missed, name)}
            numbers |= {f"{name}_interval": (size * low, size * high)}
        return found | {"missed": replace(missed, **numbers)}

    def _judged(self, metric: Metric, rows: Mask) -> tuple[float, tuple[float, float]]:
        """Return the metric of some rows, and where that of all rows of their kind lies."""
        part, seed = self.rows.only(rows), self.decisions.seed
        if not part.counts.any():
            return float("nan"), _NOT_DEFINED
        value = part.value(metric)
        return value, realised_interval(metric, value, part, level=self.level, seed=seed)


def _written(text: str) -> str:
    """Return text that a frame can hold, half a character spelled out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _estimate(estimated: EstimatedValue, realised: float, inside: bool | None) -> dict[str, Any]:
    return {
        "value": estimated.value,
        "realised": realised,
        "interval": estimated.interval,
        "level": estimated.level,
        "inside": inside,
    }


def _inside(estimated: EstimatedValue, realised: float, ends: tuple[float, float]) -> bool | None:
    if not np.isfinite([realised, *ends, *estimated.interval]).all():
        return None
    low, high = estimated.interval
    return bool(ends[0] <= high and low <= ends[1])


def _flat(found: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of one row; an interval becomes its two ends."""
    flat: dict[str, Any] = {}
    for key, value in found.items():
        if isinstance(value, tuple):
            what = key.removesuffix("_interval")
            flat |= {f"{what}_low": value[0], f"{what}_high": value[1]}
        else:
            flat[key] = value
    return flat


def _team_row(name: str, found: TeamResult) -> list[str]:
    parts = (found.model, found.reader, found.team, found.worth)
    return [name, f"{found.n:,}", f"{found.referred:,}", *map(str, parts)]


def _cells(name: str, found: Realised) -> list[str]:
    return [
        name,
        f"{found.n:,}",
        words.share(found.abstention_rate),
        *starmap(words.estimate, found.parts),
    ]
