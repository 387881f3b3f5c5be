"""``abstain estimate``: how well a model does on a batch without labels, without abstaining."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from abstain.cli import _options as option
from abstain.cli._output import emit, stop_on_doubts


@click.command(
    cls=option.Grouped,
    epilog="Example: abstain estimate validation.csv batch.csv --label ill --scores p_ill "
    "--metric accuracy --metric auroc --metric f1",
)
@option.validation
@option.batch
@option.metrics(
    required=True,
    help="What to estimate, e.g. accuracy, auroc, kappa:quadratic; may be given several times. "
    "`abstain metrics` lists them.",
)
@option.scores
@option.label
@option.positive
@click.option(
    "--prediction",
    help="The column with the predicted label, in both tables; without it the class with the "
    "highest score.",
)
@option.reading()
@option.scale
@option.calibration
@option.shift
@option.level
@option.random_state
@option.strict
@option.as_json
def estimate(
    validation: Path,
    batch: Path,
    *,
    metrics: tuple[Any, ...],
    scores: str,
    label: str,
    positive: str | None,
    prediction: str | None,
    reading: option.Reading,
    strict: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Estimate how well a model does on BATCH, without its labels; nothing is withheld.

    VALIDATION is a table (CSV, Excel or Parquet) of scores with true labels, BATCH one of scores
    of the same classifier on new rows; its labels, if any, are not looked at. Either may be a
    quoted pattern of many files. Prints each metric with its interval, the class proportions,
    and what was assumed.
    """
    import numpy as np

    from abstain import estimate as estimated
    from abstain.cli._positive import settled_classes
    from abstain.cli._tables import read_predictions

    how: dict[str, Any] = {"prediction": prediction, "scale": settings["scale"]}
    source = read_predictions(
        validation, scores=scores, label=label, reading=reading.of_validation, **how
    )
    new = read_predictions(batch, scores=scores, reading=reading, **how)
    classes = settled_classes(
        source,
        positive,
        needing=(f"--metric {metric.name}" for metric in metrics if metric.of_positive),
    )
    found = estimated(
        source.scores,
        source.labels,
        new.scores_for(np.unique(source.labels) if source.classes is None else source.classes),
        metrics,
        prediction_val=_like(source.predictions, source.labels),
        prediction=_like(new.predictions, source.labels),
        classes=classes.columns,
        positive=classes.positive,
        **settings,
    )
    facts, said = found.to_dict(), [found.to_text()]
    stop_on_doubts(facts, said, as_json, strict=strict)
    emit(facts, said, as_json)


def _like(predictions: Any, labels: Any) -> Any:
    """Return predictions as text where labels are: they may be read as numbers."""
    if predictions is None or labels.dtype.kind != "U":
        return predictions
    return predictions.astype(str)
