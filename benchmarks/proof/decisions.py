"""Decisions at a budget: what the metric of the kept rows comes to, ours beside other orders.

The splits are those of ``benchmarks.honesty``: validation rows as they are, a batch of the same
pool with other class proportions, no row in both. Every method sees the same ones.
"""

import importlib.util
import warnings
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain import Abstainer, metrics
from benchmarks.honesty.sets import as_proba, load, missing
from benchmarks.honesty.shifts import Split, split
from benchmarks.proof import repeats
from benchmarks.proof._lead import Lead, counted

__all__ = ["ABOUT", "COLUMNS", "TITLE", "headline", "lines", "names", "skipped", "verdict"]

BUDGETS = (0.05, 0.15, 0.30)
#: The budget at which ours is also run on exactly the share that scikit-fallback withheld.
SHARED = 0.15
OF_TWO = ("support_hospdeath", "imdb", "census", "clinic", "fair")
ORDINAL = ("retinopathy", "hpc_cv", "anes96")
NOMINAL = ("hate_speech",)
#: Splits of a set of two classes, and of one of more, on which a decision takes longer.
RUNS = {True: 8, False: 6}
METRICS = {
    **dict.fromkeys(
        OF_TWO,
        ("sensitivity@specificity=0.9", "auroc", "f1", "balanced-accuracy", "accuracy"),
    ),
    **dict.fromkeys(ORDINAL, ("kappa:quadratic", "balanced-accuracy", "accuracy")),
    **dict.fromkeys(NOMINAL, ("f1:macro", "balanced-accuracy", "accuracy")),
}
OURS, RAW, FALLBACK, SAME = "ours", "raw max probability", "scikit-fallback", "ours, same share"
SCORES = {
    "max probability": "max-probability",
    "entropy": "entropy",
    "margin": "margin",
    "Fumera": "class-thresholds",
}
#: Of two classes these are the order of max probability.
ONE_ORDER = ("entropy", "margin")
PEERS = (*SCORES, RAW)

TITLE = "Decisions at a budget"
COLUMNS = ("metric", "as it is", OURS, *PEERS, FALLBACK, SAME)
ABOUT = f"""
The realised metric of the kept rows of label-shifted batches, at budgets of 5% / 15% / 30%, mean
over paired splits ({RUNS[True]} of sets of two classes, {RUNS[False]} of others; 300 to 2,000
rows at validation and in the batch; the seed is made of the set's name and the split's number).
`*` after a figure: ours is better by more than two standard errors of the paired difference; `!`:
ours is worse by as much; without a mark it is a tie.

- **ours**: `Abstainer(metric, budget=...)` with its defaults.
- **max probability, entropy, margin, Fumera**: the same `Abstainer`, so the same calibrated and
  adapted probabilities and the same rule for predicting, with `score=` in place of its own
  choice. Of two classes max probability, entropy and margin are one order, and run once. Fumera
  is `score="class-thresholds"` (Fumera, Roli, Giacinto 2000), for two classes.
- **raw max probability**: what most people do: the classifier's own probabilities, neither
  calibrated nor adapted, the lowest largest ones withheld, the rest predicted as the most
  probable class.
- **scikit-fallback**: its `RateFallbackClassifierCV(fallback_rate={SHARED}, cv=5)`, fitted on the
  validation rows, as documented, around a model that gives our calibrated probabilities. It has
  no adaptation to a batch, so it may withhold another share than was asked for: that share stands
  beside the figure. *{SAME}* is ours with exactly as many rows withheld; the mark of
  scikit-fallback is against that.
- **as it is**: the classifier's own probabilities on the whole batch.

For accuracy, withholding the lowest largest probability is optimal in theory, and what ours does:
ties are expected there.
"""


def names() -> list[str]:
    """Return the sets that are there."""
    return [name for name in METRICS if missing(name) is None]


def skipped() -> list[str]:
    """Return what is not there, and why."""
    found = [f"{name} ({reason})" for name in METRICS if (reason := missing(name))]
    if not _fallback_there():
        found.append("scikit-fallback (the package skfb is not installed)")
    return found


def lines(name: str) -> list[dict[str, Any]]:
    """Return a line for each metric of a set."""
    runs = repeats(RUNS[name in OF_TWO], 3)
    parts = [split(load(name), "label", run) for run in range(runs)]
    return [
        _line(metric, [_realised(name, metric, part) for part in parts])
        for metric in METRICS[name]
    ]


# What is realised -------------------------------------------------------------------------------


def _realised(name: str, metric: str, part: Split) -> dict[str, float]:
    """Return the metric of the kept rows on one split, by method and budget."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        abstainer = Abstainer(metric, budget=0.0, scale=part.scale, random_state=part.seed)
        abstainer.fit(part.scores_val, part.y_val, classes=range(load(name).n_classes))
        raw = as_proba(part.scores, part.scale)
        found["as it is"] = metrics.get(metric).observed(part.y, raw)
        for budget in BUDGETS:
            for method, value in _at(abstainer, budget, part, raw):
                found[_key(method, budget)] = value
        if _fallback_there():
            found |= _beside_fallback(abstainer, part)
    return found


def _at(
    abstainer: Abstainer, budget: float, part: Split, raw: NDArray[Any]
) -> Iterator[tuple[str, float]]:
    yield OURS, _of_decisions(abstainer, part, budget=budget)
    two = raw.shape[1] == 2
    largest = _of_decisions(abstainer, part, budget=budget, score="max-probability")
    for peer, score in SCORES.items():
        if peer == "max probability" or (peer in ONE_ORDER and two):
            yield peer, largest
        elif peer != "Fumera" or two:
            yield peer, _of_decisions(abstainer, part, budget=budget, score=score)
    kept = raw_kept(raw, budget)
    yield RAW, abstainer.metric_.observed(part.y[kept], raw[kept])


def _of_decisions(abstainer: Abstainer, part: Split, **settings: Any) -> float:
    """Return the metric of what an abstainer keeps, with settings that need no other fit."""
    decisions = copy(abstainer).set_params(**settings).decide(part.scores)
    kept = ~decisions.abstain
    return decisions.metric.observed(
        part.y[kept],
        decisions.proba[kept],
        prediction=decisions.columns[kept],
        classes=decisions.classes,
    )


def raw_kept(raw: NDArray[Any], budget: float) -> NDArray[Any]:
    """Return which rows are left when so many of the lowest largest probability are withheld."""
    kept = np.ones(len(raw), dtype=bool)
    kept[np.argsort(raw.max(axis=1), kind="stable")[: int(budget * len(raw))]] = False
    return kept


# scikit-fallback --------------------------------------------------------------------------------


def _fallback_there() -> bool:
    return importlib.util.find_spec("skfb") is not None


def fallback_withheld(
    proba_val: NDArray[Any], y_val: NDArray[Any], proba: NDArray[Any], rate: float
) -> NDArray[Any]:
    """Return which rows scikit-fallback withholds, at the threshold it learns at validation."""
    from skfb.estimators import RateFallbackClassifierCV

    from benchmarks.proof._given import Given

    rejector = RateFallbackClassifierCV(Given(), fallback_rate=rate, cv=5, fallback_mode="store")
    withheld: NDArray[Any] = (
        rejector.fit(proba_val, y_val).predict(proba).get_dense_fallback_mask()
    )
    return withheld


def _beside_fallback(abstainer: Abstainer, part: Split) -> dict[str, float]:
    proba_val, proba = (
        np.asarray(abstainer.calibrator_.predict_proba(scores))
        for scores in (part.scores_val, part.scores)
    )
    withheld = fallback_withheld(proba_val, part.y_val, proba, SHARED)
    kept = ~withheld
    # Nobody would ask for all rows; a metric of none is not defined.
    same = _of_decisions(abstainer, part, budget=int(withheld.sum())) if kept.any() else np.nan
    value = abstainer.metric_.observed(part.y[kept], proba[kept]) if kept.any() else np.nan
    return {FALLBACK: value, SAME: same, "share": float(withheld.mean())}


# Summed up --------------------------------------------------------------------------------------


def _key(method: str, budget: float) -> str:
    return f"{method} {budget:g}"


def _line(metric: str, found: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Return the printed line, and in further keys what the verdict is made of."""
    values = {key: np.array([one[key] for one in found]) for key in found[0]}
    line: dict[str, Any] = {"metric": metric, "runs": len(found)}
    line["as it is"] = f"{np.nanmean(values['as it is']):.3f}"
    ours = [values[_key(OURS, budget)] for budget in BUDGETS]
    line[OURS] = " / ".join(f"{np.nanmean(one):.3f}" for one in ours)
    for peer in PEERS:
        if _key(peer, BUDGETS[0]) not in values:
            continue
        cells = []
        for budget, one in zip(BUDGETS, ours, strict=True):
            lead = Lead.of(one, values[_key(peer, budget)])
            line |= lead.plain(_key(peer, budget))
            cells.append(f"{lead.theirs:.3f}{lead.mark}")
        line[peer] = " / ".join(cells)
    if FALLBACK in values:
        lead = Lead.of(values[SAME], values[FALLBACK])
        line |= lead.plain(_key(FALLBACK, SHARED))
        share = line["share"] = float(values["share"].mean())
        line["share least"], line["share most"] = (float(f(values["share"])) for f in (min, max))
        line[FALLBACK] = f"{lead.theirs:.3f}{lead.mark} ({share:.0%})"
        line[SAME] = f"{lead.ours:.3f}"
    return line


def _cells(found: Mapping[str, Any], peer: str) -> list[tuple[str, str, float, Lead]]:
    """Return set, metric, budget and the paired difference of every cell with that peer."""
    budgets = (SHARED,) if peer == FALLBACK else BUDGETS
    return [
        (name, line["metric"], budget, Lead.kept(line, _key(peer, budget)))
        for name, rows in found.items()
        for line in rows
        for budget in budgets
        if Lead.there(line, _key(peer, budget))
        # One order of two classes, judged once.
        and not (name in OF_TWO and peer in ONE_ORDER)
    ]


def verdict(found: dict[str, list[dict[str, Any]]]) -> str:
    """Say where ours loses, then how often it wins, by peer and by metric."""
    by_peer = {peer: _cells(found, peer) for peer in (*PEERS, FALLBACK)}
    lost = [
        f"{metric} on {name} at {budget:.0%} to {peer} "
        f"(by {-lead.difference:.3f} ± {lead.error:.3f})"
        for peer, cells in by_peer.items()
        for name, metric, budget, lead in cells
        if lead.mark == "!"
    ]
    every = [lead for cells in by_peer.values() for *_, lead in cells]
    blocks = [
        f"**Where ours is worse** by more than two standard errors: {'; '.join(lost)}."
        if lost
        else "**Ours is nowhere worse** by more than two standard errors.",
        f"Of {len(every)} cells (set, metric, budget and peer) ours is {counted(every)}. Were all "
        "differences chance, about one cell in thirty would be marked on either side.",
        "\n".join(_table(by_peer)),
    ]
    if any(lead.mark == "!" for *_, lead in by_peer[RAW]):
        blocks.append(
            "Where the raw probabilities do better, calibrating and adapting cost more than they "
            "gained: proportions are hard to tell from few rows, or of classes that the scores "
            "hardly keep apart."
        )
    shares = [line for rows in found.values() for line in rows if "share" in line]
    if shares:
        least = min(line["share least"] for line in shares)
        most = max(line["share most"] for line in shares)
        blocks.append(
            f"Asked for {SHARED:.0%}, scikit-fallback withheld between {least:.0%} and {most:.0%} "
            "of a batch: its threshold is learnt where the classes are otherwise frequent."
        )
    return "\n\n".join(blocks)


def _table(by_peer: Mapping[str, list[tuple[str, str, float, Lead]]]) -> Iterator[str]:
    """Yield better, tied and worse, and the mean difference, of each metric against each peer."""
    kinds = list(dict.fromkeys(metric for rows in METRICS.values() for metric in rows))
    yield "| ours better, tied, worse (mean difference) | " + " | ".join(by_peer) + " |"
    yield "| --- " * (len(by_peer) + 1) + "|"
    for kind in kinds:
        cells = []
        for found in by_peer.values():
            these = [lead for _, metric, _, lead in found if metric == kind]
            mean = np.mean([lead.difference for lead in these]) if these else np.nan
            marks = [[lead.mark for lead in these].count(mark) for mark in ("*", "", "!")]
            cells.append(f"{', '.join(map(str, marks))} ({mean:+.3f})" if these else "")
        yield f"| {kind} | " + " | ".join(cells) + " |"


def headline(found: dict[str, list[dict[str, Any]]]) -> tuple[str, str, str]:
    """Return the best peer and ours as means over the cells at 15%, and how often ours wins."""
    by_peer = {peer: _cells(found, peer) for peer in (*PEERS, FALLBACK)}
    usual = [lead for *_, budget, lead in by_peer["max probability"] if budget == SHARED]
    every = [lead for cells in by_peer.values() for *_, lead in cells]
    theirs, ours = (
        float(np.mean([getattr(lead, side) for lead in usual])) for side in ("theirs", "ours")
    )
    return (
        f"max probability, mean {theirs:.3f} of all metrics at {SHARED:.0%}",
        f"{ours:.3f}",
        f"{counted(every)} over {len(every)} cells",
    )
