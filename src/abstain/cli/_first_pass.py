"""The first pass over a stream: scores are read and checked, and what is said is settled."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from abstain._kernels._pieces import n_threads
from abstain._numerics import rate_bar
from abstain.arrow import RowSample, ahead, sample_decisions
from abstain.cli._predictions import PredictionFiles
from abstain.cli._summary import facts, lines
from abstain.exceptions import AssumptionWarning
from abstain.policy import Policy

# Each holds a chunk and a summary of a few megabytes.
_MOST_AT_A_TIME = 4


@dataclass
class StreamChoice:
    """What the first pass settles.

    Attributes
    ----------
    policy : Policy
        The rule.
    counts : list of int
        How many rows each file has.
    found : dict
        What is said of the decisions; how many are withheld is counted in the second pass.
    heard : list
        The warnings of the first pass, with their kinds.
    """

    policy: Policy
    counts: list[int]
    found: dict[str, Any]
    heard: list[list[str]] = field(default_factory=list)


@dataclass
class FirstPass:
    """What the first pass has seen.

    Attributes
    ----------
    names : list of str
        The names of the scores, in the order of the classes.
    counts : list of int
        How many rows each file has.
    sample : RowSample
        Rows drawn from them.
    remarks : dict
        What is out of the ordinary.
    """

    names: list[str]
    counts: list[int]
    sample: RowSample
    remarks: dict[str, Any]

    @property
    def n_rows(self) -> int:
        """How many rows are to be decided about: those that are dropped are not."""
        without = self.remarks.get("without_score", {"rows": 0, "done": ""})
        return sum(self.counts) - (without["rows"] if without["done"] == "drop" else 0)

    @property
    def n_referred(self) -> int:
        """How many rows without a score go to a person."""
        return self.n_rows - self.sample.n_rows


def first_pass(
    files: PredictionFiles, classes: Any, look: Callable[[pa.Table, bool], None]
) -> FirstPass:
    """Read the scores of all files once.

    Parameters
    ----------
    files : PredictionFiles
        What is read.
    classes : array-like
        The classes, in the order that the library has them.
    look : callable
        Gets the scores of each chunk, and whether rows are without one; of several chunks at a
        time, in any order, by threads.
    """
    names = files.scores.names_for(classes)
    counts, sample = list[int](), RowSample()
    several = len(files.files) > 1
    with rate_bar("reading scores", files.n_rows()) as advance, _by_threads(look) as looked_at:
        for file in files.files:
            count = 0
            for chunk in ahead(files.chunks(file, ())):
                if not len(chunk):
                    continue
                files.note_gaps(chunk, file, sum(counts) + count)
                scores = chunk.scores.select(names)
                looked_at(scores, chunk.gaps is not None, _Place(file, chunk.begin, several))
                drawn = np.column_stack([column.to_numpy() for column in scores.columns])
                sample.add(drawn if chunk.gaps is None else drawn[~chunk.gaps])
                count += len(chunk)
                advance(len(chunk))
            counts.append(count)
    return FirstPass(names, counts, sample, files.remarks(sum(counts)))


class _Place(NamedTuple):
    """Where the rows stand that the library counts from 0."""

    file: Path
    begin: int
    several: bool

    def of(self, error: ValueError) -> ValueError:
        """Return the error that says so."""
        if not self.begin and not self.several:
            return error
        return ValueError(f"{self.file}, counted from its row {self.begin} on: {error}")


@contextmanager
def _by_threads(
    look: Callable[[pa.Table, bool], None],
) -> Iterator[Callable[[pa.Table, bool, _Place], None]]:
    """Give a function that has a chunk looked at while the next ones are read.

    No more than a few at a time; the first error comes first.
    """
    most = min(n_threads(), _MOST_AT_A_TIME)
    waiting: deque[tuple[Future[None], _Place]] = deque()

    def finish() -> None:
        found, place = waiting.popleft()
        try:
            found.result()
        except ValueError as error:
            raise place.of(error) from error

    with ThreadPoolExecutor(most) as pool:

        def looked_at(scores: pa.Table, gaps: bool, place: _Place) -> None:
            if len(waiting) >= most:
                finish()
            waiting.append((pool.submit(look, scores, gaps), place))

        yield looked_at
        while waiting:
            finish()


def choice_of(policy: Policy, seen: FirstPass, *, stored: bool) -> StreamChoice:
    """Return what is said of a rule and a stream, from rows that were drawn from it.

    ``stored`` where the rule is one made before. Where not, the estimate and what it rests on are
    those of the summary of all rows.
    """
    drawn = seen.sample.scores
    if drawn is None:
        raise ValueError("There is no row with a score.")
    table = pa.table(dict(zip(seen.names, drawn.T, strict=True)))
    with warnings.catch_warnings():
        if not stored:
            # Of all rows everything has been said.
            warnings.simplefilter("ignore", AssumptionWarning)
        decisions = sample_decisions(policy, table)
    if not stored:
        decisions = decisions.judged(figures=policy.estimate, assumption=policy.assumption)
    found = facts(decisions, stored=stored)
    if not stored and found["priors"]["estimated"] is not None:
        found["priors"]["estimated"] = policy.priors
    times = seen.sample.n_rows / len(drawn)
    if found["asked"]["cost"] is not None:
        for moment in ("before", "after"):
            found["asked"]["cost"][moment]["total"] *= times
    if found["operating_point"] is not None:
        for part in (found["operating_point"]["missed"][moment] for moment in ("before", "after")):
            ends = (part["value"], *part["interval"])
            value, *interval = (None if end is None else times * end for end in ends)
            part |= {"value": value, "interval": interval}
    found |= seen.remarks
    found["streamed"] = {
        "files": len(seen.counts),
        "rows": sum(seen.counts),
        "drawn": len(drawn) if times > 1 else None,
        "chosen_on": None if stored else "a summary of all rows",
    }
    expected = seen.n_referred + round(times * int(decisions.abstain.sum()))
    return StreamChoice(policy, seen.counts, with_counts(found, expected, seen.n_rows))


def with_counts(found: dict[str, Any], withheld: int, n_rows: int) -> dict[str, Any]:
    """Return what is said with so many rows withheld of so many."""
    rate = withheld / n_rows if n_rows else 0.0
    return found | {"rows": n_rows, "withheld": withheld, "abstention_rate": rate}


def stream_lines(found: dict[str, Any]) -> list[str]:
    """Return the facts as lines for people, and how they came about."""
    told, result = found["streamed"], lines(found)
    files = "one file" if told["files"] == 1 else f"{told['files']:,} files"
    said = f"Streamed {told['rows']:,} rows of {files}."
    if told["chosen_on"] is not None:
        said += (
            f" The rule was chosen on {told['chosen_on']}, which is as good as on the rows "
            f"themselves within a few 0.0001 of the metric."
        )
    if told["drawn"] is not None:
        of = "The other figures" if told["chosen_on"] is not None else "The estimates"
        said += f" {of} are of {told['drawn']:,} rows drawn at random."
    return [*result, "", said]
