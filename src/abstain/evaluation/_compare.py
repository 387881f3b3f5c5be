"""Methods side by side: paired resamples, realised metrics, marks of significance.

The protocol of the paper's tables, for a user's own data and methods.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain import metrics as metric_registry
from abstain._inputs import (
    FloatArray,
    IntArray,
    Scale,
    check_budget,
    check_generator,
    check_same_length,
    check_scores,
    check_whole,
    float_array,
    label_array,
    read_labelled,
    read_scores,
)
from abstain._logs import repeated_work
from abstain._numerics import progress as shown
from abstain.abstainer import Abstainer
from abstain.decisions import Decisions
from abstain.evaluation._significance import Procedure, best_methods
from abstain.evaluation._splits import shifted_rows
from abstain.evaluation._table import Cell, ResultTable
from abstain.exceptions import ArgumentError, AssumptionWarning
from abstain.metrics import Metric
from abstain.team import opinion_codes

#: The name of the method that withholds what helps the metric most.
DELTA_METRIC = "delta-metric"

MOST_REPEATS = 1_000_000

MethodLike = str | Callable[[FloatArray], FloatArray] | Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Scores of one classifier on labelled validation data and on a target.

    Parameters
    ----------
    scores_val, y_val : array-like
        Validation scores and labels.
    scores_target, y_target : array-like
        Target scores, and labels, which are for judging only.
    scale : {"probabilities", "logits"}
        What the scores are.
    samples_target : array-like of shape (n_samples, n_target) or (n_samples, n_target, n_classes)
        Scores of the target in draws of test-time dropout, for ``"dropout-variance"``.
    positive : label, optional
        Which of two classes is the positive one, as of :class:`abstain.Abstainer`.
    opinions_val, opinions_target : array-like, optional
        What a reader answered about both. Then the final answers are judged: a method that names
        no ``team`` takes the reader's for a referred row, ``"delta-metric"`` combines the two.
    """

    scores_val: ArrayLike
    y_val: ArrayLike
    scores_target: ArrayLike
    y_target: ArrayLike
    scale: Scale = "probabilities"
    samples_target: ArrayLike | None = None
    positive: Any = None
    opinions_val: ArrayLike | None = None
    opinions_target: ArrayLike | None = None

    def _checked(self, metric: Metric) -> _Arrays:
        given = read_labelled(
            self.scores_val, self.y_val, scale=self.scale, positive=self.positive
        )
        scores_val, order = given.scores.matrix, given.order
        if metric.of_positive:
            order.need_positive(f"`metric` {metric.name!r} is of the positive class")
        scores = check_scores(
            read_scores(self.scores_target, order, scale=self.scale, name="scores_target").values,
            scale=self.scale,
            name="scores_target",
            n_classes=scores_val.shape[1],
        )
        y_val, y = label_array(self.y_val, "y_val"), label_array(self.y_target, "y_target")
        check_same_length(scores_val=scores_val, y_val=y_val)
        check_same_length(scores_target=scores, y_target=y)
        samples = (
            None
            if self.samples_target is None
            else float_array(self.samples_target, "samples_target")
        )
        if samples is not None and samples.shape[1:2] != (len(y),):
            raise ValueError(
                f"`samples_target` must hold every target row in each draw; {len(y)} rows, got "
                f"shape {samples.shape}."
            )
        if samples is not None and samples.ndim == 3:
            samples = np.stack([order.arranged(draw, scale=self.scale) for draw in samples])
        opinions = tuple(
            None if one is None else opinion_codes(one, order.classes, len(rows), name)
            for one, rows, name in (
                (self.opinions_val, y_val, "opinions_val"),
                (self.opinions_target, y, "opinions_target"),
            )
        )
        if (opinions[0] is None) != (opinions[1] is None):
            raise ArgumentError(
                "`opinions_val` and `opinions_target` go together.", "opinions_val"
            )
        return _Arrays(scores_val, y_val, scores, y, self.scale, samples, order.classes, opinions)


@dataclass(frozen=True, eq=False)
class _Arrays:
    """A data set, checked."""

    scores_val: FloatArray
    y_val: NDArray[Any]
    scores: FloatArray
    y: NDArray[Any]
    scale: Scale
    samples: NDArray[Any] | None
    classes: NDArray[Any]
    opinions: tuple[IntArray | None, ...] = (None, None)

    def said(self, side: int) -> NDArray[Any] | None:
        """Return what readers answered of validation or target, None where nothing."""
        codes = self.opinions[side]
        labels = np.array([*self.classes.tolist(), None], dtype=object)
        return None if codes is None else labels[codes]

    def resampled(self, rng: np.random.Generator, priors: ArrayLike | None) -> _Arrays:
        """Draw both sides anew with replacement, the target with other proportions if given."""
        own = rng.integers(len(self.y_val), size=len(self.y_val))
        rows: IntArray = rng.integers(len(self.y), size=len(self.y))
        if priors is not None:
            rows = shifted_rows(self.y, priors, random_state=rng)
        samples = None if self.samples is None else self.samples[:, rows]
        pairs = zip(self.opinions, (own, rows), strict=True)
        return replace(
            self,
            scores_val=self.scores_val[own],
            y_val=self.y_val[own],
            scores=self.scores[rows],
            y=self.y[rows],
            samples=samples,
            opinions=tuple(None if one is None else one[at] for one, at in pairs),
        )


def compare(
    methods: Sequence[str] | Mapping[str, MethodLike],
    datasets: Dataset | Mapping[str, Dataset],
    metric: Metric | str,
    budgets: Sequence[float],
    *,
    repeats: int = 30,
    priors: ArrayLike | None = None,
    calibration: Any = "auto",
    shift: Any = "em",
    level: float = 0.05,
    procedure: Procedure = "signed-rank",
    random_state: Any = 0,
    progress: bool | None = None,
) -> ResultTable:
    """Run methods on paired resamples and mark the best of each column.

    Parameters
    ----------
    methods : sequence of str, or mapping
        Names of scores, and ``"delta-metric"`` for withholding what helps the metric most. Or
        a mapping from any name to a registered score, a function of the probabilities (high is
        withheld first), or parameters of :class:`abstain.Abstainer` such as
        ``{"decision": "optimal", "calibration": "bcts"}``. A score that is named, or a function,
        predicts the most probable class, as the paper's do; the rest is as of ``Abstainer``.
    datasets : Dataset or mapping of str to Dataset
        What to run on.
    metric : Metric or str
        What is realised on the kept rows, and what the methods that know a metric optimise.
    budgets : sequence of float or int
        The largest fractions that may be withheld, or as whole numbers counts.
    repeats : int
        How many bootstrap resamples of validation and target, at most a million; all methods see
        the same.
    priors : array-like of shape (n_classes,), optional
        Class proportions to simulate in the target; see :func:`shifted_rows`.
    calibration, shift : str or object
        As of :class:`abstain.Abstainer`, for methods that do not say otherwise.
    level : float
        Level of the one-sided tests within a column.
    procedure : {"signed-rank", "paper"}
        How the best are told; see :func:`best_methods`.
    random_state : int, Generator or None
        Seeds the resamples.
    progress : bool, optional
        Show how far it has come on stderr; when not given, if that is a terminal.

    Returns
    -------
    ResultTable
        Rows are methods; columns are data sets and budgets, with the metric before abstaining
        as ``base``. It prints as text, Markdown, LaTeX, CSV and JSON.

    Examples
    --------
    >>> from abstain.datasets import screening_clinic
    >>> from abstain.evaluation import Dataset, compare
    >>> clinic = screening_clinic(1000, 1000, random_state=0)
    >>> data = Dataset(clinic.scores_val, clinic.y_val, clinic.scores_target, clinic.y_target,
    ...                scale="logits")
    >>> table = compare(["delta-metric", "random"], data, "auroc", [0.2], repeats=6,
    ...                 calibration="platt")
    >>> [(cell.row[0], cell.best) for cell in table.cells if cell.column[1] == "@20%"]
    [('delta-metric', True), ('random', False)]
    """
    chosen = metric_registry.get(metric)
    if isinstance(budgets, str) or not isinstance(budgets, Iterable):
        raise TypeError(
            f"`budgets` must be a sequence of budgets, such as [0.1]; got {budgets!r}."
        )
    allowed = [check_budget(budget, name="budgets") for budget in budgets]
    if not allowed:
        raise ValueError("`budgets` is empty; pass at least one, such as 0.1.")
    check_whole(repeats, name="repeats", least=1, most=MOST_REPEATS)
    ways = _settings(methods)
    named = {"": datasets} if isinstance(datasets, Dataset) else datasets
    if not isinstance(named, Mapping) or not named:
        raise TypeError("`datasets` must be a Dataset, or a mapping of names to them.")
    arrays = {name: dataset._checked(chosen) for name, dataset in named.items()}
    rng = check_generator(random_state)
    values: dict[tuple[str, tuple[str, str]], list[float]] = {}
    for _ in shown(range(repeats), "compare", show=progress):
        for name, whole in arrays.items():
            drawn = whole.resampled(rng, priors)
            for method, column, value in _repeat(
                drawn, ways, chosen, allowed, {"calibration": calibration, "shift": shift}
            ):
                values.setdefault((method, (name, column)), []).append(value)
    return _table(values, chosen, level, procedure)


def _settings(methods: Sequence[str] | Mapping[str, MethodLike]) -> dict[str, dict[str, Any]]:
    """Return the parameters of Abstainer that each method stands for, by its name."""
    if isinstance(methods, str):
        raise TypeError("`methods` must be a sequence of names or a mapping; got a single name.")
    named: Any = methods
    if not isinstance(methods, Mapping):
        if not (isinstance(methods, Iterable) and all(isinstance(one, str) for one in methods)):
            raise TypeError("`methods` must be a sequence of names or a mapping.")
        named = {name: name for name in methods}
    if not named:
        raise ValueError("`methods` is empty; pass at least one, such as 'delta-metric'.")
    return {name: _parameters(method) for name, method in named.items()}


def _parameters(method: MethodLike) -> dict[str, Any]:
    if isinstance(method, Mapping):
        return dict(method)
    if not isinstance(method, str) and not callable(method):
        raise TypeError(
            f"`methods` must be names of scores, functions or parameters of Abstainer; got "
            f"{type(method).__name__}."
        )
    return {} if method == DELTA_METRIC else {"score": method, "decision": "argmax"}


def _repeat(
    data: _Arrays,
    methods: Mapping[str, Mapping[str, Any]],
    metric: Metric,
    budgets: Sequence[float],
    defaults: Mapping[str, Any],
) -> Iterator[tuple[str, str, float]]:
    """Yield method, column and realised metric on one resample."""
    fitted: dict[str, Abstainer] = {}
    for name, parameters in methods.items():
        settings = {**defaults, **parameters}
        if data.opinions[0] is not None:
            by_own = parameters.get("score") is None
            settings.setdefault("team", "combine" if by_own else "replace")
        # Methods that calibrate alike share the fit.
        alike = repr(settings["calibration"])
        if alike not in fitted:
            fitted[alike] = Abstainer(
                metric,
                budget=0.0,
                scale=data.scale,
                calibration=settings["calibration"],
                random_state=0,
                team=settings.get("team"),
            ).fit(data.scores_val, data.y_val, classes=data.classes, reviewer=data.said(0))
        abstainer = copy(fitted[alike])
        samples = data.samples if settings.get("score") == "dropout-variance" else None
        for k, budget in enumerate(budgets):
            abstainer.set_params(**{**settings, "budget": budget})
            with repeated_work(), warnings.catch_warnings():
                # Rows drawn with replacement are a sample of no mixture: a check of them says
                # nothing.
                warnings.simplefilter("ignore", AssumptionWarning)
                decisions = abstainer.decide(data.scores, score_samples=samples)
            if k == 0:
                everyone = np.zeros(len(data.y), dtype=bool)
                yield name, "base", _realised(metric, decisions, data.y, everyone)
            out, said = decisions.abstain, data.opinions[1]
            if said is not None:
                decisions = replace(decisions, opinions={"": said})
                out = decisions.answers[1] < 0
            yield name, _in_words(budget), _realised(metric, decisions, data.y, out)


def _realised(
    metric: Metric, decisions: Decisions, y: NDArray[Any], abstain: NDArray[np.bool_]
) -> float:
    kept = ~abstain
    proba, columns = decisions.proba, decisions.columns
    if decisions.opinions is not None:
        proba, columns = decisions.answers
    return metric.observed(
        y[kept],
        proba[kept],
        prediction=columns[kept],
        classes=decisions.classes,
    )


def _table(
    values: Mapping[tuple[str, tuple[str, str]], list[float]],
    metric: Metric,
    level: float,
    procedure: Procedure,
) -> ResultTable:
    best = set()
    for column in dict.fromkeys(place[1] for place in values):
        methods = [method for method, other in values if other == column]
        marks = best_methods(
            [values[method, column] for method in methods],
            greater_is_better=metric.greater_is_better,
            level=level,
            procedure=procedure,
        )
        if column[1] != "base":
            best |= {(m, column) for m, mark in zip(methods, marks, strict=True) if mark}
    order = list(dict.fromkeys(method for method, _ in values))
    cells = [
        Cell((method,), column, tuple(found), (method, column) in best)
        for (method, column), found in sorted(
            values.items(), key=lambda item: order.index(item[0][0])
        )
    ]
    return ResultTable(tuple(cells), ("method",), ("dataset", "abstain"), metric.name)


def _in_words(budget: float) -> str:
    """Return a budget as the head of a column: a share, or a count of rows."""
    return f"@{budget:,} rows" if isinstance(budget, int) else f"@{100 * budget:.4g}%"
