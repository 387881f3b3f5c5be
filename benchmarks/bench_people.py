"""What people wait for: a thousand rows, a thousand classes, one row, one page, one command.

Medians of warm calls with default settings, each beside the time that was set for it and beside
the least that could be done: `argsort` or one pass over the same rows, or a peer that does a part
of it. GPUs and clusters are measured by `gpu` and `cluster`.
"""

import contextlib
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import abstain
from abstain import Policy
from benchmarks._batches import (
    ROOT,
    Batch,
    classes,
    decide_and_read,
    one_column,
    rows,
    ten_classes,
)
from benchmarks._row import Row
from benchmarks.bench_memory import added

METRIC = "sensitivity@specificity=0.9"
# Rows, and the milliseconds they are to take.
SIZES = {100: 10, 1_000: 15, 10_000: 25, 100_000: 50, 1_000_000: 150}
THREE = ["accuracy", "auroc", METRIC]
CALLS = 1_000
# Classes, rows with labels and without; the goals in milliseconds, megabytes and times the input.
MANY: dict[tuple[int, int, int], dict[str, float | None]] = {
    (100, 5_000, 5_000): {"fit": 500, "decide": 500, "policy": None, "memory": None},
    (1_000, 20_000, 5_000): {"fit": 5_000, "decide": 5_000, "policy": 5, "memory": None},
    (1_000, 25_000, 25_000): {"fit": 7_500, "decide": 7_500, "policy": None, "memory": 4},
}
LEAST, MOST = 3, 15
# A call is repeated for about so many seconds.
PATIENCE = 1.0
COMMAND = "import sys; sys.argv[0] = 'abstain'; from abstain.cli import main; main()"
RUN = ("--scores", "logit", "--scale", "logits", "--label", "ill", "--budget", "0.15")


def run() -> Iterator[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from _two_classes()
        yield from _one_row()
        yield from _ten_classes()
        yield from _many_classes()
        yield from _page_and_command()
        yield from _peers()


def median(function: Callable[[], Any]) -> float:
    """Return the median of several timings in milliseconds, after one call to warm up."""
    function()
    taken: list[float] = []
    while len(taken) < LEAST or (sum(taken) < PATIENCE and len(taken) < MOST):
        taken.append(once(function) / 1e3)
    return float(np.median(taken)) * 1e3


def once(function: Callable[[], Any]) -> float:
    """Return how many milliseconds one call takes."""
    start = time.perf_counter()
    function()
    return (time.perf_counter() - start) * 1e3


def _beside(what: str, took: float, goal: float | None, peer: str, theirs: float) -> Iterator[Row]:
    """Yield the row of a goal, where there is one, and that of a peer."""
    if goal is not None:
        yield Row(what, took, "goal", goal, at_most=1, unit="ms")
    yield Row(what, took, peer, theirs, unit="ms")


def _two_classes() -> Iterator[Row]:
    batch = one_column(rows(max(SIZES)))
    fitted = batch.fitted(METRIC)
    one_pass = median(lambda: batch.scores_val.sum())
    yield from _beside(
        "fit, 5,000 rows", median(lambda: batch.fitted(METRIC)), 25, "sum", one_pass
    )
    took: dict[int, float] = {}
    for n, goal in SIZES.items():
        few = batch.scores[:n]
        took[n] = median(lambda few=few: decide_and_read(fitted, few))
        order = median(lambda few=few: np.argsort(few))
        yield from _beside(f"decide, estimate, {n:,} rows", took[n], goal, "argsort", order)
    yield _growth("decide, growth from 1e5 to 1e6 rows", took[10**6], took[10**5])
    few = batch.scores[:100_000]
    three = median(lambda: estimated(batch, few, THREE))
    order = median(lambda: np.argsort(few))
    yield from _beside("estimate, three metrics, 100,000 rows", three, 120, "argsort", order)


def _growth(what: str, more: float, fewer: float, times: float = 10.0) -> Row:
    """Return the slope of time over size, both on a logarithmic scale."""
    slope = float(np.log(more / fewer) / np.log(times))
    return Row(what, slope, "in proportion", 1.0, at_most=1.05, unit="")


def estimated(batch: Batch, scores: NDArray[Any], metrics: list[str]) -> Any:
    """Estimate metrics of a batch, without labels."""
    return abstain.estimate(
        batch.scores_val, batch.y_val, scores, metrics=metrics, scale="logits", random_state=0
    )


def _one_row() -> Iterator[Row]:
    batch = one_column(10_000)
    policy = batch.fitted(METRIC).decide(batch.scores).policy
    one = batch.scores[:1]

    def applied() -> None:
        for _ in range(CALLS):
            policy.apply(one)

    # A thousand calls in milliseconds are one in microseconds.
    yield Row("Policy.apply, one row", median(applied), "goal", 10, at_most=1, unit="us")


def _ten_classes() -> Iterator[Row]:
    million = rows(1_000_000)
    batch = ten_classes(million)
    for metric, n, goal in (
        ("accuracy", 10_000, 100.0),
        ("accuracy", million, None),
        ("kappa", million, None),
    ):
        few, fitted = batch.scores[:n], batch.fitted(metric)
        took = median(lambda fitted=fitted, few=few: decide_and_read(fitted, few))
        plain = median(lambda few=few: (few.argmax(1), few.sum()))
        what = f"decide, {metric}, {n:,} x 10"
        if goal is not None:
            yield Row(what, took, "goal", goal, at_most=1, unit="ms")
        at_most = None if goal is not None else {"accuracy": 8.0, "kappa": 10.0}[metric]
        yield Row(what, took, "argmax(1), one sum", plain, at_most=at_most, unit="ms")


def _many_classes() -> Iterator[Row]:
    found = {}
    for k, n_val, n in MANY:
        name, goals = f"{k:,} classes x {n_val:,} + {n:,}", MANY[k, n_val, n]
        code = f"from benchmarks.bench_people import measure; measure({k}, {n_val}, {n})"
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True)
        if done.returncode:
            why = done.stderr.decode().strip().splitlines() or ["the system ended it"]
            print(f"  {name}: {why[-1]}")
            continue
        one = found[k, n_val] = json.loads(done.stdout)
        yield from _beside(f"fit, {name}", one["fit"], goals["fit"], "one sum", one["sum"])
        yield from _beside(
            f"decide, {name}", one["decide"], goals["decide"], "one sum", one["sum"]
        )
        for what, peer, theirs in (
            ("policy", "goal", 1.0),
            ("memory", "the logits", one["input"]),
        ):
            yield Row(f"{what}, {name}", one[what], peer, theirs, at_most=goals[what], unit="MB")
    # Per number of the input: 25,000 rows of 1,000 classes hold 25 times those of 10,000 of 100.
    more, fewer = (found.get(size) for size in ((1_000, 20_000), (100, 5_000)))
    if more and fewer:
        took = [one["fit"] + one["decide"] for one in (more, fewer)]
        yield _growth("fit and decide, growth in numbers", *took, more["input"] / fewer["input"])


def measure(k: int, n_val: int, n: int) -> None:
    """Print what very many classes take, in a process that gives up before others have to."""
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    warnings.simplefilter("ignore")
    batch = classes(k, n_val, n)
    size = batch.scores_val.nbytes + batch.scores.nbytes
    found: dict[str, float] = {"sum": once(lambda: (batch.scores_val.sum(), batch.scores.sum()))}

    def fit_and_decide() -> None:
        start = time.perf_counter()
        fitted = batch.fitted("accuracy")
        middle = time.perf_counter()
        policies.append(decide_and_read(fitted, batch.scores).policy)
        found.update(fit=(middle - start) * 1e3, decide=(time.perf_counter() - middle) * 1e3)

    policies: list[Policy] = []
    more, _ = added(fit_and_decide)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.json"
        policies[0].save(path)
        found |= {"memory": (size + more) / 1e6, "policy": path.stat().st_size / 1e6}
    print(json.dumps({**found, "input": size / 1e6}))


def _page_and_command() -> Iterator[Row]:
    from abstain.report import Report

    batch = one_column(1_000)
    decisions = batch.fitted(METRIC).decide(batch.scores)
    alone = median(lambda: Report(decisions).to_html())
    whole = median(
        lambda: Report(decisions, scores_val=batch.scores_val, y_val=batch.y_val).to_html()
    )
    yield Row("back-test in a report", max(whole - alone, 0), "the report", whole, unit="ms")
    many = classes(100, 5_000, 5_000)
    decisions = many.fitted("accuracy").decide(many.scores)
    report = Report(decisions, scores_val=many.scores_val, y_val=many.y_val)
    took = once(lambda: report.to_html())
    yield Row("report, 100 classes x 5,000 + 5,000", took, "goal", 1e4, at_most=1, unit="ms")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder / "val.csv", {"logit": batch.scores_val[:1_000], "ill": batch.y_val[:1_000]})
        _write(folder / "batch.csv", {"logit": batch.scores})
        files = [str(folder / "val.csv"), str(folder / "batch.csv")]
        out = ["--force", "--out", str(folder / "out.csv"), "--report", str(folder / "page.html")]
        took = median(lambda: _command("run", *files, *RUN, "--metric", METRIC, *out))
        yield Row("abstain run --report, 1,000 + 1,000", took, "goal", 1_500, at_most=1, unit="ms")
    took, python = median(lambda: _command("--help")), median(lambda: _child("pass"))
    yield from _beside("abstain --help", took, 250, "python -c pass", python)


def _write(path: Path, columns: dict[str, NDArray[Any]]) -> None:
    table = np.column_stack([*columns.values()])
    np.savetxt(path, table, delimiter=",", header=",".join(columns), comments="")


def _command(*arguments: str) -> None:
    _child(COMMAND, *arguments)


def _child(code: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True)


def _peers() -> Iterator[Row]:
    """Yield what others take for a part of it, where they are installed."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.linear_model import LogisticRegression

    batch = one_column(100_000)
    rows_val = batch.scores_val[:, None]
    theirs = median(
        lambda: CalibratedClassifierCV(LogisticRegression(), cv=5).fit(rows_val, batch.y_val)
    )
    ours = median(lambda: batch.fitted(METRIC))
    yield Row("fit, 5,000 rows", ours, "CalibratedClassifierCV", theirs, unit="ms")
    p_val, p = (1 / (1 + np.exp(-scores)) for scores in (batch.scores_val, batch.scores))
    ours = median(lambda: estimated(batch, batch.scores, THREE[:2]))
    for package, peer, function in (
        ("nannyml", "NannyML CBPE", lambda: _cbpe(p_val, batch.y_val, p)),
        ("quapy", "QuaPy EMQ", lambda: _emq(p_val, p)),
    ):
        if find_spec(package) is None:
            print(f"  {peer} is not installed here")
            continue
        with contextlib.redirect_stdout(io.StringIO()):
            theirs = median(function)
        yield Row("estimate, two metrics, 100,000 rows", ours, peer, theirs, unit="ms")


def _cbpe(p_val: NDArray[Any], y_val: NDArray[Any], p: NDArray[Any]) -> Any:
    os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"
    import nannyml
    import pandas as pd

    reference = pd.DataFrame({"p": p_val, "prediction": (p_val >= 0.5) * 1, "y": y_val})
    analysis = pd.DataFrame({"p": p, "prediction": (p >= 0.5) * 1})
    cbpe = nannyml.CBPE(
        y_pred_proba="p",
        y_pred="prediction",
        y_true="y",
        problem_type="classification_binary",
        metrics=["accuracy", "roc_auc"],
        chunk_number=1,
    )
    return cbpe.fit(reference).estimate(analysis)


def _emq(p_val: NDArray[Any], p: NDArray[Any]) -> Any:
    from quapy.method.aggregative import EMQ

    both = np.column_stack([1 - p, p])
    return EMQ.EM(np.array([1 - p_val.mean(), p_val.mean()]), both, epsilon=1e-7)
