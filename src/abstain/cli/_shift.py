"""``abstain shift``: what moved between two files of predictions, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from abstain.cli import _options as option
from abstain.cli._printable import in_a_line
from abstain.cli._values import check_with

# How often the intervals of the proportions are to hold.
_CONFIDENCE = 0.9


def _estimator(name: str) -> Any:
    from abstain import shift as shifts

    return shifts.get(name)


@option.command("abstain shift validation.csv batch.csv --label ill --scores p_ill")
@option.validation
@option.batch
@option.columns("scores", "label", "positive")
@option.reading()
@option.method()
@click.option(
    "--shift",
    "estimator",
    default="em",
    show_default=True,
    callback=check_with(_estimator),
    help="How to estimate the class proportions.",
)
@option.outputs("as_json")
def shift(
    validation: Path,
    batch: Path,
    *,
    columns: option.Columns,
    reading: option.Reading,
    method: option.Method,
    estimator: Any,
    outputs: option.Outputs,
) -> None:
    """Say how the class proportions moved from VALIDATION to BATCH.

    VALIDATION is a table (CSV, Excel or Parquet) of scores with true labels, BATCH one of scores
    of the same classifier on new rows. Prints the proportions with intervals, whether they moved,
    and whether a shift of the proportions explains what changed.
    """
    from abstain.cli._calibration import calibrate_both
    from abstain.cli._labels import classes_of
    from abstain.cli._predictions import read_predictions, read_validation
    from abstain.shift import shift_facts
    from abstain.summaries import summarise

    source = read_validation(validation, columns, reading, scale=method.scale)
    new = read_predictions(batch, columns.of_batch, reading, scale=method.scale)
    classes = classes_of(source, columns.positive)
    calibrator, labelled, proba, order = calibrate_both(source, new, method, classes)
    summary, names = summarise(proba), order.classes.tolist()
    estimator.fit_summaries(labelled, summary)
    before, now = estimator.source_priors_, estimator.priors_
    moved = shift_facts(labelled, summary, names, before, now)
    found = {
        "rows": {"validation": len(labelled.proba), "target": len(proba)},
        "calibration": calibrator.name,
        "positive": order.positive,
        "classes": names,
        "priors": {
            "validation": before.tolist(),
            "target": now.tolist(),
            "interval": estimator.priors_interval(_CONFIDENCE).tolist(),
            "confidence": _CONFIDENCE,
        },
        "test": moved["test"],
        "check": moved["check"],
        "meaning": _meaning(moved["test"]["shifted"], moved["check"]["fits"]),
    }
    option.emit(found, _lines(found), outputs.as_json)


def _lines(found: dict[str, Any]) -> list[str]:
    """Return the facts as lines for people."""
    from abstain.cli._summary import proportion_lines

    priors = found["priors"]
    columns = {
        "validation": [f"{value:.3f}" for value in priors["validation"]],
        f"target ({priors['confidence']:.0%} interval)": [
            f"{value:.3f} ({low:.3f} to {high:.3f})"
            for value, (low, high) in zip(priors["target"], priors["interval"], strict=True)
        ],
    }
    title = (
        f"Class proportions ({found['rows']['validation']:,} validation and "
        f"{found['rows']['target']:,} target rows, calibration {found['calibration']})"
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
            "probabilities, or on estimates without labels, before some target rows are labelled."
        )
    if shifted:
        return (
            "What this means: probabilities should be adapted to the new proportions, which "
            "`abstain run` does by itself."
        )
    return "What this means: probabilities can be used as calibrated; adapting changes little."
