"""Areas of risk over coverage (AURC, AUGRC) of confidence scores, as FD-Shifts defines them."""

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain import Abstainer, scores
from abstain.evaluation import risk_coverage
from benchmarks.honesty.sets import as_proba, load, missing
from benchmarks.honesty.shifts import Split, split
from benchmarks.proof import repeats
from benchmarks.proof._lead import Lead, counted

__all__ = ["ABOUT", "COLUMNS", "TITLE", "headline", "lines", "names", "skipped", "verdict"]

SETS = (
    "support_hospdeath", "fvcaus_speaker_verif", "imdb", "clinic", "fair", "breast_cancer",
    "retinopathy", "hpc_cv", "hate_speech", "anes96", "digits", "cifar10_resnet20",
    "pathmnist_resnet50",
)  # fmt: skip
RUNS = 10
#: The unit in which FD-Shifts prints both areas.
UNIT = 1_000
OURS, RAW, ORACLE, RANDOM = "ours", "raw max softmax", "oracle", "random"
SCORES = {
    "max probability": scores.max_probability,
    "margin": scores.margin,
    "entropy": scores.entropy,
}
JS = "JS divergence"
PEERS = (*SCORES, JS, RAW)

TITLE = "Risk and coverage"
COLUMNS = ("score", "errors", "AURC", "±", "AUGRC", "± ", "off")
ABOUT = f"""
Areas under the selective risk (AURC) and the generalised risk (AUGRC) over all coverages, x
{UNIT:,}, lower is better: means over {RUNS} label-shifted splits with their standard errors. Both
are computed by the trapezoid rule over the thresholds of the score, as the authors of FD-Shifts
do (Jaeger et al., ICLR 2023; Traub et al., NeurIPS 2024): the selective risk is the error of what
is kept, the generalised risk the chance of being kept *and* wrong.
`abstain.evaluation.risk_coverage` takes means over the rows instead, with equal scores in random
order; *off* is the most by which its two areas differ from theirs, in the same unit.

All scores but one are of the same probabilities, calibrated and adapted to the batch by
`Abstainer("accuracy", budget=0.0)` (of two classes margin and entropy are the order of max
probability, and left out), and judge the same predictions, of which *errors* is the
share that is wrong. *ours* is the order in which that abstainer withholds (`decisions.priority`).
*{RAW}* is the classifier as it came, its own predictions with its own largest probability.
*{RANDOM}* and *{ORACLE}* (wrong ones first) frame what is possible.
"""


def names() -> list[str]:
    """Return the sets that are there."""
    return [name for name in SETS if missing(name) is None]


def skipped() -> list[str]:
    """Return what is not there, and why."""
    return [f"{name} ({reason})" for name in SETS if (reason := missing(name))]


def lines(name: str) -> list[dict[str, Any]]:
    """Return a line for each score."""
    pool = load(name)
    runs = [_areas(split(pool, "label", run), pool.n_classes) for run in range(repeats(RUNS, 3))]
    return [_line(runs, score) for score in runs[0]]


def _areas(part: Split, n_classes: int) -> dict[str, tuple[float, ...]]:
    """Return errors, both areas, and how far ours are off, by score."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        abstainer = Abstainer("accuracy", budget=0.0, scale=part.scale, random_state=part.seed)
        abstainer.fit(part.scores_val, part.y_val, classes=range(n_classes))
        decisions = abstainer.decide(part.scores)
    proba = decisions.proba
    loss = (decisions.columns != part.y).astype(float)
    raw = as_proba(part.scores, part.scale)
    raw_loss = (raw.argmax(axis=1) != part.y).astype(float)
    rng = np.random.default_rng(part.seed)
    return {
        OURS: _judged(loss, decisions.priority),
        **{
            name: _judged(loss, score(proba))
            for name, score in SCORES.items()
            if n_classes > 2 or name == "max probability"
        },
        JS: _judged(loss, scores.js_divergence(proba, priors=decisions.priors)),
        RAW: _judged(raw_loss, -raw.max(axis=1)),
        RANDOM: _judged(loss, rng.random(len(loss))),
        ORACLE: _judged(loss, loss + 1e-9 * rng.random(len(loss))),
    }


def _judged(loss: NDArray[Any], score: NDArray[Any]) -> tuple[float, ...]:
    aurc, augrc = areas(loss, score)
    found = risk_coverage(loss, score)
    off = max(abs(found.aurc - aurc), abs(found.augrc - augrc))
    return float(loss.mean()), UNIT * aurc, UNIT * augrc, UNIT * off


def areas(loss: NDArray[Any], score: NDArray[Any]) -> tuple[float, float]:
    """Return AURC and AUGRC by the trapezoid rule over the distinct thresholds of a score.

    The highest scores are withheld first. At no coverage the selective risk is that of the most
    certain rows, the generalised risk 0.
    """
    order = np.argsort(score, kind="stable")
    kept = np.flatnonzero(np.append(np.diff(score[order]) > 0, True)) + 1
    wrong = np.cumsum(loss[order])[kept - 1]
    coverage = np.append(0, kept) / len(loss)
    selective, generalised = wrong / kept, np.append(0, wrong) / len(loss)
    return (
        float(np.trapezoid(np.append(selective[0], selective), coverage)),
        float(np.trapezoid(generalised, coverage)),
    )


def _line(runs: list[dict[str, tuple[float, ...]]], score: str) -> dict[str, Any]:
    errors, aurc, augrc, off = np.array([run[score] for run in runs]).T
    line: dict[str, Any] = {
        "score": score,
        "errors": float(errors.mean()),
        "off": float(off.max()),
    }
    line |= {"AURC": float(aurc.mean()), "±": _error(aurc)}
    line |= {"AUGRC": float(augrc.mean()), "± ": _error(augrc)}
    for place, area in ((1, "AURC"), (2, "AUGRC")):
        ours = [run[OURS][place] for run in runs]
        theirs = [run[score][place] for run in runs]
        line |= Lead.of(ours, theirs, greater_is_better=False).plain(area)
    return line


def _error(values: NDArray[Any]) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def _cells(found: Mapping[str, Any], score: str, area: str) -> list[tuple[str, Lead]]:
    return [
        (name, Lead.kept(line, area))
        for name, rows in found.items()
        for line in rows
        if line["score"] == score
    ]


def verdict(found: dict[str, list[dict[str, Any]]]) -> str:
    """Say which score is better than ours where, then how often ours is."""
    lost = [
        f"{score} has the lower {area} on {name} (by {-lead.difference:.2f} ± {lead.error:.2f})"
        for score in PEERS
        for area in ("AURC", "AUGRC")
        for name, lead in _cells(found, score, area)
        if lead.mark == "!"
    ]
    off = max(line["off"] for rows in found.values() for line in rows)
    blocks = [
        f"**Where ours is worse** by more than two standard errors: {'; '.join(lost)}."
        if lost
        else "**Ours is nowhere worse** by more than two standard errors.",
        "For errors of the most probable class ours is max probability, which is the best order "
        "there is if the probabilities are right; it has nothing to win against it here. What "
        "makes the difference to the raw softmax is calibrating and adapting.",
        "\n".join(_table(found)),
        f"`abstain.evaluation.risk_coverage` gives the same areas within {off:.2g} of {UNIT:,}.",
    ]
    return "\n\n".join(blocks)


def _table(found: Mapping[str, Any]) -> Iterator[str]:
    yield "| ours against | AURC | lower by, mean | AUGRC | lower by, mean |"
    yield "| --- | --- | --- | --- | --- |"
    for score in PEERS:
        cells = []
        for area in ("AURC", "AUGRC"):
            these = [lead for _, lead in _cells(found, score, area)]
            if not these:
                continue
            mean = np.mean([lead.difference for lead in these])
            cells += [counted(these), f"{round(mean, 2) + 0.0:+.2f}"]
        yield f"| {score} | " + " | ".join(cells) + " |"


def headline(found: dict[str, list[dict[str, Any]]]) -> tuple[str, str, str]:
    """Return the mean AUGRC of the raw softmax and of ours."""
    lead = [one for _, one in _cells(found, RAW, "AUGRC")]
    theirs, ours = (np.mean([getattr(one, side) for one in lead]) for side in ("theirs", "ours"))
    same = [one for _, one in _cells(found, "max probability", "AUGRC")]
    tied = [one.mark for one in same].count("")
    return (
        f"raw max softmax, mean AUGRC {theirs:.1f}",
        f"{ours:.1f}",
        f"{counted(lead)} of {len(lead)} sets; tied with calibrated max probability in {tied}",
    )
