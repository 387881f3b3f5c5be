"""A batch, nobody withheld: ``abstain shift`` says what moved, ``abstain estimate`` how well."""

from __future__ import annotations

from typing import Any

import click

from abstain.cli import _options as option
from abstain.cli._terminal import in_a_line, spelled


@option.command("abstain shift validation.csv batch.csv --label ill --scores p_ill")
@option.tables("scores", "label", "positive", method=("shift",))
@option.outputs("as_json")
def shift(*, tables: option.Tables, outputs: option.Outputs) -> None:
    """Say how the class proportions moved from VALIDATION to BATCH.

    VALIDATION is a table (CSV, Excel or Parquet) of scores with true labels, BATCH one of scores
    of the same classifier on new rows. Prints the proportions with intervals, whether they moved,
    and whether a shift of the proportions explains what changed.
    """
    from abstain.cli._calibrate import Basis
    from abstain.shift import get, shift_facts

    method = tables.method
    try:
        get(method.shift)
    except ValueError as error:
        raise click.BadParameter(spelled(error), param_hint="'--shift'") from error
    source, new = tables.labelled(), tables.new()
    basis = Basis.of(source, new, tables.classes(source), method)
    estimator, names = basis.evidence.estimator, basis.order.classes.tolist()
    before, now = estimator.source_priors_, basis.evidence.proportions(method.level)
    moved = shift_facts(basis.labelled, basis.summary, names, before, now.values)
    found = {
        "rows": {"validation": source.scores.num_rows, "target": new.scores.num_rows},
        "calibration": basis.calibrator.name,
        "positive": basis.order.positive,
        "classes": names,
        "priors": {
            "validation": before.tolist(),
            "target": now.values.tolist(),
            "interval": now.interval.tolist(),
            "confidence": method.level,
        },
        "test": moved["test"],
        "check": moved["check"],
        "meaning": _meaning(moved["test"]["shifted"], moved["check"]["fits"]),
    }
    option.emit(found, _lines(found), outputs.as_json)


def _lines(found: dict[str, Any]) -> list[str]:
    """Return the facts as lines for people."""
    from abstain._words import span
    from abstain.cli._summary import decimals_of, proportion_lines

    priors = found["priors"]
    digits = decimals_of(priors["validation"], priors["target"])
    columns = {
        "validation": [f"{value:.{digits}f}" for value in priors["validation"]],
        f"batch ({priors['confidence']:.0%} interval)": [
            f"{value:.{digits}f} ({span(ends, digits)})"
            for value, ends in zip(priors["target"], priors["interval"], strict=True)
        ],
    }
    title = (
        f"Class proportions ({found['rows']['validation']:,} validation and "
        f"{found['rows']['target']:,} batch rows, calibration {found['calibration']})"
    )
    named = (
        [] if found["positive"] is None else [f"Positive class: {in_a_line(found['positive'])}"]
    )
    return [
        f"Is there a shift? {found['test']['summary']}",
        f"Is it label shift? {found['check']['summary']}",
        found["meaning"],
        "",
        *named,
        *proportion_lines(
            title, found["classes"], columns, then=priors["validation"], now=priors["target"]
        ),
    ]


def _meaning(shifted: bool, fits: bool) -> str:
    """Say what to do about it."""
    if not fits:
        return (
            "What this means: more than the class proportions changed. Do not rely on adapted "
            "probabilities, or on estimates without labels, before some rows of the batch are "
            "labelled."
        )
    if shifted:
        return (
            "What this means: probabilities should be adapted to the new proportions, which "
            "`abstain run` does by itself."
        )
    return "What this means: probabilities can be used as calibrated; adapting changes little."


@option.command(
    "abstain estimate validation.csv batch.csv --label ill --scores p_ill "
    "--metric accuracy --metric auroc --metric f1"
)
@option.metrics(
    required=True,
    help="What to estimate, e.g. accuracy, auroc, kappa:quadratic; may be given several times. "
    "`abstain metrics` lists them.",
)
@option.tables(
    "scores", "label", "positive", "prediction", method=("shift", "level", "random_state")
)
@option.outputs("strict", "as_json")
def estimate(*, metrics: tuple[Any, ...], tables: option.Tables, outputs: option.Outputs) -> None:
    """Estimate how well a model does on BATCH, without its labels; nothing is withheld.

    VALIDATION is a table (CSV, Excel or Parquet) of scores with true labels, BATCH one of scores
    of the same classifier on new rows; its labels, if any, are not looked at. Either may be a
    quoted pattern of many files. Prints each metric with its interval, the class proportions,
    and what was assumed.
    """
    import numpy as np

    from abstain import estimate as estimated

    method, source, new = tables.method, tables.labelled(), tables.new()
    needing = (f"--metric {metric.name}" for metric in metrics if metric.of_positive)
    classes = tables.classes(source, needing)
    found = estimated(
        source.scores,
        source.labels,
        new.scores_for(np.unique(source.labels) if source.classes is None else source.classes),
        metrics,
        prediction_val=_in_kind_of(source.predictions, source.labels),
        prediction=_in_kind_of(new.predictions, source.labels),
        classes=classes.columns,
        positive=classes.positive,
        scale=method.scale,
        calibration=method.calibration,
        shift=method.shift,
        level=method.level,
        random_state=method.random_state,
    )
    facts, said = found.to_dict(), [found.to_text()]
    outputs.stop_on_doubts(facts, said)
    option.emit(facts, said, outputs.as_json)


def _in_kind_of(predictions: Any, labels: Any) -> Any:
    """Return predictions as text where labels are: they may be read as numbers."""
    if predictions is None or labels.dtype.kind != "U":
        return predictions
    return predictions.astype(str)
