"""``abstain compare``: every method side by side, estimated, or realised where labels are."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from abstain.cli import _options as option
from abstain.cli._output import emit, stop_on_doubts

if TYPE_CHECKING:
    from abstain._flow import Basis
    from abstain.cli._tables import Predictions
    from abstain.evaluation import ResultTable
    from abstain.summaries import LabelledSummary, Summary

__all__ = ["compare"]

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


@click.command(
    epilog="Example: abstain compare validation.csv batch.csv --label ill --scores p_ill "
    "--metric auroc --budget 0.1 --budget 0.3 --target-label ill"
)
@option.validation
@option.batch
@option.metric
@click.option(
    "--budget",
    "budgets",
    type=click.FloatRange(0, 1, max_open=True),
    multiple=True,
    default=(0.15,),
    show_default=True,
    help="The largest fraction that may be withheld; may be given several times.",
)
@click.option(
    "--target-label",
    help="The column with the true label in BATCH: compare realised values, over resamples. "
    "Without it values are estimated.",
)
@click.option(
    "--methods",
    help=f"Comma-separated scores of uncertainty, and {OWN} for what `abstain run` does.  "
    f"[default: {', '.join(METHODS)}]",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=30,
    show_default=True,
    help="With --target-label: how many paired resamples.",
)
@option.scores
@option.label
@option.scale
@option.calibration
@option.shift
@option.decision
@option.level
@option.random_state
@option.strict
@option.as_json
def compare(
    validation: Path,
    batch: Path,
    *,
    budgets: tuple[float, ...],
    target_label: str | None,
    methods: str | None,
    repeats: int,
    scores: str,
    label: str,
    level: float,
    strict: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Compare ways of choosing whom to withhold.

    VALIDATION is a table of scores with true labels, BATCH one of new rows. Scores of
    uncertainty predict the most probable class; --decision is for delta-metric. With true labels
    of BATCH the best methods of each column are marked: those that no other beats in a paired
    test over resamples.
    """
    names = _names(methods)

    from abstain.cli._tables import read_predictions

    source = read_predictions(validation, scores=scores, label=label)
    new = read_predictions(batch, scores=scores, label=target_label)
    if target_label is None:
        found = _estimated(names, budgets, level, source, new, **settings)
        said = _lines(found)
    else:
        table = _realised(names, budgets, repeats, source, new, **settings)
        found = {"metric": settings["metric"].name, "estimated": False, **table.to_dict()}
        said = [table.to_text()]
    stop_on_doubts(found, said, as_json, strict=strict)
    emit(found, said, as_json)


class _Based(NamedTuple):
    """The two files calibrated, and what is estimated of them before anything is chosen."""

    labelled: "LabelledSummary"
    summary: "Summary"
    basis: "Basis"


def _based(
    source: "Predictions",
    new: "Predictions",
    *,
    metric: Any,
    scale: Any,
    calibration: str,
    shift: str,
    seed: int,
) -> _Based:
    from abstain import shift as shifts
    from abstain._flow import basis_of, warn_of
    from abstain._inputs import both_columns
    from abstain.cli._calibrated import calibrated
    from abstain.summaries import summarise

    estimator = shifts.get(shift)
    calibrator, labelled, proba = calibrated(
        source, new, calibration, scale, estimating_shift=estimator.name != "none"
    )
    metric.check_n_classes(len(calibrator.classes_))
    summary = summarise(proba if metric.ranks else both_columns(proba))
    basis = basis_of(estimator, labelled, summary, seed, calibrator.classes_.tolist())
    warn_of(basis.assumption)
    return _Based(labelled, summary, basis)


def _realised(
    names: list[str],
    budgets: tuple[float, ...],
    repeats: int,
    source: "Predictions",
    new: "Predictions",
    *,
    decision: str,
    random_state: int,
    **settings: Any,
) -> "ResultTable":
    from abstain._inputs import check_seed
    from abstain.evaluation import Dataset
    from abstain.evaluation import compare as compared

    based = _based(source, new, **settings, seed=check_seed(random_state))
    # Arrays have no names: their columns are taken in the order of the sorted labels.
    classes = sorted(source.classes or ())
    data = Dataset(
        source.array_for(classes),
        source.labels,
        new.array_for(classes),
        new.labels,
        scale=settings["scale"],
    )
    return compared(
        {name: {"decision": decision} if name == OWN else name for name in names},
        data,
        settings["metric"],
        budgets,
        repeats=repeats,
        calibration=settings["calibration"],
        # Whether to adapt is told from the files; resamples hold rows twice, which misleads.
        shift=based.basis.estimator.settled(),
        random_state=random_state,
    )


def _estimated(
    names: list[str],
    budgets: tuple[float, ...],
    level: float,
    source: "Predictions",
    new: "Predictions",
    *,
    decision: Any,
    random_state: int,
    **settings: Any,
) -> dict[str, Any]:
    """Estimate the metric without labels for each method and budget, on one summary."""
    from abstain._inputs import check_seed
    from abstain._numerics import progress
    from abstain.estimation import drawn_choice
    from abstain.selection import Selection

    metric, seed = settings["metric"], check_seed(random_state)
    labelled, summary, basis = _based(source, new, **settings, seed=seed)
    ratios = basis.estimator.weights_
    now = summary.adapted(ratios)
    how: dict[str, Any] = {"replicates": basis.replicates, "seed": seed}
    methods: dict[str, list[dict[str, Any]]] = {}
    for name in progress(names, "compare"):
        selection = Selection(score=name, decision="argmax")
        if name == OWN:
            selection = Selection(decision=decision)
        curve = selection.curve(metric, now, budgets, seed=seed, labelled=labelled, weights=ratios)
        estimates = [
            drawn_choice(metric, now, choice, **how).estimate(level) for choice in curve.choices
        ]
        methods[name] = [
            {"budget": budget, **asdict(estimate.after)}
            for budget, estimate in zip(budgets, estimates, strict=True)
        ]
    base = estimates[0].before.value
    return {
        "metric": metric.name,
        "estimated": True,
        "level": level,
        "base": base,
        "methods": methods,
        "assumption": {**basis.assumption.to_dict(), "summary": basis.assumption.summary()},
    }


def _lines(found: dict[str, Any]) -> list[str]:
    width = max(len(name) for name in found["methods"])
    interval = f"{100 * found['level']:g}% interval"
    budgets = [part["budget"] for part in next(iter(found["methods"].values()))]
    lines = [
        f"{found['metric']}, estimated without labels; nobody withheld: {found['base']:.4f}",
        f"  {'withheld by':<{width}}  "
        + "  ".join(f"{f'{budget:.3g} ({interval})':>26}" for budget in budgets),
    ]
    for name, parts in found["methods"].items():
        cells = [
            f"{part['value']:.4f} ({part['interval'][0]:.4f} to {part['interval'][1]:.4f})"
            for part in parts
        ]
        lines.append(f"  {name:<{width}}  " + "  ".join(f"{cell:>26}" for cell in cells))
    return lines
