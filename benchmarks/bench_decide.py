"""``Abstainer.decide`` as a user calls it, against one plain pass of NumPy over the same scores.

The fit is outside the timings; reading the decisions and the estimate is inside.
"""

from collections.abc import Iterator

import numpy as np

from abstain.metrics import AUROC, SensitivityAtSpecificity
from benchmarks._batches import decide_and_read, one_column, rows, ten_classes
from benchmarks._row import Row, best_of, best_of_each

REPEATS = 3


def run() -> Iterator[Row]:
    yield from _two_classes(rows(10_000_000))
    yield from _growth(rows(10_000_000))
    yield from _ten_classes(rows(1_000_000))


def _two_classes(n: int) -> Iterator[Row]:
    batch = one_column(n)
    for exact, usual in (
        (SensitivityAtSpecificity(0.9, bins=None), SensitivityAtSpecificity(0.9)),
        (AUROC(bins=None), AUROC()),
    ):
        exactly, usually = batch.fitted(exact), batch.fitted(usual)
        what = f"decide, {exact.name}, {n:.0e}"
        took_exact, took, order = best_of_each(
            lambda fitted=exactly: decide_and_read(fitted, batch.scores),
            lambda fitted=usually: decide_and_read(fitted, batch.scores),
            lambda: np.argsort(batch.scores),
            repeats=REPEATS,
        )
        yield Row(f"{what}, exact", took_exact, "argsort", order, at_most=1.0)
        yield Row(f"{what}, as usual", took, "argsort", order, at_most=0.3)
        one, other = (
            fitted.decide(batch.scores).estimate.after.value for fitted in (exactly, usually)
        )
        yield Row(
            f"{what}, difference",
            abs(one - other),
            "allowed",
            1e-5,
            at_most=1,
            unit="",
        )


def _growth(n: int) -> Iterator[Row]:
    """Compare the time per row of many rows with that of fewer."""
    batch = one_column(n)
    fitted = batch.fitted("sensitivity@specificity=0.9")
    # The fewer, the shorter a timing, and the more of them it takes to meet a quiet moment.
    per_row = {
        size: best_of(lambda size=size: decide_and_read(fitted, batch.scores[:size]), repeats)
        / size
        * 1e9
        for size, repeats in ((n // 100, 30), (n // 10, 10), (n, REPEATS))
    }
    for size in (n // 100, n // 10):
        yield Row(
            f"decide, time per row of {n:.0e}",
            per_row[n],
            f"per row of {size:.0e}",
            per_row[size],
            at_most=1.05,
            unit="ns",
        )


def _ten_classes(n: int) -> Iterator[Row]:
    batch = ten_classes(n)
    for metric in ("accuracy", "kappa:quadratic"):
        fitted = batch.fitted(metric)
        took, plain = best_of_each(
            lambda fitted=fitted: decide_and_read(fitted, batch.scores),
            lambda: (batch.scores.argmax(1), batch.scores.sum()),
            repeats=REPEATS,
        )
        yield Row(f"decide, {metric}, {n:.0e} x 10", took, "argmax(1), one sum", plain, at_most=12)
