"""``abstain compare``: every method side by side, estimated, or realised where labels are."""

# ruff: noqa: RUF009 - a field that an option fills is a field of a dataclass

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from abstain.cli import _options as option
from abstain.cli._goal import budget_of
from abstain.cli._terminal import in_a_line
from abstain.cli._values import check_with, filled_by, in_one_value, option_field

if TYPE_CHECKING:
    from abstain.cli._calibrate import Basis
    from abstain.cli._predictions import Predictions
    from abstain.evaluation import ResultTable

OWN = "delta-metric"
# Those that need neither draws of dropout nor one class to be the positive one.
METHODS = (OWN, "max-probability", "entropy", "margin", "js-divergence", "random")


def _names(text: str | None) -> list[str]:
    from abstain import scores

    names = list(METHODS) if text is None else [name.strip() for name in text.split(",")]
    try:
        for name in names:
            if name == scores.DROPOUT_VARIANCE:
                raise ValueError(f"{name} needs draws of test-time dropout, which no table holds.")
            if name != OWN:
                scores.get(name)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--methods") from error
    return names


def _budgets(texts: tuple[str, ...]) -> tuple[float, ...]:
    return tuple(budget_of(text) for text in texts)


@dataclass(frozen=True)
class Comparison:
    """What is compared, as the options say it.

    Attributes
    ----------
    metric : Metric
        What the methods are compared by.
    budgets : tuple of float
        The most that may be withheld.
    methods : str or None
        Names of scores of uncertainty, with commas.
    repeats : int
        How many resamples.
    """

    metric: Any = filled_by(option.metric)
    budgets: tuple[float, ...] = option_field(
        "--budget",
        "budgets",
        multiple=True,
        default=("0.15",),
        show_default=True,
        callback=check_with(_budgets),
        help="The most that may be withheld: a fraction such as 0.15, or a count such as 200; may "
        "be given several times.",
    )
    methods: str | None = option_field(
        "--methods",
        help=f"Comma-separated scores of uncertainty, and {OWN} for what `abstain run` does.  "
        f"[default: {', '.join(METHODS)}]",
    )
    repeats: int = option_field(
        "--repeats",
        type=click.IntRange(min=1, max=option.MOST_REPEATS),
        default=30,
        show_default=True,
        help="With --target-label: how many paired resamples.",
    )


@option.command(
    "abstain compare validation.csv batch.csv --label ill --scores p_ill "
    "--metric auroc --budget 0.1 --budget 0.3 --target-label ill"
)
@in_one_value(Comparison, "comparison")
@option.tables(
    "target_label", "scores", "label", "positive",
    method=("shift", "decision", "level", "random_state"),
)  # fmt: skip
@option.outputs("strict", "as_json")
def compare(*, comparison: Comparison, tables: option.Tables, outputs: option.Outputs) -> None:
    """Compare ways of choosing whom to withhold.

    VALIDATION is a table of scores with true labels, BATCH one of new rows. Scores of
    uncertainty predict the most probable class; --decision is for delta-metric. With true labels
    of BATCH the best methods of each column are marked: those that no other beats in a paired
    test over resamples.
    """
    names, metric = _names(comparison.methods), comparison.metric

    from abstain.cli._calibrate import Basis
    from abstain.deciding import warn_of

    method, source, new = tables.method, tables.labelled(), tables.new()
    classes = tables.classes(source, [f"--metric {metric.name}"] if metric.of_positive else [])
    if classes.columns is not None:
        # Whatever the order of the columns, the same rows are resampled and withheld.
        classes = replace(classes, columns=sorted(classes.columns))
    basis = Basis.of(source, new, classes, method, metric)
    warn_of(basis.evidence.assumption)
    named = basis.order.positive
    if tables.columns.target_label is None:
        found = _estimated(names, comparison, basis, method)
        said = _lines(found)
    else:
        table = _realised(names, comparison, source, new, basis, method)
        found = {"metric": metric.name, "estimated": False, **table.to_dict()}
        said = [table.to_text()]
    found["positive"] = named
    if named is not None:
        said.append(f"Positive class: {in_a_line(named)}")
    outputs.stop_on_doubts(found, said)
    option.emit(found, said, outputs.as_json)


def _realised(
    names: list[str],
    comparison: Comparison,
    source: Predictions,
    new: Predictions,
    basis: Basis,
    method: option.Method,
) -> ResultTable:
    from abstain._inputs import check_labels, read_scores
    from abstain.evaluation import Dataset
    from abstain.evaluation import compare as compared

    order, scale = basis.order, method.scale
    # Arrays have no names: labels are column numbers, of two classes 1 the positive one.
    values, codes = zip(
        *(
            (
                read_scores(part.scores_for(order.columns), order, scale=scale).values,
                check_labels(part.labels, classes=order.classes, name=name),
            )
            for part, name in ((source, "--label"), (new, "--target-label"))
        ),
        strict=True,
    )
    data = Dataset(values[0], codes[0], values[1], codes[1], scale=scale)
    return compared(
        {name: {"decision": method.decision} if name == OWN else name for name in names},
        data,
        comparison.metric,
        comparison.budgets,
        repeats=comparison.repeats,
        calibration=method.calibration,
        # Whether to adapt is told from the files; resamples hold rows twice, which misleads.
        shift=basis.evidence.estimator.settled(),
        random_state=method.random_state,
    )


def _estimated(
    names: list[str], comparison: Comparison, basis: Basis, method: option.Method
) -> dict[str, Any]:
    """Estimate the metric without labels for each method and budget, on one summary."""
    from abstain._numerics import progress
    from abstain.estimation import drawn_choice
    from abstain.selection import Selection

    metric, budgets = comparison.metric, comparison.budgets
    labelled, summary, evidence, seed = (
        basis.labelled, basis.summary, basis.evidence, basis.seed
    )  # fmt: skip
    ratios = evidence.ratios
    now = summary.adapted(ratios)
    how: dict[str, Any] = {"replicates": evidence.replicates, "seed": seed}
    methods: dict[str, list[dict[str, Any]]] = {}
    for name in progress(names, "compare"):
        selection = Selection(score=name, decision="argmax")
        if name == OWN:
            selection = Selection(decision=method.decision)
        curve = selection.curve(metric, now, budgets, seed=seed, labelled=labelled, weights=ratios)
        estimates = [
            drawn_choice(metric, now, choice, **how).estimate(method.level)
            for choice in curve.choices
        ]
        methods[name] = [
            {"budget": budget, **asdict(estimate.after)}
            for budget, estimate in zip(budgets, estimates, strict=True)
        ]
    return {
        "metric": metric.name,
        "estimated": True,
        "level": method.level,
        "base": estimates[0].before.value,
        "methods": methods,
        "assumption": {**evidence.assumption.to_dict(), "summary": evidence.assumption.summary()},
    }


def _lines(found: dict[str, Any]) -> list[str]:
    from abstain import _words as words
    from abstain._numerics import aligned

    interval = f"{100 * found['level']:g}% interval"
    budgets = [part["budget"] for part in next(iter(found["methods"].values()))]
    rows = [["withheld by", *(f"{_in_words(budget)} ({interval})" for budget in budgets)]]
    for name, parts in found["methods"].items():
        rows.append(
            [
                name,
                *(words.estimate(one["value"], one["interval"]) for one in parts),
            ]
        )
    return [
        f"{found['metric']}, estimated without labels; nobody withheld: "
        f"{words.number(found['base'])}",
        *(f"  {line}" for line in aligned(rows)),
    ]


def _in_words(budget: float) -> str:
    return f"{budget:,} rows" if isinstance(budget, int) else f"{100 * budget:.4g}%"
