"""Promises kept: arms and certificates by simulation, beside what an oracle would withhold.

``python -m benchmarks.promises arms|certificates|seeds|sets [RUNS]``. Scores are normal, the ill
a distance above the well, so what is true of a rule is known exactly.
"""

import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm

from abstain import Abstainer, Policy
from abstain.exceptions import TargetUnreachable

CONFIDENCE, GOAL = 0.95, 0.9
#: Labelled rows, share of ill among them, distance, promises, range of prevalences.
ARMS: tuple[tuple[int, float, float, dict[str, float], tuple[float, float]], ...] = (
    (2_000, 0.3, 2.0, {"npv": 0.95, "ppv": 0.6}, (0.1, 0.3)),
    (2_000, 0.3, 2.5, {"npv": 0.99, "ppv": 0.6}, (0.1, 0.3)),
    (10_000, 0.3, 3.0, {"npv": 0.998, "ppv": 0.7}, (0.02, 0.2)),
)
#: Labelled rows and distance.
CERTIFIED = ((300, 2.0), (1_000, 2.0), (2_000, 2.0), (1_000, 1.7), (1_000, 2.4))
_GRID = np.linspace(-7.0, 11.0, 9_001)


def sample(
    n: int, share: float, distance: float, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return scores and labels."""
    y = (rng.uniform(size=n) < share).astype(int)
    return rng.normal(size=n) + distance * y, y


def rates(policy: Policy, distance: float) -> dict[str, NDArray[Any]]:
    """Return of the well and of the ill what share a rule releases, gives away and acts on."""
    found = policy.apply(_GRID)
    density = norm.pdf(_GRID[:, None] - np.array([0.0, distance]))
    density /= density.sum(axis=0)
    act = ~found.abstain & (found.prediction == 1)
    return {
        "release": density[~found.abstain & ~act].sum(axis=0),
        "person": density[found.abstain].sum(axis=0),
        "act": density[act].sum(axis=0),
    }


def values(parts: Mapping[str, NDArray[Any]], prevalence: float) -> dict[str, float]:
    """Return the predictive values of the arms; 1 where one is empty."""
    (well, ill), (wrong, right) = parts["release"], parts["act"]
    well, wrong = (1 - prevalence) * well, (1 - prevalence) * wrong
    ill, right = prevalence * ill, prevalence * right
    return {
        "npv": well / (well + ill) if well + ill > 0 else 1.0,
        "ppv": right / (wrong + right) if wrong + right > 0 else 1.0,
    }


def in_sequence(
    scores: NDArray[Any], y: NDArray[Any], promises: Mapping[str, float]
) -> tuple[float, float]:
    """Return thresholds by fixed sequences of exact tests on labelled rows as they are.

    What MAPIE's risk control promises of a predictive value: for rows like the labelled ones.
    """
    ends = []
    for name, sign in (("npv", 1), ("ppv", -1)):
        order = np.argsort(sign * scores, kind="stable")
        right = np.cumsum(y[order] == (sign < 0))
        n = np.arange(1, len(y) + 1)
        error = (1 - CONFIDENCE) / 2
        first = int(np.log(error) / np.log(promises[name]) * 1.5) + 1
        passed = beta.ppf(error, right, n - right + 1)[first:] >= promises[name]
        count = first + (int(passed.argmin()) if not passed.all() else len(passed))
        ends.append(sign * (scores[order][count - 1] * sign) if count > first else -sign * np.inf)
    return ends[0], max(ends[0], ends[1])


def by_ends(low: float, high: float, distance: float) -> dict[str, NDArray[Any]]:
    """Return what ``rates`` does, of thresholds."""
    below, above = (norm.cdf(end - np.array([0.0, distance])) for end in (low, high))
    return {"release": below, "person": above - below, "act": 1 - above}


def arms(runs: int) -> Iterator[str]:
    """Yield a line for each setting: how often a promise is broken, and what a person gets."""
    for n, share, distance, promises, (low, high) in ARMS:
        prevalences = (low, 0.5 * (low + high), high)
        rng, found = np.random.default_rng(0), []
        for _ in range(runs):
            scores, y = sample(n, share, distance, rng)
            batch, _ = sample(3_000, prevalences[1], distance, rng)
            decided = (
                Abstainer(
                    "auroc", arms=promises, prior_range=(low, high), confidence=CONFIDENCE,
                    calibration="platt", shift="em", scale="logits",
                )
                .fit(scores, y)
                .decide(batch)
            )  # fmt: skip
            ours = rates(decided.policy, distance)
            peer = by_ends(*in_sequence(scores, y, promises), distance)
            found.append([_judged(one, promises, prevalences) for one in (ours, peer)])
        oracle = _best_arms(distance, promises, (low, high))
        yield f"\n{n:,} labels, {distance:g} apart, {promises}, {low:g} to {high:g}, {runs} runs"
        for name, row in zip(("ours", "sequence, no shift"), np.mean(found, axis=0), strict=True):
            broken = ", ".join(f"{value:.3f}" for value in row[:3])
            yield (
                f"  {name:<18}  broken at {', '.join(f'{q:g}' for q in prevalences)}: {broken};  "
                f"to a person {row[3]:.3f}, nobody released {row[4]:.2f}, acted on {row[5]:.2f}"
            )
        yield f"  oracle              to a person {oracle:.3f}"


def _judged(
    parts: Mapping[str, NDArray[Any]], promises: Mapping[str, float], at: tuple[float, ...]
) -> list[float]:
    broken = [
        any(values(parts, q)[name] < promise for name, promise in promises.items()) for q in at
    ]
    person = np.array([1 - at[1], at[1]]) @ parts["person"]
    return [*broken, person, parts["release"].sum() == 0, parts["act"].sum() == 0]


def _best_arms(
    distance: float, promises: Mapping[str, float], between: tuple[float, float]
) -> float:
    """Return what goes to a person where the distributions are known."""
    ends = [by_ends(end, end, distance) for end in _GRID]
    low = [values(one, between[1])["npv"] >= promises["npv"] for one in ends]
    high = [values(one, between[0])["ppv"] >= promises["ppv"] for one in ends]
    lowest = _GRID[np.flatnonzero(low)[-1]]
    highest = max(_GRID[np.flatnonzero(high)[0]], lowest)
    middle = 0.5 * sum(between)
    return float(np.array([1 - middle, middle]) @ by_ends(lowest, highest, distance)["person"])


def certificates(runs: int) -> Iterator[str]:
    """Yield a line for each setting: broken, granted and withheld, without and with a shift."""
    yield f"sensitivity and specificity {GOAL:g} of the kept with 90% confidence, {runs} runs"
    for n, distance in CERTIFIED:
        for share in (0.3, 0.08):
            rng, found = np.random.default_rng(1), []
            for run in range(runs):
                scores, y = sample(n, 0.3, distance, rng)
                batch, _ = sample(2_000, share, distance, rng)
                found.append(_certified(scores, y, batch, distance, share, run))
            granted, broken, withheld = np.mean(found, axis=0)
            yield (
                f"  {n:>5,} labels, {distance:g} apart, {share:.0%} ill: granted {granted:.3f}, "
                f"broken {broken:.3f}, withheld {withheld:.3f}, "
                f"oracle {oracle(distance, share):.3f}"
            )


def _certified(
    scores: NDArray[Any],
    y: NDArray[Any],
    batch: NDArray[Any],
    distance: float,
    share: float,
    seed: int,
) -> tuple[float, float, float]:
    target = {"sensitivity": GOAL, "specificity": GOAL}
    abstainer = Abstainer(
        "auroc", target=target, confidence=0.9, calibration="platt", scale="logits",
        random_state=seed,
    )  # fmt: skip
    try:
        parts = rates(abstainer.fit(scores, y).decide(batch).policy, distance)
    except TargetUnreachable:
        return 0.0, 0.0, 1.0
    kept = parts["release"] + parts["act"]
    broken = parts["release"][0] < GOAL * kept[0] or parts["act"][1] < GOAL * kept[1]
    return 1.0, float(broken), float(np.array([1 - share, share]) @ parts["person"])


def oracle(distance: float, share: float) -> float:
    """Return the least that any window withholds whose rates reach the goal."""
    ends = np.linspace(-4.0, 7.0, 1_101)
    below = norm.cdf(ends[:, None] - np.array([0.0, distance]))
    low, high = below[:, None, :], below[None, :, :]
    reached = (low[..., 0] >= GOAL * (low + 1 - high)[..., 0]) & (
        1 - high[..., 1] >= GOAL * (low + 1 - high)[..., 1]
    )
    withheld = (high - low) @ np.array([1 - share, share])
    return float(withheld[reached & (withheld >= 0)].min())


def seeds(runs: int) -> Iterator[str]:
    """Say how much is withheld of the same data with different seeds."""
    rng = np.random.default_rng(2)
    scores, y = sample(1_000, 0.3, 2.0, rng)
    batch, _ = sample(2_000, 0.3, 2.0, rng)
    found = [_certified(scores, y, batch, 2.0, 0.3, seed)[2] for seed in range(runs)]
    yield f"withheld with {runs} seeds: from {min(found):.4f} to {max(found):.4f}"


def sets(runs: int) -> Iterator[str]:
    """Yield how the certificate does on sets that are there, beside MAPIE if it is installed."""
    from benchmarks.proof import targets

    for name in targets.names():
        pool = targets.load(name)
        for shift in targets.SHIFTS if pool.n_classes == 2 else ():
            found = [targets.judged_rates(pool, shift, run) for run in range(runs)]
            for method in found[0]:
                each = [one[method] for one in found]
                made = [one for one in each if one is not None]
                broken = sum(one.population < 0 for one in made)
                withheld = sum(one.withheld for one in made) + len(each) - len(made)
                yield (
                    f"{name:<12} {shift:<6} {method:<14} granted {len(made)} of {len(each)}, "
                    f"broken {broken}, withheld {withheld / len(each):.3f}"
                )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    what, many = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200
    for line in {"arms": arms, "certificates": certificates, "seeds": seeds, "sets": sets}[what](
        many
    ):
        print(line, flush=True)
