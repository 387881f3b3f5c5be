"""``abstain estimate``: how well a model does on a batch without labels, without abstaining."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from abstain.cli import _options as option


@option.command(
    "abstain estimate validation.csv batch.csv --label ill --scores p_ill "
    "--metric accuracy --metric auroc --metric f1"
)
@option.validation
@option.batch
@option.metrics(
    required=True,
    help="What to estimate, e.g. accuracy, auroc, kappa:quadratic; may be given several times. "
    "`abstain metrics` lists them.",
)
@option.columns("scores", "label", "positive", "prediction")
@option.reading()
@option.method("shift", "level", "random_state")
@option.outputs("strict", "as_json")
def estimate(
    validation: Path,
    batch: Path,
    *,
    metrics: tuple[Any, ...],
    columns: option.Columns,
    reading: option.Reading,
    method: option.Method,
    outputs: option.Outputs,
) -> None:
    """Estimate how well a model does on BATCH, without its labels; nothing is withheld.

    VALIDATION is a table (CSV, Excel or Parquet) of scores with true labels, BATCH one of scores
    of the same classifier on new rows; its labels, if any, are not looked at. Either may be a
    quoted pattern of many files. Prints each metric with its interval, the class proportions,
    and what was assumed.
    """
    import numpy as np

    from abstain import estimate as estimated
    from abstain.cli._labels import classes_of
    from abstain.cli._predictions import read_predictions, read_validation

    source = read_validation(validation, columns, reading, scale=method.scale)
    new = read_predictions(batch, columns.of_batch, reading, scale=method.scale)
    needing = (f"--metric {metric.name}" for metric in metrics if metric.of_positive)
    classes = classes_of(source, columns.positive, needing=needing)
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
