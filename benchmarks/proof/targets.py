"""Decisions to a target: how often a promise is broken, and what it costs in rows withheld."""

import importlib.util
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from abstain import Abstainer
from abstain.exceptions import TargetUnreachable
from benchmarks.honesty.sets import Pool, as_proba, load, missing
from benchmarks.honesty.shifts import Split, drawn
from benchmarks.proof import repeats
from benchmarks.proof._mapie import Controlled, accuracy_control, rates_control

__all__ = ["ABOUT", "COLUMNS", "TITLE", "headline", "lines", "names", "skipped", "verdict"]

SETS = ("clinic", "imdb", "census", "car_loan", "hate_speech", "cifar10_resnet20")
SHIFTS: tuple[Literal["none", "label"], ...] = ("none", "label")
#: Labelled rows, rows of a batch, and the most rows that stand for the population.
SIZE, POPULATION = 2_000, 20_000
CONFIDENCE, RATES = 0.9, 0.9
RUNS = 12
ACCURACY, BOTH = "accuracy", f"sensitivity and specificity {RATES:g}"
OURS, MAPIE, SPLIT, PLAIN = "ours", "MAPIE", "MAPIE, split", "validation threshold"

TITLE = "Decisions to a target"
COLUMNS = (
    "promise", "shift", "method", "runs", "declined", "broken", "±", "broken in the batch",
    "withheld", "with declined as all",
)  # fmt: skip
ABOUT = f"""
Two promises about the kept rows, each to hold with confidence {CONFIDENCE:.0%}, and how often
they are broken. Each run draws {SIZE:,} labelled rows and a batch of up to {SIZE:,} from the
pool, as it is or with other class proportions, {RUNS} times for each set and shift.

- **broken**: the rule, once fixed, is applied to rows that had no part in it (up to
  {POPULATION:,} of the pool, weighted to the batch's class proportions where these were moved).
  It is broken where the metric of those it keeps is below the target there. *broken in the batch*
  is the same of the batch's own kept rows, where chance adds to it: a rule exactly at the target
  is below it in half of all batches. ± is the binomial standard error of *broken*. A share of
  {1 - CONFIDENCE:.0%} is what the confidence allows.
- **declined**: no rule is offered. Ours raises `TargetUnreachable`, MAPIE finds no threshold.
  Such runs are not counted as broken, and *withheld* is over the others; *with declined as all*
  counts them as everything withheld.
- **accuracy**: the target is half way from the pool's accuracy to 1. *ours* is
  `Abstainer("accuracy", target=...)`: no certificate, but the lower end of its 90% interval must
  reach the target. (With `confidence=` it would certify accuracy at *every* class proportion,
  which {SIZE:,} labels hardly ever allow.) MAPIE's `MultiClassificationLTTController` predicts
  the most probable class where its probability reaches a threshold and withholds the rest, with
  the accuracy of the kept as its risk and `abstention_rate` as what to keep small. *{PLAIN}*: the
  smallest abstention by max probability whose kept validation rows reach the target; it promises
  nothing.
- **sensitivity and specificity**, both {RATES:g}, for two classes: *ours* is `Abstainer("auroc",
  target={{"sensitivity": ..., "specificity": ...}}, confidence={CONFIDENCE})`, a certificate that
  is to hold at every prevalence. MAPIE's `BinaryClassificationController` has two thresholds and
  withholds what is between them, with both rates of the kept as risks.
- **MAPIE** tests by Bonferroni and Holm, its default; *{SPLIT}* is its `split_fixed_sequence`,
  which learns on half of the labels in which order to test; ours uses all labels for both. It
  gets the classifier's own probabilities, all labelled rows, and thresholds at quantiles of the
  unlabelled batch.

What is not comparable: MAPIE promises for rows like the labelled ones, so under label shift it is
used beyond what it claims, and accuracy changes with the proportions where sensitivity and
specificity do not. Ours adapts to the batch and offers no guarantee for accuracy, only an
estimate with an interval.
"""


@dataclass(frozen=True)
class Judged:
    """How a rule did: what it lacks to the target (below 0: broken), and what it withheld."""

    population: float
    batch: float
    withheld: float


def names() -> list[str]:
    """Return the sets that are there."""
    return [name for name in SETS if missing(name) is None]


def skipped() -> list[str]:
    """Return what is not there, and why."""
    found = [f"{name} ({reason})" for name in SETS if (reason := missing(name))]
    if not _mapie_there():
        found.append("MAPIE (the package mapie is not installed)")
    return found


def _mapie_there() -> bool:
    return importlib.util.find_spec("mapie") is not None


def lines(name: str) -> list[dict[str, Any]]:
    """Return a line for each promise, shift and method."""
    pool = load(name)
    made = []
    for shift in SHIFTS:
        runs = [_run(pool, shift, run) for run in range(repeats(RUNS, 4))]
        for promise, method in runs[0]:
            judged = [run[promise, method] for run in runs]
            made.append({"promise": promise, "shift": shift, "method": method} | _summed(judged))
    return sorted(made, key=lambda line: line["promise"] != ACCURACY)


def _bench(pool: Pool, shift: Any, run: int) -> "Bench":
    part, others = drawn(pool, shift, run, size=SIZE)
    others = np.random.default_rng(part.seed).permutation(others)[:POPULATION]
    return Bench(part, pool.scores[others], pool.y[others], moved=shift == "label")


def judged_rates(pool: Pool, shift: Any, run: int) -> "dict[str, Judged | None]":
    """Return how every method did on one split of two classes with both rates as its target."""
    bench = _bench(pool, shift, run)
    rules = _for_rates(bench.part)
    return {method: bench.judged(rule, _lower_rate, RATES) for method, rule in rules}


def _run(pool: Pool, shift: Any, run: int) -> dict[tuple[str, str], Judged | None]:
    """Return how every method did on one split, None where it declined."""
    bench = _bench(pool, shift, run)
    part, found = bench.part, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method, rule in _for_accuracy(pool, part):
            found[ACCURACY, method] = bench.judged(rule, _accuracy, _halfway(pool))
        if pool.n_classes == 2:
            for method, rule in _for_rates(part):
                found[BOTH, method] = bench.judged(rule, _lower_rate, RATES)
    return found


def _halfway(pool: Pool) -> float:
    return float(1 + np.mean(pool.proba.argmax(axis=1) == pool.y)) / 2


# The methods: scores in, classes out, NaN where withheld ----------------------------------------


def _for_accuracy(pool: Pool, part: Split) -> Iterator[tuple[str, Controlled | None]]:
    target = _halfway(pool)
    yield OURS, _ours(part, "accuracy", pool.n_classes, target=target)
    proba_val = as_proba(part.scores_val, part.scale)
    yield PLAIN, _on(part, threshold_at(proba_val, part.y_val, target))
    yield from _by_mapie(accuracy_control, part, target)


def _for_rates(part: Split) -> Iterator[tuple[str, Controlled | None]]:
    target = {"sensitivity": RATES, "specificity": RATES}
    yield OURS, _ours(part, "auroc", 2, target=target, confidence=CONFIDENCE)
    yield from _by_mapie(rates_control, part, RATES)


def _by_mapie(
    control: Callable[..., Controlled | None], part: Split, target: float
) -> Iterator[tuple[str, Controlled | None]]:
    if not _mapie_there():
        return
    proba_val, batch = (as_proba(scores, part.scale) for scores in (part.scores_val, part.scores))
    settings = {"target": target, "confidence": CONFIDENCE, "batch": batch}
    for method, split in ((MAPIE, False), (SPLIT, True)):
        yield method, _on(part, control(proba_val, part.y_val, split=split, **settings))


def _ours(part: Split, metric: str, n_classes: int, **promise: Any) -> Controlled | None:
    abstainer = Abstainer(metric, scale=part.scale, random_state=part.seed, **promise)
    try:
        abstainer.fit(part.scores_val, part.y_val, classes=range(n_classes))
        policy = abstainer.decide(part.scores).policy
    except TargetUnreachable:
        return None

    def rule(scores: NDArray[Any]) -> NDArray[Any]:
        applied = policy.apply(scores)
        return np.where(applied.abstain, np.nan, applied.columns)

    return rule


def _on(part: Split, rule: Controlled | None) -> Controlled | None:
    """Return a rule of probabilities as one of scores."""
    return None if rule is None else lambda scores: rule(as_proba(scores, part.scale))


def threshold_at(proba: NDArray[Any], y: NDArray[Any], target: float) -> Controlled | None:
    """Return the lowest threshold on max probability with which these rows reach a target."""
    largest, right = proba.max(axis=1), proba.argmax(axis=1) == y
    order = np.argsort(-largest, kind="stable")
    # Equal probabilities are kept or withheld together, so only the last of them counts.
    last = np.append(np.diff(largest[order]) < 0, True)
    accuracy = np.cumsum(right[order]) / np.arange(1, len(y) + 1)
    enough = np.flatnonzero(last & (accuracy >= target))
    if not len(enough):
        return None
    lowest = largest[order][enough[-1]]
    return lambda given: np.where(given.max(axis=1) >= lowest, given.argmax(axis=1), np.nan)


# Judging ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Bench:
    """The rows that rules are judged on: the batch, and others that stand for the population."""

    part: Split
    scores: NDArray[Any]
    y: NDArray[Any]
    moved: bool

    def judged(
        self, rule: Controlled | None, value: Callable[..., float], target: float
    ) -> Judged | None:
        """Return how a rule did; None where there is none."""
        if rule is None:
            return None
        here, there = rule(self.part.scores), rule(self.scores)
        return Judged(
            population=value(self.y, there, self.weight) - target,
            batch=value(self.part.y, here, np.ones(len(here))) - target,
            withheld=float(np.isnan(here).mean()),
        )

    @property
    def weight(self) -> NDArray[Any]:
        """What gives the population the class proportions of the batch."""
        if not self.moved:
            return np.ones(len(self.y))
        classes = np.arange(self.y.max() + 1)
        wanted, there = (
            np.bincount(y, minlength=len(classes)) / len(y) for y in (self.part.y, self.y)
        )
        ratio: NDArray[Any] = np.divide(wanted, there, out=np.zeros(len(classes)), where=there > 0)
        return ratio[self.y]


def _accuracy(y: NDArray[Any], predicted: NDArray[Any], weight: NDArray[Any]) -> float:
    """Return the accuracy of the kept; of none it is not below any target."""
    weight = weight * ~np.isnan(predicted)
    return float(weight @ (predicted == y) / weight.sum()) if weight.sum() > 0 else np.inf


def _lower_rate(y: NDArray[Any], predicted: NDArray[Any], weight: NDArray[Any]) -> float:
    """Return the lower of the sensitivity and specificity of the kept; weights do not matter."""
    return min(_accuracy(y[y == k], predicted[y == k], np.ones(np.sum(y == k))) for k in (0, 1))


# Summed up --------------------------------------------------------------------------------------


def _summed(judged: Sequence[Judged | None]) -> dict[str, float]:
    there = [one for one in judged if one is not None]
    broken = sum(one.population < 0 for one in there)
    in_batch = sum(one.batch < 0 for one in there)
    withheld = float(sum(one.withheld for one in there))
    return _shares(len(judged), len(there), broken, in_batch, withheld)


def _shares(runs: int, made: int, broken: int, in_batch: int, withheld: float) -> dict[str, float]:
    """Return the figures of a line; the counts are kept, so that lines can be added up."""
    share = broken / made if made else np.nan
    return {
        "runs": runs,
        "declined": runs - made,
        "broken": share,
        "±": np.sqrt(share * (1 - share) / made) if made else np.nan,
        "broken in the batch": in_batch / made if made else np.nan,
        "withheld": withheld / made if made else np.nan,
        "with declined as all": (withheld + runs - made) / runs,
        "counts": [runs, made, broken, in_batch, withheld],
    }  # type: ignore[dict-item]


def pooled(found: Mapping[str, Any]) -> dict[tuple[str, str, str], dict[str, float]]:
    """Return the lines of all sets added up, by promise, shift and method."""
    counts: dict[tuple[str, str, str], NDArray[Any]] = {}
    for rows in found.values():
        for line in rows:
            key = line["promise"], line["shift"], line["method"]
            counts[key] = counts.get(key, np.zeros(5)) + np.array(line["counts"], dtype=float)
    return {key: _shares(*map(int, these[:4]), these[4]) for key, these in counts.items()}


def verdict(found: dict[str, list[dict[str, Any]]]) -> str:
    """Say where ours breaks more than it may or withholds more than MAPIE, then all of it."""
    every = pooled(found)
    blocks = [*_losses(every), *_on_single_sets(found), *_wins(every)]
    table = ["| all sets | shift | method | declined | broken | withheld | with declined as all |"]
    table.append("| --- " * 7 + "|")
    for (promise, shift, method), line in every.items():
        table.append(
            f"| {promise} | {shift} | {method} | {line['declined']} of {line['runs']} | "
            f"{line['broken']:.3f} ± {line['±']:.3f} | {line['withheld']:.3f} | "
            f"{line['with declined as all']:.3f} |"
        )
    return "\n\n".join([*blocks, "\n".join(table)])


def _losses(every: Mapping[tuple[str, str, str], Mapping[str, float]]) -> Iterator[str]:
    allowed = 1 - CONFIDENCE
    for (promise, shift, method), line in every.items():
        if method != OURS:
            continue
        where = f"{promise}, {_in_words(shift)}"
        if line["broken"] > allowed + 2 * line["±"]:
            yield (
                f"**Ours breaks its promise too often** for {where}: {line['broken']:.3f} ± "
                f"{line['±']:.3f}, where {allowed:g} is allowed."
            )
        for peer in (MAPIE, SPLIT):
            other = every.get((promise, shift, peer))
            if other is None or not other["broken"] <= allowed:
                continue
            more = line["with declined as all"] - other["with declined as all"]
            if more > 0:
                yield (
                    f"**{peer} withholds less** for {where}, and breaks its promise in no more "
                    f"than {allowed:.0%} of runs: {other['with declined as all']:.3f}, ours "
                    f"{line['with declined as all']:.3f} (declined runs counted as all rows)."
                )


def _on_single_sets(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield where MAPIE withholds less on a set without breaking its promise too often there."""
    less = []
    for name, rows in found.items():
        lines = {(line["promise"], line["shift"], line["method"]): line for line in rows}
        for (promise, shift, method), line in lines.items():
            ours = lines[promise, shift, OURS]["with declined as all"]
            theirs = line["with declined as all"]
            if method == MAPIE and line["broken"] <= 1 - CONFIDENCE and theirs < ours:
                where = f"{name}, {promise}, {_in_words(shift)}"
                less.append(f"{where} ({theirs:.3f}, ours {ours:.3f})")
    if less:
        yield (
            "**Single sets where MAPIE withholds less** and breaks its promise in no more than "
            f"{1 - CONFIDENCE:.0%} of runs: {'; '.join(less)}."
        )


def _wins(every: Mapping[tuple[str, str, str], Mapping[str, float]]) -> Iterator[str]:
    for (promise, shift, method), line in every.items():
        where = f"{promise}, {_in_words(shift)}"
        if method != OURS and line["broken"] > (1 - CONFIDENCE) + 2 * line["±"]:
            ours = every[promise, shift, OURS]
            yield (
                f"{method} breaks it in {line['broken']:.3f} ± {line['±']:.3f} of runs for "
                f"{where}; ours in {ours['broken']:.3f} ± {ours['±']:.3f}."
            )
        elif method == MAPIE:
            ours = every[promise, shift, OURS]
            less = line["with declined as all"] - ours["with declined as all"]
            if less > 0 and ours["broken"] <= 1 - CONFIDENCE:
                yield (
                    f"Ours withholds {less:.3f} of the rows less than MAPIE for {where}, and "
                    "keeps its promise."
                )


def _in_words(shift: str) -> str:
    return "label shift" if shift == "label" else "no shift"


def headline(found: dict[str, list[dict[str, Any]]]) -> tuple[str, str, str]:
    """Return how often promises are broken under label shift, and how much is withheld without."""
    every = pooled(found)

    def said(method: str) -> str:
        broken = [every[key]["broken"] for key in every if key[1:] == ("label", method)]
        return " and ".join(f"{share:.1%}" for share in broken)

    held = all(
        line["broken"] <= 1 - CONFIDENCE + 2 * line["±"]
        for (_, _, method), line in every.items()
        if method == OURS
    )
    return (
        f"MAPIE: {said(MAPIE)} broken under label shift",
        f"{said(OURS)} broken",
        "ours keeps its promises" if held else "ours breaks some promises too often",
    )
