"""``abstain calibrate``: how well scores can be calibrated, and calibrated probabilities."""

from pathlib import Path
from typing import Any

import click

from abstain.cli import _options as option
from abstain.cli._output import check_outputs, emit, wrote

__all__ = ["calibrate"]

METHODS = {
    2: ("identity", "temperature", "platt", "beta", "isotonic"),
    3: ("identity", "temperature", "bcts", "nbvs", "vector", "isotonic"),
}


@click.command(
    epilog="Example: abstain calibrate validation.csv batch.csv --scores p_ill --label ill "
    "--out calibrated.csv"
)
@option.validation
@click.argument("batch", type=option.FILE, required=False)
@option.scores
@option.label
@option.identifier
@option.scale
@option.calibration
@click.option("--out", type=option.FILE, help="Write the probabilities of BATCH (CSV, Parquet).")
@option.force
@option.as_json
def calibrate(
    validation: Path,
    batch: Path | None,
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
    """Compare calibrations on VALIDATION, and calibrate the scores of BATCH.

    Each is fitted on one half of VALIDATION and measured on the other, both ways round. With
    BATCH and --out its calibrated probabilities are written; they are not adapted to a shift.
    """
    if (batch is None) != (out is None):
        raise click.UsageError("BATCH and --out go together: what to calibrate, and where to.")
    check_outputs(out, force=force)

    from abstain.cli._calibrated import fitted_calibrator
    from abstain.cli._tables import read_predictions, write_columns

    source = read_predictions(validation, scores=scores, label=label)
    fitted = fitted_calibrator(source, calibration, scale)
    values = source.array_for(fitted.classes_)
    found = {
        "rows": len(values),
        "selected": fitted.name,
        "methods": _measured(values, source.labels, fitted.classes_, scale),
    }
    emit(found, _lines(found), as_json)
    if batch is not None and out is not None:
        rows = read_predictions(batch, scores=scores, identifier=identifier)
        proba = fitted.predict_proba(rows.array_for(fitted.classes_))
        columns = {} if rows.ids is None else {rows.id_name: rows.ids}
        for name, column in zip(fitted.classes_, proba.T, strict=True):
            columns[f"p_{name}"] = column
        write_columns(out, columns)
        wrote("calibrated probabilities", out)


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
