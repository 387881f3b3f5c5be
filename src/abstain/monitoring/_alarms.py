"""Alarms: which kinds of evidence crossed their bound, since when, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil, log
from typing import Any

import numpy as np
from scipy.special import ndtri

from abstain import _words as words
from abstain.monitoring._chunk import Chunk
from abstain.monitoring._evidence import Crossing, Seen, first_crossing, stakes
from abstain.monitoring._watched import KINDS, Watched

_TITLES = {
    "proportions": "The class proportions left the range that the rule was made for",
    "scores": "Scores mean something else: no class proportions explain them",
    "metric": "The estimated metric is below its floor",
    "labels": "Labels contradict the estimate",
    "referrals": "More cases are referred than people can look at",
    "model": "Scores look like those of another model",
}
_ADVICE = {
    "proportions": "Adapt the rule to recent scores: policy.adapt(scores), or `abstain adapt`.",
    "scores": "Label about {n} rows drawn at random from {since} on, and calibrate on them; until "
    "then do not rely on estimates.",
    "metric": "Label about {n} rows drawn at random from {since} on. Refer more cases until they "
    "say that the metric is better than estimated.",
    "labels": "Calibrate anew on the labelled rows from {since} on: the estimates are wrong.",
    "referrals": "Adapt the rule, which keeps to its budget then, or refer the most pressing "
    "cases alone: policy.apply(scores, at_most=n).",
    "model": "Stop, and check that the scores are of the classifier that the rule was made with.",
}
# Labels that tell a share to within so much, nine times in ten.
_WITHIN = 0.05
N_LABELS = ceil(0.25 * (float(ndtri(0.95)) / _WITHIN) ** 2 / 10) * 10


@dataclass(frozen=True)
class Alarm:
    """What is no longer as it was when the rule was made.

    Attributes
    ----------
    kind : {"proportions", "scores", "metric", "labels", "referrals", "model"}
        What it is about.
    chunk : str
        The chunk at which it was raised.
    began : str
        The chunk where it most probably began.
    began_between : (str, str)
        An interval that holds that chunk with a probability of 90%, if it began at all.
    evidence : float
        How many times its stake a bet against the rule has won, in powers of ten.
    text : str
        What was seen.
    advice : str
        What to do.
    """

    kind: str
    chunk: str
    began: str
    began_between: tuple[str, str]
    evidence: float
    text: str
    advice: str

    def __str__(self) -> str:
        first, last = self.began_between
        between = "" if first == last else f" (between {first} and {last})"
        return f"{self.text} Raised at {self.chunk}, began at {self.began}{between}. {self.advice}"

    def to_dict(self) -> dict[str, Any]:
        """Return the alarm as plain data."""
        return {**asdict(self), "began_between": list(self.began_between)}


def raised(
    chunks: Sequence[Chunk], watched: Watched, kinds: Sequence[str], rate: float,
    cleared: dict[str, int],
) -> list[Alarm]:  # fmt: skip
    """Return the alarms that stand.

    Parameters
    ----------
    chunks : sequence of Chunk
        In the order they came.
    watched : Watched
    kinds : sequence of str
        Which kinds share the rate.
    rate : float
        How many false alarms there may be in a year, of all kinds together.
    cleared : dict of str to int
        The number of chunks that each kind is done with.
    """
    found = []
    for kind in kinds:
        order = [k for k, chunk in enumerate(chunks) if kind in chunk.sums]
        if kind == "labels":
            # A bet is on what comes next, and labels come in an order of their own.
            order.sort(key=lambda k: getattr(chunks[k].realised, "order", 0))
        done = sum(k < cleared.get(kind, 0) for k in order)
        some = [chunks[k] for k in order]
        if not some:
            continue
        seen = Seen(np.array([chunk.sums[kind] for chunk in some]), watched.bounds[kind])
        paid = stakes([chunk.end for chunk in some], [chunk.start for chunk in some])
        crossing = first_crossing(seen, paid, log(len(KINDS) / rate), done)
        if crossing is not None:
            found.append((order[crossing.at], _alarm(kind, some, seen, watched, crossing)))
    return [alarm for _, alarm in sorted(found, key=lambda one: one[0])]


def _alarm(
    kind: str, chunks: Sequence[Chunk], seen: Seen, watched: Watched, crossing: Crossing
) -> Alarm:
    since = chunks[crossing.began].name
    what = watched.names[kind][crossing.value]
    return Alarm(
        kind,
        chunks[crossing.at].name,
        since,
        (chunks[crossing.first].name, chunks[crossing.last].name),
        round(crossing.log_evidence / log(10), 1),
        f"{_TITLES[kind]}: {_seen(kind, what, seen, crossing)}.",
        _ADVICE[kind].format(n=N_LABELS, since=since),
    )


def _seen(kind: str, what: str, seen: Seen, crossing: Crossing) -> str:
    """Say what the values were from when it began."""
    part = seen.sums[crossing.began : crossing.at + 1, crossing.value]
    n, total = part[:, 0].sum(), part[:, 1].sum()
    mean = total / n if n else float("nan")
    if kind == "metric":
        return f"by {words.number(mean, 1)} standard deviations in the mean of {len(part)} chunks"
    if kind == "labels":
        more = "more" if mean > 0 else "less"
        return f"{what} came true {more} often than estimated, by {words.share(abs(mean))} of rows"
    low, high = part[-1, 3:]
    if kind == "scores":
        return f"a mean that every class has at 0 was {words.number(mean, 3)}"
    quiet = f"at most {words.share(high)}" if low <= 0 else f"{words.share(low)} to "
    quiet += "" if low <= 0 else words.share(high)
    return f"{what} was {words.share(mean)}, and {quiet} is quiet"
