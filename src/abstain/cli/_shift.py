"""``abstain shift``: what moved between two files of predictions, and how sure that is."""

import json
from pathlib import Path
from typing import Any

import click

from abstain.cli._options import (
    calibration_option,
    check_with,
    json_option,
    label_option,
    scale_option,
    scores_option,
)

__all__ = ["shift"]


def _estimator(name: str) -> Any:
    from abstain import shift as shifts

    return shifts.get(name)


@click.command(
    epilog="Example: abstain shift validation.csv target.csv --label ill --scores p_ill"
)
@click.argument("validation", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@scores_option
@label_option
@scale_option
@calibration_option
@click.option(
    "--shift",
    "estimator",
    default="em",
    show_default=True,
    callback=check_with(_estimator),
    help="How to estimate the class proportions.",
)
@json_option
def shift(
    validation: Path,
    target: Path,
    *,
    scores: str,
    label: str,
    scale: Any,
    calibration: str,
    estimator: Any,
    as_json: bool,
) -> None:
    """Say how the class proportions moved from VALIDATION to TARGET.

    VALIDATION is a table (CSV or Parquet) of scores with true labels, TARGET one of scores of
    the same classifier on new rows. Prints the proportions with 90% intervals, whether they
    moved, and whether a shift of the proportions explains what changed.
    """
    from abstain.cli._tables import named_classes, read_predictions, scores_for

    source = read_predictions(validation, scores=scores, label=label)
    new = read_predictions(target, scores=scores)
    labels, classes = named_classes(source.labels, source.classes)
    target_scores = scores_for(new, source.classes or (), target)
    found = _facts(source.scores, labels, target_scores, classes, scale, calibration, estimator)
    click.echo(json.dumps(found, indent=2) if as_json else "\n".join(_lines(found)))


def _facts(
    scores_val: Any,
    y_val: Any,
    scores_target: Any,
    classes: Any,
    scale: Any,
    calibration: str,
    estimator: Any,
) -> dict[str, Any]:
    """Return what moved, as plain data."""
    from abstain import calibration as calibrations
    from abstain._inputs import check_labels
    from abstain.shift import check_label_shift, detect_shift

    calibrator = calibrations.get(calibration, scale=scale).fit(scores_val, y_val, classes=classes)
    names = calibrator.classes_
    source, target = calibrator.predict_proba(scores_val), calibrator.predict_proba(scores_target)
    codes = check_labels(y_val, classes=names)
    fitted = estimator.fit(source, target, codes)
    test = detect_shift(source, target, classes=names.tolist())
    check = check_label_shift(source, target, codes, classes=names.tolist(), warn=False)
    return {
        "rows": {"validation": len(source), "target": len(target)},
        "calibration": getattr(calibrator, "selected_", calibrator.name),
        "classes": names.tolist(),
        "priors": {
            "validation": fitted.source_priors_.tolist(),
            "target": fitted.priors_.tolist(),
            "interval": fitted.priors_interval(0.9).tolist(),
        },
        "test": {
            "statistic": test.statistic,
            "p_value": test.p_value,
            "shifted": test.shifted,
            "summary": test.summary(),
        },
        "check": {
            "statistic": check.statistic,
            "degrees_of_freedom": check.degrees_of_freedom,
            "p_value": check.p_value,
            "fits": check.fits,
            "summary": check.summary(),
        },
        "meaning": _meaning(test.shifted, check.fits),
    }


def _lines(found: dict[str, Any]) -> list[str]:
    """Return the facts as lines for people."""
    width = max(9, *(len(str(name)) for name in found["classes"]))
    priors = found["priors"]
    result = [
        f"Class proportions ({found['rows']['validation']:,} validation and "
        f"{found['rows']['target']:,} target rows, calibration {found['calibration']})",
        f"  {'class':<{width}}  validation  target (90% interval)",
    ]
    for name, before, after, (low, high) in zip(
        found["classes"], priors["validation"], priors["target"], priors["interval"], strict=True
    ):
        result.append(
            f"  {name!s:<{width}}  {before:10.3f}  {after:6.3f} ({low:.3f} to {high:.3f})"
        )
    return [
        *result,
        "",
        f"Is there a shift? {found['test']['summary']}",
        f"Is it label shift? {found['check']['summary']}",
        "",
        found["meaning"],
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
            "`abstain run` does with --shift em."
        )
    return "What this means: probabilities can be used as calibrated; adapting changes little."
