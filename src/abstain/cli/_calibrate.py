"""``abstain calibrate``: how well scores can be calibrated, and calibrated probabilities."""

import json
from pathlib import Path
from typing import Any

import click

from abstain.cli._options import (
    calibration_option,
    check_outputs,
    force_option,
    id_option,
    json_option,
    label_option,
    scale_option,
    scores_option,
)

__all__ = ["calibrate"]

METHODS = {
    2: ("identity", "temperature", "platt", "beta", "isotonic"),
    3: ("identity", "temperature", "bcts", "nbvs", "vector", "isotonic"),
}


@click.command(
    epilog="Example: abstain calibrate validation.csv new.csv --scores p_ill --label ill "
    "--out calibrated.csv"
)
@click.argument("validation", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path), required=False)
@scores_option
@label_option
@id_option
@scale_option
@calibration_option
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write the probabilities of NEW (CSV, Parquet)."
)
@force_option
@json_option
def calibrate(
    validation: Path,
    new: Path | None,
    *,
    scores: str,
    label: str,
    identifier: str | None,
    scale: Any,
    calibration: str,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Compare calibrations on VALIDATION, and calibrate the scores of NEW.

    Each is fitted on one half of VALIDATION and measured on the other, both ways round. With
    NEW and --out its calibrated probabilities are written; they are not adapted to a shift.
    """
    if (new is None) != (out is None):
        raise click.UsageError("NEW and --out go together: what to calibrate, and where to.")
    check_outputs(out, force=force)

    from abstain import calibration as calibrations
    from abstain.cli._tables import named_classes, read_predictions, scores_for, write_columns

    source = read_predictions(validation, scores=scores, label=label)
    labels, classes = named_classes(source.labels, source.classes)
    fitted = calibrations.get(calibration, scale=scale).fit(source.scores, labels, classes=classes)
    found = {
        "rows": len(labels),
        "selected": getattr(fitted, "selected_", fitted.name),
        "methods": _measured(source.scores, labels, fitted.classes_, scale),
    }
    click.echo(json.dumps(found, indent=2) if as_json else "\n".join(_lines(found)))
    if new is not None and out is not None:
        rows = read_predictions(new, scores=scores, identifier=identifier)
        proba = fitted.predict_proba(scores_for(rows, fitted.classes_, new))
        names = {} if rows.ids is None else {identifier or "row": rows.ids}
        columns = {
            f"p_{name}": values for name, values in zip(fitted.classes_, proba.T, strict=True)
        }
        write_columns(out, {**names, **columns})
        click.echo(f"Wrote calibrated probabilities to {out}", err=True)


def _measured(scores: Any, labels: Any, classes: Any, scale: Any) -> dict[str, dict[str, float]]:
    """Measure calibrations on rows that they were not fitted on."""
    import numpy as np

    from abstain import calibration as calibrations
    from abstain.calibration import brier_score, expected_calibration_error, log_loss

    # Every other row of each class, in a fixed pseudo-random order.
    order = np.random.default_rng(0).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    halves = order[::2], order[1::2]
    found = {}
    for name in METHODS[min(len(classes), 3)]:
        proba = np.empty((len(labels), len(classes)))
        for fitting, testing in (halves, halves[::-1]):
            calibrator = calibrations.get(name, scale=scale)
            calibrator.fit(scores[fitting], labels[fitting], classes=classes)
            proba[testing] = calibrator.predict_proba(scores[testing])
        found[name] = {
            "log_loss": float(log_loss(labels, proba, classes=classes)),
            "brier_score": float(brier_score(labels, proba, classes=classes).value),
            "calibration_error": float(expected_calibration_error(labels, proba, classes=classes)),
        }
    return found


def _lines(found: dict[str, Any]) -> list[str]:
    lines = [
        f"Calibrations of {found['rows']:,} rows, measured on the half they were not fitted on "
        f"(lower is better)",
        f"  {'':<12}  {'log loss':>9}  {'Brier':>8}  {'calibration error':>17}",
    ]
    for name, values in found["methods"].items():
        mark = "*" if name == found["selected"] else " "
        lines.append(
            f"{mark} {name:<12}  {values['log_loss']:>9.4f}  {values['brier_score']:>8.4f}  "
            f"{values['calibration_error']:>17.4f}"
        )
    return [*lines, f"* used: {found['selected']}"]
