"""The table of goals: one line for each, measured here, with the goal beside it."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain import Abstainer, calibration
from abstain.datasets import screening_clinic, simulate_binary_normal
from abstain.exceptions import AssumptionWarning, TargetUnreachable
from benchmarks.honesty import nanny
from benchmarks.honesty.run import Check, PeerCheck
from benchmarks.honesty.sets import load, missing
from benchmarks.honesty.shifts import SHIFTS, split
from benchmarks.honesty.tables import ENOUGH, OURS, cells, overall, peer_errors

__all__ = ["Goal", "goals", "lines"]

LOW, HIGH = 0.87, 0.93


@dataclass(frozen=True)
class Goal:
    """A measured figure and what it is to be: at least ``least``, at most ``most``."""

    what: str
    measured: float
    least: float | None = None
    most: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether it is; None where there is no goal."""
        if self.least is None and self.most is None:
            return None
        low = -np.inf if self.least is None else self.least
        high = np.inf if self.most is None else self.most
        return bool(low <= self.measured <= high)

    def plain(self) -> dict[str, Any]:
        """Return the goal as plain data."""
        return {**asdict(self), "met": self.met}

    @property
    def wanted(self) -> str:
        """The goal in words."""
        if self.least is not None and self.most is not None:
            return f"{self.least:.3g} to {self.most:.3g}"
        if self.most is not None:
            return f"<= {self.most:.3g}"
        return "" if self.least is None else f">= {self.least:.3g}"


def lines(found: Sequence[Goal], before: Sequence[dict[str, Any]] = ()) -> Iterator[str]:
    """Yield the table, with the figures of another version beside it where there are some."""
    earlier = {goal["what"]: goal["measured"] for goal in before}
    yield f"{'what':<66} {'before':>8} {'measured':>9}  {'goal':<14}"
    for goal in found:
        then = f"{earlier[goal.what]:.4f}" if goal.what in earlier else ""
        verdict = {None: "", True: "met", False: "MISSED"}[goal.met]
        yield (
            f"{goal.what:<66} {then:>8} {goal.measured:>9.4f}  {goal.wanted:<14} {verdict:<6} "
            f"{goal.note}"
        )


def goals(checks: Sequence[Check], others: Sequence[PeerCheck], *, quick: bool) -> Iterator[Goal]:
    """Yield every line; some are read off the checks, the others measured now."""
    runs = 20 if quick else 60
    yield from _from_checks(checks)
    yield from beaten(checks, others)
    yield demo(runs)
    yield from _chunks()
    yield from other_model(runs)
    yield from targets(runs)
    yield from rare_class(runs)
    yield from few_rows(runs)
    yield from separable(runs)
    yield decide_seconds()


def _from_checks(checks: Sequence[Check]) -> Iterator[Goal]:
    for shift, what in (("none", "without shift"), ("label", "with label shift")):
        cell = overall(checks, shift)
        if not cell.n:
            continue
        yield Goal(f"90% interval covers, {what}", cell.coverage, LOW, HIGH, f"{cell.n} checks")
    for shift, what in (("other", "another shift"), ("both", "both"), ("tilt", "a tilt")):
        cell = overall(checks, shift)
        if cell.n:
            note = f"{cell.n} checks"
            yield Goal(f"90% interval covers, {what}", cell.coverage, 0.85, 0.95, note)
    by_cell = cells(
        [check for check in checks if check.shift in ("none", "label")],
        "set", "shift", "metric", "withheld",
    )  # fmt: skip
    enough = [cell.coverage for cell in by_cell.values() if cell.n >= ENOUGH]
    if enough:
        yield Goal(f"lowest coverage of a cell of {ENOUGH} runs", min(enough), 0.80)
    other = [c for c in checks if c.shift == "other" and c.metric == "accuracy" and c.defined]
    whole = [check for check in other if check.withheld == 0]
    if whole:
        off = [abs(check.value - check.realised) for check in whole]
        yield Goal("error of accuracy under another shift", float(np.nanmean(off)), most=0.035)
        worst = max(whole, key=lambda check: np.nan_to_num(abs(check.value - check.realised)))
        note = f"worst {worst.set}: {worst.value:.3f} estimated, {worst.realised:.3f} realised"
        yield Goal("warned of another shift", _part(c.warned for c in whole), note=note)
    same = [check for check in checks if check.shift == "label"]
    if same:
        yield Goal("warned under label shift (false alarms)", _part(c.warned for c in same))


def beaten(checks: Sequence[Check], others: Sequence[PeerCheck]) -> Iterator[Goal]:
    """On how many sets a peer's error of accuracy is smaller."""
    ours = [check for check in checks if check.metric == "accuracy"]
    found = peer_errors(
        ours, [other for other in others if other.metric == "accuracy"], "shift", "set"
    )
    for shift in SHIFTS:
        errors = {name: these for (where, name), these in found.items() if where == shift}
        behind = {
            name: min(these, key=lambda method: these[method])
            for name, these in errors.items()
            if these[OURS] > min(these.values())
        }
        note = ", ".join(f"{name} ({peer})" for name, peer in behind.items())
        what = f"sets where a peer's error of accuracy is smaller, shift: {shift}"
        if errors:
            yield Goal(what, len(behind), most=0, note=f"of {len(errors)}; {note}")


def demo(runs: int) -> Goal:
    """How often the interval holds in the demo's own simulation."""
    held = []
    for seed in range(runs):
        clinic = screening_clinic(random_state=seed)
        abstainer = Abstainer(
            "sensitivity@specificity=0.9", budget=0.15, calibration="platt", scale="logits",
            random_state=seed,
        )  # fmt: skip
        abstainer.fit(clinic.scores_val, clinic.y_val)
        decided = _decide(abstainer, clinic.scores_target)
        low, high = decided.made.estimate.after.interval
        held.append(low <= decided.realised(clinic.y_target) <= high)
    return Goal("90% interval covers in the demo's simulation", _part(held), LOW, HIGH)


def _chunks() -> Iterator[Goal]:
    for name in nanny.SOURCES:
        if (reason := missing(name)) is not None:
            yield Goal(f"NannyML's {name}", np.nan, note=f"SKIPPED: {reason}")
            continue
        table = nanny.chunk_table(name)
        note = f"CBPE {table.cbpe:.4f}, {table.chunks} chunks, {table.covered:.2f} covered"
        yield Goal(f"NannyML's {name}: error of accuracy", table.ours, most=table.cbpe, note=note)
        note = f"{table.extreme} of them, {table.warned} of {table.chunks} chunks warned"
        what = f"NannyML's {name}: NaN or proportions of 0 and 1 in silence"
        yield Goal(what, table.silent, most=0, note=note)


def other_model(runs: int) -> Iterator[Goal]:
    """Scores of another model given by mistake: another scale, sign, offset, or another task."""
    mistakes: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
        "the sign turned": lambda scores: -scores,
        "five times as large": lambda scores: 5 * scores,
        "all of them 8 higher": lambda scores: scores + 8,
        "noise": lambda scores: np.random.default_rng(0).normal(size=len(scores)),
    }
    for what, mistake in mistakes.items():
        warned, off = [], []
        for seed in range(runs):
            clinic = screening_clinic(1_000, 1_000, random_state=seed)
            abstainer = Abstainer("accuracy", budget=0.1, scale="logits", random_state=seed)
            abstainer.fit(clinic.scores_val, clinic.y_val)
            decided = _decide(abstainer, mistake(clinic.scores_target))
            warned.append(decided.warned)
            off.append(decided.made.estimate.after.value - decided.realised(clinic.y_target))
        note = f"estimated accuracy too high by {np.mean(off):.3f}"
        yield Goal(f"scores of another model, {what}: warned", _part(warned), 0.95, note=note)


def targets(runs: int) -> Iterator[Goal]:
    """How often a target is missed by what comes out."""
    names = ("clinic", "breast_cancer", "digits", "support_hospdeath", "hate_speech")
    missed, unreachable, kept = [], 0, []
    for name in (name for name in names if missing(name) is None):
        pool = load(name)
        for run in range(runs):
            part = split(pool, "label" if run % 2 else "none", 10_000 + run)
            right = float(np.mean(pool.proba.argmax(axis=1) == pool.y))
            target = (1 + right) / 2
            abstainer = Abstainer(
                "accuracy", target=target, scale=part.scale, random_state=part.seed
            )
            abstainer.fit(part.scores_val, part.y_val, classes=range(pool.n_classes))
            try:
                decided = _decide(abstainer, part.scores)
            except TargetUnreachable:
                unreachable += 1
                continue
            missed.append(decided.realised(part.y) < target)
            kept.append(1 - decided.made.abstention_rate)
    note = f"{len(missed)} runs, {unreachable} unreachable, {np.mean(kept):.2f} kept"
    yield Goal("`target=` missed", _part(missed), most=0.10, note=note)


def rare_class(runs: int) -> Iterator[Goal]:
    """F1 and balanced accuracy on a rare class: the default beside the rule that suits best."""
    for metric in ("f1", "balanced-accuracy"):
        found: dict[str, list[float]] = {"default": [], "optimal": []}
        for seed in range(runs):
            draw = partial(
                simulate_binary_normal, positive_rate=0.03, mean_positive=0.2, sd_negative=1.0
            )
            val, batch = draw(2_000, random_state=seed), draw(2_000, random_state=seed + 1_000)
            for rule, values in found.items():
                more = {} if rule == "default" else {"decision": rule}
                abstainer = Abstainer(metric, budget=0.2, random_state=seed, **more)
                abstainer.fit(val.proba[:, 1], val.y)
                realised = _decide(abstainer, batch.proba[:, 1]).realised(batch.y)
                values.append(float(np.nan_to_num(realised)))
        default, optimal = (float(np.mean(values)) for values in found.values())
        what = f"{metric} on a rare class, 20% withheld, realised"
        note = f'decision="optimal" gets {optimal:.3f}'
        yield Goal(what, default, optimal - 0.01, note=note)


def few_rows(runs: int, n_rows: int = 50) -> Iterator[Goal]:
    """50 validation rows: the loss of `auto` against the best calibrator, and what is said."""
    others = ("platt", "temperature", "beta", "isotonic", "identity")
    losses: dict[str, list[float]] = {name: [] for name in ("auto", *others)}
    held, wide, warned = [], [], []
    names = [n for n in ("clinic", "overlapping", "support_hospdeath", "fair") if not missing(n)]
    for name in names:
        pool = load(name)
        for run in range(runs):
            rng = np.random.default_rng(run)
            order = rng.permutation(len(pool.y))
            val, batch = order[:n_rows], order[n_rows : n_rows + 2_000]
            if len(np.unique(pool.y[val])) < 2:
                continue
            for calibrator, values in losses.items():
                values.append(_loss(calibrator, pool, val, batch))
            abstainer = Abstainer("accuracy", budget=0.1, scale=pool.scale, random_state=run)
            decided = _decide(_quietly_fitted(abstainer, pool, val), pool.scores[batch])
            low, high = decided.made.estimate.after.interval
            held.append(low <= decided.realised(pool.y[batch]) <= high)
            wide.append(high - low)
            warned.append(decided.warned)
    mean = {name: float(np.mean(values)) for name, values in losses.items()}
    best = min(others, key=lambda name: mean[name])
    note = f"auto {mean['auto']:.3f}, {best} {mean[best]:.3f}"
    what = f"{n_rows} validation rows: loss of `auto` over the best"
    yield Goal(what, mean["auto"] / mean[best], most=1.1, note=note)
    note = f"mean width {np.mean(wide):.3f}, warned in {_part(warned):.2f}"
    yield Goal(f"{n_rows} validation rows: 90% interval covers", _part(held), LOW, note=note)


def _quietly_fitted(abstainer: Abstainer, pool: Any, rows: NDArray[Any]) -> Abstainer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return abstainer.fit(pool.scores[rows], pool.y[rows])


def _loss(name: str, pool: Any, val: NDArray[Any], batch: NDArray[Any]) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calibrator = calibration.get(name, scale=pool.scale)
        calibrator.fit(pool.scores[val], pool.y[val])
        proba = np.asarray(calibrator.predict_proba(pool.scores[batch]))
    right = proba[np.arange(len(batch)), pool.y[batch]]
    return float(-np.log(np.maximum(right, 1e-15)).mean())


def separable(runs: int, n_rows: int = 40) -> Iterator[Goal]:
    """40 rows that a threshold separates, and a batch that it does not quite."""
    held, wide, warned = [], [], []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1], n_rows // 2)
        scores = np.where(y == 1, 1.0, -1.0) * rng.uniform(0.5, 3.0, size=n_rows)
        y_batch = rng.integers(2, size=1_000)
        batch = np.where(y_batch == 1, 1.2, -1.2) + rng.normal(size=1_000)
        abstainer = Abstainer("accuracy", budget=0.0, scale="logits", random_state=seed)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            abstainer.fit(scores, y)
        decided = _decide(abstainer, batch)
        low, high = decided.made.estimate.after.interval
        held.append(low <= decided.realised(y_batch) <= high)
        wide.append(high - low)
        warned.append(decided.warned or _said(said))
    note = f"{_part(held):.2f} covered, warned in {_part(warned):.2f}"
    what = f"{n_rows} separable rows: width of the 90% interval"
    yield Goal(what, float(np.mean(wide)), 0.02, note=note)


def decide_seconds(n_rows: int = 100_000) -> Goal:
    """Seconds of a decision about many rows."""
    clinic = screening_clinic(5_000, n_rows, random_state=0)
    abstainer = Abstainer("accuracy", budget=0.1, scale="logits", random_state=0)
    abstainer.fit(clinic.scores_val, clinic.y_val)
    taken = []
    for _ in range(4):
        start = time.perf_counter()
        _decide(abstainer, clinic.scores_target)
        taken.append(time.perf_counter() - start)
    return Goal(
        f"seconds to decide about {n_rows:,} rows",
        min(taken[1:]),
        note="at most twice those of labels alone",
    )


@dataclass(frozen=True, eq=False)
class _Decided:
    made: Any
    warned: bool

    def realised(self, y: NDArray[Any]) -> float:
        """Return the metric on the rows that were kept."""
        kept, made = ~self.made.abstain, self.made
        columns = np.searchsorted(made.classes, made.prediction[kept])
        return float(made.metric.observed(y[kept], made.proba[kept], prediction=columns))


def _decide(abstainer: Abstainer, scores: NDArray[Any]) -> _Decided:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        made = abstainer.decide(scores)
        _ = made.estimate
    return _Decided(made, _said(said))


def _said(said: Sequence[warnings.WarningMessage]) -> bool:
    return any(issubclass(w.category, AssumptionWarning) for w in said)


def _part(values: Any) -> float:
    found = [bool(value) for value in values]
    return float(np.mean(found)) if found else float("nan")
