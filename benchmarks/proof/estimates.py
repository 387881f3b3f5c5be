"""A metric of a batch without its labels: ours beside CBPE, ATC, DoC and the validation value."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import abstain
from abstain import metrics
from benchmarks.honesty import nanny
from benchmarks.honesty.peers import by_confidence
from benchmarks.honesty.sets import GROUPS, Pool, load, missing
from benchmarks.honesty.shifts import Shift, Split, split
from benchmarks.proof import repeats
from benchmarks.proof._compare import Compared, Paired, gap_text, lost_text, percent

__all__ = ["ABOUT", "COLUMNS", "TITLE", "headline", "lines", "names", "skipped", "verdict"]

TITLE = "A metric without labels"

RUNS, QUICK_RUNS = 16, 3

ABOUT = f"""
The figure is the mean absolute error of the estimate, the lowest of a line in bold. Every method
sees the same validation rows with labels and the same batch without, and estimates the metric of
the same predictions, those of the model itself.

- **drift**: the four sets that NannyML brings, each with its own reference and analysis rows, in
  chunks of the size that its documentation takes. What drifts there is not said.
- **label**: {RUNS} splits of each other set (300 to 2,000 rows each, validation and batch; the
  seed is made of the set's name and the number of the split) whose batch has other class
  proportions.
- **other**: as many splits whose batch has uncertain rows four times as often as certain ones.
  That is not label shift: ours has to find that out, where CBPE and DoC take it for granted.

*Ours* is `abstain.estimate` with default settings. *CBPE* is the NannyML package itself, fitted on
the validation rows, on every set. *ATC* is average thresholded confidence (Garg and others, 2022),
*DoC* difference of confidences (Guillory and others, 2021), both of accuracy only and on scores
scaled by a temperature fitted on the validation rows, as the first of the two papers advises.
*Validation* is the value on the validation rows.

Our intervals are to hold nine times in ten. NannyML's confidence bounds are three sampling errors
to each side (nominally 99.7 %): what chance alone does to a metric of a chunk of that size. They
are not meant to hold what a drift or the calibration do to the estimate.
"""

METHODS = ("ours", "CBPE", "ATC", "DoC", "validation")
LOWEST = METHODS
GAP = "best peer minus ours"
COLUMNS = (
    "shift", "metric", "runs", *METHODS, GAP, "ours holds", "CBPE's bounds hold", "ours is wide",
    "CBPE's are wide",
)  # fmt: skip

#: An error that makes an estimate useless.
FAR_OFF = 0.1

#: Our name of a metric, and NannyML's.
OF_TWO = {"accuracy": "accuracy", "auroc": "roc_auc"}
OF_MANY = {"accuracy": "accuracy", "f1:macro": "f1"}

_SPLIT = (*GROUPS["predictions"], *GROUPS["sklearn"], *GROUPS["statsmodels"])

_WHY = {
    "drift": "What drifted there is not known; ours weighs what may have happened.",
    "label": "There label shift is the right model, and the peers assume that none happened.",
    "other": (
        "There a score means what it meant and only the mix of scores moved, which is what CBPE "
        "and DoC assume. Ours has to find that out."
    ),
}


def names() -> list[str]:
    """Return the sets that can be had here."""
    if _without_nannyml():
        return []
    return [name for name in (*nanny.SOURCES, *_SPLIT) if missing(name) is None]


def skipped() -> list[str]:
    """Return what cannot be had and why."""
    if reason := _without_nannyml():
        return [reason]
    reasons = {name: missing(name) for name in (*nanny.SOURCES, *_SPLIT)}
    return [f"{name}: {reason}" for name, reason in reasons.items() if reason]


def _without_nannyml() -> str | None:
    from importlib.util import find_spec

    return None if find_spec("nannyml") else "the package nannyml is not installed"


# Batches to estimate ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Batch:
    """Validation rows and a batch with the model's predictions, and what CBPE said of them."""

    part: Split
    prediction_val: NDArray[Any]
    prediction: NDArray[Any]
    proba_val: NDArray[Any]
    proba: NDArray[Any]
    #: By our name of the metric: value, lower and upper bound.
    cbpe: dict[str, tuple[float, float, float]]


def _of(n_classes: int) -> dict[str, str]:
    return OF_TWO if n_classes == 2 else OF_MANY


def chunked(name: str) -> Iterator[Batch]:
    """Yield NannyML's chunks of one of its sets."""
    source = nanny.SOURCES[name]
    reference, analysis = source.parts()
    classes = np.unique(reference.y)
    code = partial(np.searchsorted, classes)
    pools = [Pool(name, rows.scores, code(rows.y), "probabilities") for rows in source.parts()]
    predictions = [code(rows.frame[source.prediction].to_numpy()) for rows in source.parts()]
    of = _of(len(classes))
    found = nanny.cbpe(source, reference.frame, analysis.frame, tuple(of.values()))
    places = nanny.chunks(len(analysis.y), source.chunk)
    if len(places) > 1 and places[-1].stop - places[-1].start < source.chunk:
        # NannyML adds what is left over to the last whole chunk or makes a chunk of it.
        places = places[: len(found["accuracy"].value)]
        places[-1] = slice(places[-1].start, len(analysis.y))
    for i, rows in enumerate(places[: repeats(len(places), 4)]):
        part = Split(
            pools[0].scores,
            pools[0].y,
            pools[1].scores[rows],
            pools[1].y[rows],
            "probabilities",
            i,
        )
        cbpe = {
            ours: (found[theirs].value[i], found[theirs].low[i], found[theirs].high[i])
            for ours, theirs in of.items()
        }
        proba = pools[0].proba, pools[1].proba[rows]
        yield Batch(part, predictions[0], predictions[1][rows], *proba, cbpe)


def resampled(name: str, shift: Shift) -> Iterator[Batch]:
    """Yield splits of a set under a shift."""
    pool = load(name)
    for run in range(repeats(RUNS, QUICK_RUNS)):
        part = split(pool, shift, run)
        val = Pool(name, part.scores_val, part.y_val, part.scale)
        batch = Pool(name, part.scores, part.y, part.scale)
        predictions = val.proba.argmax(axis=1), batch.proba.argmax(axis=1)
        cbpe = _cbpe_of_one(val, batch, *predictions)
        yield Batch(part, *predictions, val.proba, batch.proba, cbpe)


def _cbpe_of_one(
    val: Pool, batch: Pool, prediction_val: NDArray[Any], prediction: NDArray[Any]
) -> dict[str, tuple[float, float, float]]:
    """Return what NannyML says of a batch that is one chunk; NaN where it cannot be fitted."""
    k = val.n_classes
    columns: Any = "p1" if k == 2 else {code: f"p{code}" for code in range(k)}
    source = nanny.Source("", "truth", "prediction", columns, len(batch.y))
    of = _of(k)
    try:
        found = nanny.cbpe(
            source, _frame(val, prediction_val), _frame(batch, prediction), tuple(of.values())
        )
    except Exception as error:
        warnings.warn(f"CBPE: {type(error).__name__}: {error}", stacklevel=2)
        return dict.fromkeys(of, (np.nan, np.nan, np.nan))
    return {
        ours: (found[theirs].value[0], found[theirs].low[0], found[theirs].high[0])
        for ours, theirs in of.items()
    }


def _frame(pool: Pool, prediction: NDArray[Any]) -> Any:
    import pandas as pd

    table = {f"p{code}": column for code, column in enumerate(pool.proba.T)}
    return pd.DataFrame({**table, "prediction": prediction, "truth": pool.y})


# Estimates --------------------------------------------------------------------------------------


def lines(name: str) -> list[dict[str, Any]]:
    """Return the errors on a set, a line for each shift and metric."""
    if name in nanny.SOURCES:
        return _lines("drift", chunked(name))
    return [line for shift in ("label", "other") for line in _lines(shift, resampled(name, shift))]


def _lines(shift: str, batches: Iterator[Batch]) -> list[dict[str, Any]]:
    found: dict[str, list[dict[str, float]]] = {}
    for batch in batches:
        for metric, errors in judged(batch):
            found.setdefault(metric, []).append(errors)
    return [_line(shift, metric, runs) for metric, runs in found.items()]


def judged(batch: Batch) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield each metric with the absolute errors, and whether and how widely bounds held."""
    part, k = batch.part, batch.proba.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = abstain.estimate(
            part.scores_val, part.y_val, part.scores, [*batch.cbpe], scale=part.scale,
            prediction_val=batch.prediction_val, prediction=batch.prediction, classes=range(k),
            random_state=part.seed,
        )  # fmt: skip
    for name, (value, low, high) in batch.cbpe.items():
        metric = metrics.get(name)
        truth = metric.observed(part.y, batch.proba, prediction=batch.prediction)
        if np.isnan(truth):
            continue
        then = metric.observed(part.y_val, batch.proba_val, prediction=batch.prediction_val)
        said = {"ours": ours[name].value, "CBPE": value, "validation": then}
        if name == "accuracy" and len(np.unique(part.y_val)) == k:
            said |= by_confidence(part, batch.prediction_val, batch.prediction)
        errors = {method: abs(one - truth) for method, one in said.items()}
        bounds = {"ours": ours[name].interval, "CBPE": (low, high)}
        for method, (least, most) in bounds.items():
            errors[f"{method} held"] = _held(least, truth, most)
            errors[f"{method} width"] = most - least
        yield name, errors


def _held(low: float, truth: float, high: float) -> float:
    """Return 1 where bounds hold the truth, NaN where there are none."""
    if np.isnan(low) or np.isnan(high):
        return np.nan
    # Rounding may put a value that equals an end a hair outside.
    return float(low - 1e-9 <= truth <= high + 1e-9)


def _line(shift: str, metric: str, runs: list[dict[str, float]]) -> dict[str, Any]:
    paired = Paired.of(runs, METHODS)
    return {
        "shift": shift,
        "metric": metric,
        "runs": len(runs),
        **paired.means,
        **paired.gap,
        GAP: gap_text(paired.gap),
        "held": paired.mean("ours held"),
        "bounds held": paired.mean("CBPE held"),
        "ours holds": percent(paired.mean("ours held")),
        "CBPE's bounds hold": percent(paired.mean("CBPE held")),
        "ours is wide": paired.mean("ours width"),
        "CBPE's are wide": paired.mean("CBPE width"),
    }


# Judgement --------------------------------------------------------------------------------------


def verdict(found: dict[str, list[dict[str, Any]]]) -> str:
    """Say, for each kind of shift, where another is better, and how often intervals hold."""
    blocks = []
    for shift, why in _WHY.items():
        compared = _compared(found, shift)
        if compared.lines:
            said = (lost_text(compared), why, _far_off(compared), _held_text(found, shift))
            blocks.append(f"- **{shift}**: {' '.join(filter(None, said))}")
    return "\n".join(blocks)


def _far_off(compared: Compared) -> str:
    """Name the lines on which no method is near."""
    far = [
        name
        for name, line in compared.lines.items()
        if min(line[method] for method in METHODS if line[method] >= 0) > FAR_OFF
    ]
    if not far:
        return ""
    return (
        f"Every method is off by more than {FAR_OFF:g} on {', '.join(far)}: what a score means "
        "has changed there, which unlabelled rows cannot show."
    )


def _compared(found: dict[str, list[dict[str, Any]]], shift: str) -> Compared:
    return Compared(
        {
            f"{name} {line['metric']}": line
            for name, of_set in found.items()
            for line in of_set
            if line["shift"] == shift
        }
    )


def _held_text(found: dict[str, list[dict[str, Any]]], shift: str) -> str:
    lines = _compared(found, shift).lines.values()
    runs = sum(line["runs"] for line in lines)
    ours, cbpe = (
        sum(line["runs"] * line[column] for line in lines if line[column] >= 0) / runs
        for column in ("held", "bounds held")
    )
    return (
        f"Our 90 % intervals held {percent(ours)} of the time, CBPE's bounds of three sampling "
        f"errors {percent(cbpe)}."
    )


def headline(found: dict[str, list[dict[str, Any]]]) -> tuple[str, str, str]:
    """Return errors averaged over the lines of each shift."""
    peers, ours, words = [], [], []
    for shift in _WHY:
        compared = _compared(found, shift)
        if not compared.lines:
            continue
        errors = compared.mean_errors(METHODS, of="accuracy")
        best = min((m for m in errors if m != "ours"), key=lambda m: errors[m])
        peers.append(f"{shift}: {best} {errors[best]:.4f}")
        ours.append(f"{shift}: {errors['ours']:.4f}")
        words.append(f"{shift}: {compared.in_short()}")
    return "; ".join(peers) + " (mean error of accuracy)", "; ".join(ours), "; ".join(words)
