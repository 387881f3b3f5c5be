"""``abstain compare``: every method side by side, estimated, or realised where labels are."""

import json
from pathlib import Path
from typing import Any

import click

from abstain.cli._options import (
    calibration_option,
    json_option,
    label_option,
    metric_option,
    scale_option,
    scores_option,
    shift_option,
)

__all__ = ["compare"]

OWN = "delta-metric"
# Those that need neither draws of dropout nor one class to be the positive one.
METHODS = (OWN, "max-probability", "entropy", "margin", "js-divergence", "random")


def _names(text: str | None) -> list[str]:
    from abstain import baselines

    names = list(METHODS) if text is None else [name.strip() for name in text.split(",")]
    for name in names:
        if name != OWN:
            try:
                baselines.get(name)
            except ValueError as error:
                raise click.BadParameter(str(error), param_hint="--methods") from error
    return names


@click.command(
    epilog="Example: abstain compare validation.csv target.csv --label ill --scores p_ill "
    "--metric auroc --budget 0.1 --budget 0.3 --target-label ill"
)
@click.argument("validation", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@metric_option
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
    help="The column with the true label in TARGET: compare realised values, over resamples. "
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
@scores_option
@label_option
@scale_option
@calibration_option
@shift_option
@click.option("--random-state", type=int, default=0, show_default=True, help="Seed.")
@json_option
def compare(
    validation: Path,
    target: Path,
    *,
    budgets: tuple[float, ...],
    target_label: str | None,
    methods: str | None,
    repeats: int,
    scores: str,
    label: str,
    as_json: bool,
    **settings: Any,
) -> None:
    """Compare ways of choosing whom to withhold.

    VALIDATION is a table of scores with true labels, TARGET one of new rows. With true labels
    of TARGET the best methods of each column are marked: those that no other beats in a paired
    test over resamples.
    """
    names = _names(methods)

    from abstain.cli._tables import named_classes, read_predictions, scores_for

    source = read_predictions(validation, scores=scores, label=label)
    new = read_predictions(target, scores=scores, label=target_label)
    y_val, classes = named_classes(source.labels, source.classes)
    columns = scores_for(new, source.classes or (), target)
    if target_label is None:
        found = _estimated(names, budgets, source.scores, y_val, classes, columns, settings)
        click.echo(json.dumps(found, indent=2) if as_json else "\n".join(_lines(found)))
        return
    y_new, _ = named_classes(new.labels, new.classes)
    table = _realised(names, budgets, repeats, (source.scores, y_val, columns, y_new), settings)
    found = {"metric": settings["metric"].name, "estimated": False, **table.to_dict()}
    click.echo(json.dumps(found, indent=2) if as_json else table.to_text())


def _realised(
    names: list[str],
    budgets: tuple[float, ...],
    repeats: int,
    data: tuple[Any, Any, Any, Any],
    settings: dict[str, Any],
) -> Any:
    from abstain.evaluation import Dataset
    from abstain.evaluation import compare as compared

    return compared(
        names,
        Dataset(*data, scale=settings["scale"]),
        settings["metric"],
        budgets,
        repeats=repeats,
        calibration=settings["calibration"],
        shift=settings["shift"],
        random_state=settings["random_state"],
    )


def _estimated(
    names: list[str],
    budgets: tuple[float, ...],
    scores_val: Any,
    y_val: Any,
    classes: Any,
    scores_new: Any,
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Estimate the metric without labels for each method and budget."""
    from abstain import Abstainer
    from abstain.evaluation import progress

    abstainer = Abstainer(budget=budgets[0], **settings).fit(scores_val, y_val, classes=classes)
    rows: dict[str, list[dict[str, Any]]] = {}
    base = None
    for name in progress(names, "compare"):
        for budget in budgets:
            abstainer.set_params(budget=budget, score=None if name == OWN else name)
            estimate = abstainer.decide(scores_new).estimate
            base = estimate.before.value
            after = {"value": estimate.after.value, "interval": list(estimate.after.interval)}
            rows.setdefault(name, []).append({"budget": budget, **after})
    return {"metric": settings["metric"].name, "estimated": True, "base": base, "methods": rows}


def _lines(found: dict[str, Any]) -> list[str]:
    width = max(len(name) for name in found["methods"])
    budgets = [part["budget"] for part in next(iter(found["methods"].values()))]
    lines = [
        f"{found['metric']}, estimated without labels; nobody withheld: {found['base']:.4f}",
        f"  {'withheld by':<{width}}  "
        + "  ".join(f"{f'{budget:.3g} (90% interval)':>26}" for budget in budgets),
    ]
    for name, parts in found["methods"].items():
        cells = [
            f"{part['value']:.4f} ({part['interval'][0]:.4f} to {part['interval'][1]:.4f})"
            for part in parts
        ]
        lines.append(f"  {name:<{width}}  " + "  ".join(f"{cell:>26}" for cell in cells))
    return lines
