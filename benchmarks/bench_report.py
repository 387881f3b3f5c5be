"""From scores to the page of the report: fit, decide and render."""

from collections.abc import Iterator

from abstain.report import Report
from benchmarks._batches import Batch, one_column, rows
from benchmarks._row import Row, best_of_each

ROWS = 1_000_000
GOAL = 4.0


def run() -> Iterator[Row]:
    n = rows(ROWS)
    batch = one_column(n)
    page, decisions = best_of_each(
        lambda: Report(_decided(batch), scores_val=batch.scores_val, y_val=batch.y_val).to_html(),
        lambda: _decided(batch),
        repeats=3,
    )
    yield Row(f"fit, decide and report, {n:.0e}", page, "goal", GOAL, at_most=1)
    yield Row(f"fit, decide and report, {n:.0e}", page, "fit and decide", decisions)


def _decided(batch: Batch):
    return batch.fitted("sensitivity@specificity=0.9").decide(batch.scores)
