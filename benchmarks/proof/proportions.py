"""Class proportions of a label-shifted batch: ours beside those of QuaPy."""

import logging
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from abstain import calibration, shift
from benchmarks.honesty.sets import GROUPS, as_proba, load, missing
from benchmarks.honesty.shifts import Split, split
from benchmarks.proof import repeats
from benchmarks.proof._compare import Compared, Paired, gap_figures, lost_text, percent

__all__ = ["ABOUT", "COLUMNS", "TITLE", "headline", "lines", "names", "skipped", "verdict"]

TITLE = "Class proportions of a shifted batch"

RUNS, QUICK_RUNS = 16, 3
#: Markov chains are slow: only the first of the runs.
BAYESIAN_RUNS, QUICK_BAYESIAN_RUNS = 2, 1
LEVEL = 0.9
LEAST = 1e-9

ABOUT = f"""
{RUNS} splits of each set (300 to 2,000 rows each, validation and batch; the seed is made of the
set's name and the number of the split) whose batch has other class proportions. Every method sees
the same validation rows with labels and the same batch without. MAE and RAE are QuaPy's, against
the proportions of the batch, RAE smoothed by one over twice its rows. Intervals are at
{LEVEL:.0%} for each class, and held if they contain the proportion that the labels of the batch
were drawn with. Seconds are those of a call with all that it needs: calibration, estimate and
intervals, two rows of the table measured at a time.

- *Ours* is what `Abstainer` and `abstain.estimate` take unless told otherwise: calibration
  `"auto"`, then `abstain.shift.AutoShift`, which is not told that it is label shift, as all others
  here are, and so moves less far. *Ours, em* is told.
- *EMQ*, *KDEy* (`KDEyML`, bandwidth 0.1), *BayesianCC*, *BayesianKDEy* and *BayesianMAPLS* are
  QuaPy's, with default settings, behind a classifier that hands the probabilities through.
  *EMQ BCTS* is the setting that QuaPy recommends for EMQ: bias-corrected temperature scaling and
  an estimated training prevalence. What says *calibrated* was given our calibrated probabilities;
  BayesianMAPLS too, since its likelihood is that of EMQ. The rest had the model's own, those of 0
  raised to {LEAST:g}, since several of the methods take logarithms.
- Bayesian methods ran on the first {BAYESIAN_RUNS} splits of each set only: each call compiles and
  runs a Markov chain. NumPyro's check of arguments was turned off, without which BayesianCC does
  not run here.

*Minus ours* is the mean difference of the MAE on the same splits, with its standard error.
"""

GAP = "minus ours"
COLUMNS = ("method", "runs", "MAE", GAP, "RAE", "intervals hold", "seconds")

OURS, EM = "ours", "ours, em"
POINTS = ("EMQ", "EMQ BCTS", "EMQ calibrated", "KDEy", "KDEy calibrated")
AS_THEY_COME = ("EMQ", "EMQ BCTS", "KDEy")
BAYESIAN = ("BayesianCC", "BayesianKDEy", "BayesianMAPLS")

_SETS = (*GROUPS["predictions"], "breast_cancer", "digits", "fair")
_NEEDED = ("quapy", "jax", "numpyro")


def names() -> list[str]:
    """Return the sets that can be had here."""
    return [] if _lacking() else [name for name in _SETS if missing(name) is None]


def skipped() -> list[str]:
    """Return what cannot be had and why."""
    if lacking := _lacking():
        return [f"the packages {', '.join(lacking)} are not installed"]
    reasons = {name: missing(name) for name in _SETS}
    return [f"{name}: {reason}" for name, reason in reasons.items() if reason]


def _lacking() -> list[str]:
    return [package for package in _NEEDED if find_spec(package) is None]


# Methods ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Answer:
    """Estimated proportions, an interval for each where the method has any, and the seconds."""

    proportions: NDArray[Any]
    interval: NDArray[Any] | None
    seconds: float


class HandsThrough(BaseEstimator):  # type: ignore[misc]
    """A fitted classifier for QuaPy whose input is the probabilities."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.classes_ = np.arange(n_classes)

    def fit(self, X: Any, y: Any) -> "HandsThrough":
        """Do nothing: what it predicts was made elsewhere."""
        return self

    def predict_proba(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return what came."""
        return X

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the class of the highest probability."""
        predicted: NDArray[Any] = X.argmax(axis=1)
        return predicted


def answers(part: Split, n_classes: int, *, bayesian: bool) -> Iterator[tuple[str, Answer]]:
    """Yield each method with its answer; one that raises is left out with a warning."""
    start = time.perf_counter()
    calibrator = calibration.get("auto", scale=part.scale)
    calibrator.fit(part.scores_val, part.y_val, classes=range(n_classes))
    calibrated = [np.asarray(calibrator.predict_proba(s)) for s in (part.scores_val, part.scores)]
    calibrating = time.perf_counter() - start
    for name, estimator in ((OURS, shift.AutoShift()), (EM, shift.get("em"))):
        start = time.perf_counter()
        estimator.fit(*calibrated, part.y_val)
        interval = estimator.priors_interval(LEVEL)
        seconds = calibrating + time.perf_counter() - start
        yield name, Answer(estimator.priors_, interval, seconds)
    raw = [_above_0(as_proba(scores, part.scale)) for scores in (part.scores_val, part.scores)]
    if bayesian:
        _warm_up()
    for name in (*POINTS, *(BAYESIAN if bayesian else ())):
        of_ours = name.endswith("calibrated") or name == "BayesianMAPLS"
        val, batch = calibrated if of_ours else raw
        try:
            found = quapy_answer(name, val, part.y_val, batch, intervals=name in BAYESIAN)
        except Exception as error:
            warnings.warn(f"{name}: {type(error).__name__}: {error}", stacklevel=2)
            continue
        more = calibrating if of_ours else 0.0
        yield name, Answer(found.proportions, found.interval, found.seconds + more)


@cache
def _warm_up() -> None:
    """Run a chain on a few rows, so that no method's first call pays for the start of JAX."""
    proba, y = np.tile([[0.8, 0.2], [0.3, 0.7]], (5, 1)), np.tile([0, 1], 5)
    quapy_answer("BayesianCC", proba, y, proba, intervals=True)


def _above_0(proba: NDArray[Any]) -> NDArray[Any]:
    raised = np.maximum(proba, LEAST)
    made: NDArray[Any] = raised / raised.sum(axis=1, keepdims=True)
    return made


def quapy_answer(
    name: str, val: NDArray[Any], y_val: NDArray[Any], batch: NDArray[Any], *, intervals: bool
) -> Answer:
    """Return what a method of QuaPy says of a batch of probabilities."""
    method = _quapy(name)(val, y_val)
    start = time.perf_counter()
    method.fit(val, y_val)
    if not intervals:
        found = np.asarray(method.predict(batch))
        return Answer(found, None, time.perf_counter() - start)
    found, region = method.predict_conf(batch, confidence_level=LEVEL)
    seconds = time.perf_counter() - start
    return Answer(np.asarray(found), np.column_stack([region.I_low, region.I_high]), seconds)


def _quapy(name: str) -> Callable[[NDArray[Any], NDArray[Any]], Any]:
    """Return what makes a method, not fitted, for some validation rows."""
    logging.getLogger("jax").setLevel(logging.ERROR)
    import numpyro
    from quapy.method import _bayesian, aggregative, confidence

    # Its check of counts is no JAX code, and fails inside the chain of BayesianCC.
    numpyro.enable_validation(False)

    def plain(kind: Any) -> Callable[[NDArray[Any], NDArray[Any]], Any]:
        return lambda val, y: kind(
            HandsThrough(val.shape[1]), fit_classifier=False, val_split=None
        )

    makers: dict[str, Callable[[NDArray[Any], NDArray[Any]], Any]] = {
        "EMQ": plain(aggregative.EMQ),
        "EMQ BCTS": lambda val, y: aggregative.EMQ.EMQ_BCTS(
            HandsThrough(val.shape[1]), fit_classifier=False, val_split=(val, y)
        ),
        "KDEy": plain(aggregative.KDEyML),
        "BayesianCC": plain(confidence.BayesianCC),
        "BayesianKDEy": plain(_bayesian.BayesianKDEy),
        "BayesianMAPLS": plain(_bayesian.BayesianMAPLS),
    }
    return makers[name.removesuffix(" calibrated")]


# Figures ----------------------------------------------------------------------------------------


def lines(name: str) -> list[dict[str, Any]]:
    """Return a line for each method on a set."""
    pool = load(name)
    runs = repeats(RUNS, QUICK_RUNS)
    slow = repeats(BAYESIAN_RUNS, QUICK_BAYESIAN_RUNS)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for run in range(runs):
            part = split(pool, "label", run)
            made = answers(part, pool.n_classes, bayesian=run < slow)
            found.append({method: judged(answer, part) for method, answer in made})
    return [_line(method, found) for method in (OURS, EM, *POINTS, *BAYESIAN)]


def judged(answer: Answer, part: Split) -> dict[str, float]:
    """Return the errors of an answer, and for how many classes its interval held."""
    from quapy.error import ae, rae

    assert part.proportions is not None
    truth = np.bincount(part.y, minlength=len(answer.proportions)) / len(part.y)
    held = np.nan
    if answer.interval is not None:
        low, high = answer.interval.T
        drawn = part.proportions
        held = float(np.mean((low - 1e-9 <= drawn) & (drawn <= high + 1e-9)))
    return {
        "MAE": float(ae(truth, answer.proportions)),
        "RAE": float(rae(truth, answer.proportions, eps=1 / (2 * len(part.y)))),
        "held": held,
        "seconds": answer.seconds,
    }


def _line(method: str, found: list[dict[str, dict[str, float]]]) -> dict[str, Any]:
    runs = [run[method] for run in found if method in run]
    errors = [{name: of["MAE"] for name, of in run.items()} for run in found]
    gap, spread = Paired.of(errors, (OURS, method)).against(method)
    own = Paired.of(runs, ())
    return {
        "method": method,
        "runs": len(runs),
        "MAE": own.mean("MAE"),
        "gap": gap,
        "gap_error": spread,
        GAP: "" if method == OURS else gap_figures(gap, spread),
        "RAE": own.mean("RAE"),
        "held": own.mean("held"),
        "intervals hold": percent(own.mean("held")),
        "seconds": own.mean("seconds"),
    }


# Judgement --------------------------------------------------------------------------------------


def verdict(found: dict[str, list[dict[str, Any]]]) -> str:
    """Say where another is better, then what intervals and time come to."""
    held = {method: _pooled(found, method) for method in (OURS, EM, *BAYESIAN)}
    said = ", ".join(f"{method} {percent(share)}" for method, share in held.items() if share >= 0)
    ours, emq, chain = (_seconds(found, method) for method in (OURS, "EMQ", "BayesianMAPLS"))
    return (
        f"- **MAE beside the best peer of each set, picked afterwards**: "
        f"{lost_text(_best(found, POINTS), 'sets')} EMQ on our calibrated probabilities maximises "
        "the likelihood that ours does, less the ten rows' worth of the old proportions that ours "
        "adds: that costs where the proportions moved far, and gains where scores are weak.\n"
        f"- **MAE beside the best peer on the model's own probabilities**: "
        f"{lost_text(_best(found, AS_THEY_COME), 'sets')}\n"
        f"- **Intervals at {LEVEL:.0%}, all classes of all sets**: {said}.\n"
        f"- **Time**: QuaPy's EMQ is faster, {emq:.3f} s against {ours:.2f} s: ours calibrates "
        f"and gives intervals. BayesianMAPLS, which gives them too, takes {chain:.1f} s."
    )


def _best(found: dict[str, list[dict[str, Any]]], peers: tuple[str, ...]) -> Compared:
    """Return the best of some peers on each set."""
    made = {}
    for name, of_set in found.items():
        there = [line for line in of_set if line["method"] in peers and line["runs"]]
        line = min(there, key=lambda line: line["gap"])
        made[name] = {**line, "peer": line["method"]}
    return Compared(made)


def _pooled(found: dict[str, list[dict[str, Any]]], method: str) -> float:
    lines = [line for of_set in found.values() for line in of_set if line["method"] == method]
    lines = [line for line in lines if line["held"] >= 0]
    runs = sum(line["runs"] for line in lines)
    return sum(line["runs"] * line["held"] for line in lines) / runs if runs else float("nan")


def _seconds(found: dict[str, list[dict[str, Any]]], method: str) -> float:
    lines = [line for of_set in found.values() for line in of_set if line["method"] == method]
    return float(np.nanmean([line["seconds"] for line in lines]))


def headline(found: dict[str, list[dict[str, Any]]]) -> tuple[str, str, str]:
    """Return the MAE averaged over the sets."""
    means = {
        method: float(
            np.mean(
                [line["MAE"] for of in found.values() for line in of if line["method"] == method]
            )
        )
        for method in (OURS, *POINTS)
    }
    best = min(POINTS, key=lambda method: means[method])
    compared = _best(found, POINTS)
    return (
        f"{best} {means[best]:.4f} (mean MAE)",
        f"{means[OURS]:.4f}, intervals hold {percent(_pooled(found, OURS))}",
        compared.in_short("sets"),
    )
