"""``abstain calibrate``: how well scores can be calibrated, and calibrated probabilities.

And what the commands begin with that choose nothing: both files calibrated, and what moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import click

from abstain.cli import _options as option
from abstain.cli._terminal import in_a_line

if TYPE_CHECKING:
    from abstain._inputs import ClassOrder, LabelledScores, Scale
    from abstain.calibration import Calibrator
    from abstain.cli._labels import Classes
    from abstain.cli._predictions import Predictions
    from abstain.deciding import ShiftEvidence
    from abstain.metrics import Metric
    from abstain.summaries import BatchSummary, LabelledSummary

METHODS = {
    2: ("identity", "temperature", "platt", "beta", "isotonic"),
    3: ("identity", "temperature", "bcts", "nbvs", "vector", "isotonic"),
}


@option.command(
    "abstain calibrate validation.csv batch.csv --scores p_ill --label ill --out calibrated.csv"
)
@option.tables("scores", "label", "positive", "identifier", method=(), optional=True)
@option.outputs(
    "force",
    "as_json",
    out="Write the probabilities of BATCH: .csv, .csv.gz, .tsv, .parquet or .xlsx.",
)
def calibrate(*, tables: option.Tables, outputs: option.Outputs) -> None:
    """Compare calibrations on VALIDATION, and calibrate the scores of BATCH.

    Each is fitted on one half of VALIDATION and measured on the other, both ways round. With
    BATCH and --out its calibrated probabilities are written; they are not adapted to a shift.
    """
    if (tables.batch is None) != (outputs.out is None):
        raise click.UsageError("BATCH and --out go together: what to calibrate, and where to.")
    outputs.check(*tables.inputs)

    import pyarrow as pa

    from abstain._inputs import read_scores
    from abstain.calibration import get
    from abstain.cli._writing import save_table
    from abstain.decisions import free_name

    scale, source = tables.method.scale, tables.labelled()
    given = _given(source, tables.classes(source), scale)
    values, order = given.values, given.order
    calibrator = get(tables.method.calibration, scale=scale)
    fitted = calibrator.fit(values, source.labels, classes=order.classes).picked
    found = {
        "rows": len(values),
        "positive": order.positive,
        "selected": fitted.name,
        "methods": _measured(values, source.labels, fitted.classes_, scale),
    }
    if outputs.out is None:
        option.emit(found, _lines(found), outputs.as_json)
        return
    rows = tables.new()
    scores_new = read_scores(rows.scores_for(order.columns), order, scale=scale).values
    made = {} if rows.ids is None else {rows.id_name: rows.ids}
    for name, column in zip(fitted.classes_, fitted.predict_proba(scores_new).T, strict=True):
        made[free_name(f"p_{name}", made)] = column
    with outputs.landing(found, _lines(found), "calibrated probabilities") as place:
        save_table(place, outputs.out, pa.table(made), (source, rows))


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
    if found["positive"] is not None:
        lines.insert(0, f"Positive class: {in_a_line(found['positive'])}")
    return [*lines, f"* used: {found['selected']}"]


def _given(source: Predictions, classes: Classes, scale: Scale) -> LabelledScores:
    """Return labelled predictions as the library has them."""
    from abstain._inputs import read_labelled

    given = {"classes": classes.columns, "positive": classes.positive}
    return read_labelled(source.scores, source.labels, scale=scale, **given)


@dataclass(frozen=True, eq=False)
class Basis:
    """The two files calibrated, and what is estimated of them before anything is chosen.

    Attributes
    ----------
    calibrator : Calibrator
        Fitted on the validation data.
    labelled, summary : LabelledSummary and BatchSummary
        The validation data and the batch, calibrated and not adapted.
    evidence : ShiftEvidence
        What moved.
    order : ClassOrder
        How the classes stand.
    seed : int
        What seeds draws.
    """

    calibrator: Calibrator
    labelled: LabelledSummary
    summary: BatchSummary
    evidence: ShiftEvidence
    order: ClassOrder
    seed: int

    @classmethod
    def of(
        cls,
        source: Predictions,
        new: Predictions,
        classes: Classes,
        method: option.Method,
        metric: Metric | None = None,
    ) -> Self:
        """Calibrate both on the labelled one, and estimate what moved."""
        from abstain import metrics
        from abstain import shift as shifts
        from abstain._inputs import check_seed, read_scores
        from abstain.deciding import Batch, Given, calibrated, estimate_shift
        from abstain.selection import Selection

        metric = metrics.get("accuracy") if metric is None else metric
        seed, estimator = check_seed(method.random_state), shifts.get(method.shift)
        given = _given(source, classes, method.scale)
        order, rows = given.order, given.scores
        picking, labelled = calibrated(
            method.calibration, estimator, rows, given.codes, None, order.classes
        )
        calibrator = picking.picked
        scores = read_scores(new.scores_for(order.columns), order, scale=method.scale).values
        metric.check_n_classes(len(order.classes))
        compact = calibrator.compact(scores)
        summary = Batch.of_rows(compact, None, metric, Selection()).summary
        how = Given(labelled, estimator, metric, Selection(), order.classes, seed)
        return cls(calibrator, labelled, summary, estimate_shift(how, summary), order, seed)
