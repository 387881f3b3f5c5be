"""A streamed command: the first pass, or what a run that was stopped kept of it; then writing.

Nothing stands in its place before the first pass is through. A folder gets one part after the
other, and a run that was stopped goes on behind the last of them; a single file lands at the end.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pyarrow as pa

from abstain._files import landing
from abstain._numerics import rate_bar
from abstain.arrow import RowSample, ahead, sample_decisions
from abstain.cli._kept_run import KeptRun, file_facts
from abstain.cli._output import Outputs, emit, heard_warnings, manifest_path, wrote
from abstain.cli._parts import Part, Queue, QueueEnd, Tables, part_chunks, parts_of
from abstain.cli._predictions import Chunk, PredictionFiles
from abstain.cli._summary import facts, lines
from abstain.cli._tables import found_files
from abstain.cli._terminal import in_a_line, say
from abstain.cli._writing import manifest_of, say_renamed, write_json, writing
from abstain.exceptions import AssumptionWarning, RepairWarning, warn_user
from abstain.policy import Policy


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
    end : QueueEnd or None
        Where people's capacity is used up.
    """

    policy: Policy
    counts: list[int]
    found: dict[str, Any]
    heard: list[list[str]] = field(default_factory=list)
    end: QueueEnd | None = None


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
    files: PredictionFiles, classes: Any, look: Callable[[pa.Table, bool, int], None]
) -> FirstPass:
    """Read the scores of all files once.

    Parameters
    ----------
    files : PredictionFiles
        What is read.
    classes : array-like
        The classes, in the order that the library has them.
    look : callable
        Gets the scores of each chunk, whether rows are without one, and the number of the first.
        The next chunks are read meanwhile.
    """
    names = files.scores.names_for(classes)
    counts, sample = list[int](), RowSample()
    several = len(files.files) > 1
    with rate_bar("reading scores", files.n_rows()) as advance:
        for file in files.files:
            count = 0
            for chunk in ahead(files.chunks(file, ())):
                if not len(chunk):
                    continue
                number = sum(counts) + count
                files.note_gaps(chunk, file, number)
                scores = chunk.scores.select(names)
                try:
                    look(scores, chunk.gaps is not None, number)
                except ValueError as error:
                    raise Place(file, chunk.begin, several).of(error) from error
                drawn = np.column_stack([column.to_numpy() for column in scores.columns])
                sample.add(drawn if chunk.gaps is None else drawn[~chunk.gaps])
                count += len(chunk)
                advance(len(chunk))
            counts.append(count)
    return FirstPass(names, counts, sample, files.remarks(sum(counts)))


class Place(NamedTuple):
    """Where the rows stand that the library counts from 0."""

    file: Path
    begin: int
    several: bool

    def of(self, error: ValueError) -> ValueError:
        """Return the error that says so."""
        if not self.begin and not self.several:
            return error
        return ValueError(f"{self.file}, counted from its row {self.begin} on: {error}")


def choice_of(policy: Policy, seen: FirstPass, queue: Queue | None = None) -> StreamChoice:
    """Return what is said of a rule and a stream, from rows that were drawn from it.

    ``queue`` has the rows that a rule made before withholds. Where there is none, the estimate and
    what it rests on are those of the summary of all rows.
    """
    stored, end = queue is not None, None if queue is None else queue.end
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
    if end is not None:
        decisions = end.cut(decisions, np.zeros(len(drawn), dtype=np.int64))
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
    if queue is not None:
        expected = queue.check(policy, seen.n_rows)
        found["over_capacity"] = None if end is None else queue.n_withheld - expected
    return StreamChoice(policy, seen.counts, with_counts(found, expected, seen.n_rows), end=end)


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


_KINDS = {kind.__name__: kind for kind in (AssumptionWarning, RepairWarning)}
# Options that change nothing in what is written, or that are told of otherwise.
_NO_SETTINGS = {"out", "force", "as_json", "strict", "policy", "key_file", "verbose", "stream"}


#: Larger inputs are streamed, which takes less time and memory; and much larger ones whatever else
#: is asked for, as they may not fit into memory.
FASTER_BYTES, MOST_BYTES = 10_000_000, 200_000_000
# What text is packed to, at most times: it counts for what it unpacks to.
_PACKED = 5


def is_streamed(
    batch: Path, stream: bool | None, outputs: Outputs, whole: Mapping[str, Any] | None = None
) -> bool:
    """Tell whether a batch is streamed: a folder, or what was asked for, or what is faster so.

    Parameters
    ----------
    batch : Path
        What is decided about.
    stream : bool or None
        What was asked for.
    outputs : Outputs
        What is written.
    whole : mapping, optional
        Options that take all rows at once, with what they were given.

    Raises
    ------
    click.UsageError
        If something else is asked for that takes all rows at once, and they may be too many.
    """
    why_not = _why_not(outputs, whole or {})
    if stream is None and not batch.is_dir():
        size = _size_of(batch)
        if size <= FASTER_BYTES or (why_not is not None and size <= MOST_BYTES):
            return False
    elif stream is False:
        if batch.is_dir():
            raise click.UsageError(
                f"--no-stream is for files; for all tables in the folder give '{batch}/*.csv'."
            )
        return False
    if why_not is not None:
        raise click.UsageError(why_not)
    return True


def _why_not(outputs: Outputs, whole: Mapping[str, Any]) -> str | None:
    """Say why what is asked for cannot be streamed; None where it can."""
    for option, value in {**whole, f"--sort {outputs.sort}": outputs.sort != "input"}.items():
        if value not in (None, False):
            return (
                f"{option} takes all rows in memory at once, and BATCH is streamed. Leave it out; "
                f"or, for a file that fits into memory, add --no-stream."
            )
    if outputs.out is not None and outputs.out.suffix.lower() == ".xlsx":
        return (
            f"Cannot stream into the workbook {outputs.out}: name a folder, or a file that ends "
            f"in .parquet, .csv, .csv.gz or .tsv."
        )
    return None


def _size_of(batch: Path) -> int:
    """Return how large the files are, unpacked; 0 for what is not streamed or cannot be read."""
    try:
        files = found_files(batch)
    except (OSError, ValueError):
        return 0  # what is wrong with it is said when it is read
    if files[0].suffix.lower() in (".xlsx", ".xlsm"):
        return 0
    return sum(
        file.stat().st_size * (_PACKED if file.suffix.lower() == ".gz" else 1) for file in files
    )


@dataclass(frozen=True)
class StreamedRun:
    """A command that streams.

    Attributes
    ----------
    stream : PredictionFiles
        What is decided about.
    outputs : Outputs
        What is written, and how.
    sources : tuple of Path
        What else is read.
    key : bytes or None
        What a rule that is written is signed with.
    rule : str or None
        The checksum of the rule, where that is given.
    advice : callable, optional
        Gives the lines that are said after all others.
    """

    stream: PredictionFiles
    outputs: Outputs
    sources: tuple[Path, ...]
    key: bytes | None
    rule: str | None = None
    advice: Callable[[dict[str, Any]], list[str]] | None = None

    def run(self, choose: Callable[[], StreamChoice]) -> None:
        """Choose, or take what was chosen before, then decide about the rows and write."""
        folder = self.outputs.folder
        kept = None if folder is None else self._kept(folder)
        before = None if kept is None else kept.begun(force=self.outputs.force)
        self._say_that_it_streams()
        self.stream.check_stream()
        if kept is not None and before is not None:
            chosen = self._again(kept, before)
        else:
            chosen = choose()
            chosen.heard = heard_warnings()
        self.outputs.stop_on_doubts(chosen.found, self._lines(chosen.found))
        tables = Tables(self.stream, chosen.policy, chosen.end)
        if self.outputs.out is not None:
            say_renamed(self.outputs.out, tables.renamed)
        if kept is None:
            self._in_one(chosen, tables)
        else:
            if before is None:
                self._begin(kept, chosen)
            self._in_parts(kept, chosen, tables)

    def _lines(self, found: dict[str, Any]) -> list[str]:
        return [*stream_lines(found), *([] if self.advice is None else self.advice(found))]

    def _kept(self, folder: Path) -> KeptRun:
        given = click.get_current_context().params
        settings = {name: value for name, value in given.items() if name not in _NO_SETTINGS} | {
            "policy": self.rule,
            "key": self.key is not None,
        }
        return KeptRun(folder, settings, file_facts([*self.sources, *self.stream.files]))

    def _again(self, kept: KeptRun, before: dict[str, Any]) -> StreamChoice:
        policy = Policy.load(kept.policy, key=self.key)
        if policy.sha256 != before["rule"]:
            raise ValueError(
                f"{kept.policy} is not the rule that the parts in {kept.folder} were decided by. "
                f"Add --force to begin again."
            )
        for kind, message in before["heard"]:
            warn_user(message, _KINDS[kind])
        end = None if before["end"] is None else QueueEnd(*before["end"])
        return StreamChoice(policy, before["counts"], before["found"], before["heard"], end)

    def _begin(self, kept: KeptRun, chosen: StreamChoice) -> None:
        kept.folder.mkdir(parents=True, exist_ok=True)
        chosen.policy.save(kept.policy, key=self.key)
        kept.begin(
            {
                "rule": chosen.policy.sha256,
                "counts": chosen.counts,
                "found": chosen.found,
                "heard": chosen.heard,
                "end": chosen.end,
            }
        )

    def _in_parts(self, kept: KeptRun, chosen: StreamChoice, tables: Tables) -> None:
        kept.clean()
        parts, done = parts_of(self.stream.files, chosen.counts), kept.finished()
        done = {part.name: done[part.name] for part in parts if part.name in done}
        if done:
            say(f"{len(done):,} of {len(parts):,} parts are there; going on with the others.")
        metadata = {"policy": chosen.policy.sha256}
        left = sum(len(part) for part in parts if part.name not in done)
        with self._saying_how_to_go_on(kept, parts), rate_bar("deciding", left) as advance:
            for _, group in groupby(parts, key=lambda part: part.file):
                waiting = list(group)
                while waiting and waiting[0].name in done:
                    waiting.pop(0)
                if not waiting:
                    continue
                for part, chunks in part_chunks(self.stream, waiting):
                    if part.name in done:
                        continue
                    path = kept.folder / part.name
                    with landing() as place:
                        to = writing(place(path), path, tables.schema, metadata)
                        with to as write:
                            rows, withheld = _write_part(tables, part, chunks, write, advance)
                    done[part.name] = kept.finish(
                        part.name,
                        rows=rows,
                        withheld=withheld,
                        file=str(part.file),
                        begin=part.begin,
                        end=part.end,
                    )
        ready = [done[part.name] for part in parts]
        withheld, rows = (sum(one[name] for one in ready) for name in ("withheld", "rows"))
        found = with_counts(chosen.found, withheld, rows)
        facts = {"policy": chosen.policy.sha256, "renamed": tables.renamed, "parts": ready}
        manifest = manifest_of(self._inputs(chosen), **facts)
        with landing() as place:
            write_json(place(kept.manifest), manifest)
            self._save_policy(place, chosen)
            emit(found, self._lines(found), self.outputs.as_json)
        say(
            f"Wrote decisions to {len(parts):,} parts in {in_a_line(kept.folder)}, and what they "
            f"were made of to {in_a_line(kept.manifest)}"
        )
        wrote("the rule", self.outputs.policy)

    def _in_one(self, chosen: StreamChoice, tables: Tables) -> None:
        facts = {"policy": chosen.policy.sha256, "renamed": tables.renamed}
        manifest = manifest_of(self._inputs(chosen), **facts)
        out, rows, withheld = self.outputs.out, 0, 0
        with landing() as place:
            with ExitStack() as stack:
                write = None
                if out is not None:
                    to = writing(place(out), out, tables.schema, manifest)
                    write = stack.enter_context(to)
                advance = stack.enter_context(rate_bar("deciding", sum(chosen.counts)))
                for part in parts_of(self.stream.files, chosen.counts, whole=True):
                    for _, chunks in part_chunks(self.stream, [part]):
                        some, count = _write_part(tables, part, chunks, write, advance)
                        rows, withheld = rows + some, withheld + count
            found = with_counts(chosen.found, withheld, rows)
            if out is not None:
                output = {"file": out.name, "rows": rows, "bytes": place(out).stat().st_size}
                write_json(place(manifest_path(out)), {**manifest, "output": output})
            self._save_policy(place, chosen)
            emit(found, self._lines(found), self.outputs.as_json)
        wrote("decisions", out)
        wrote("the rule", self.outputs.policy)

    def _save_policy(self, place: Callable[[Path], Path], chosen: StreamChoice) -> None:
        if self.outputs.policy is not None:
            chosen.policy.save(place(self.outputs.policy), key=self.key)

    def _inputs(self, chosen: StreamChoice) -> list[dict[str, Any]]:
        files = file_facts(self.stream.files)
        rows = [one | {"rows": n} for one, n in zip(files, chosen.counts, strict=True)]
        return [*file_facts(self.sources), *rows]

    def _say_that_it_streams(self) -> None:
        files = self.stream.files
        size = sum(file.stat().st_size for file in files) / 1e6
        several = f" and {len(files) - 1:,} files more" if len(files) > 1 else ""
        say(f"Streaming {in_a_line(files[0])}{several} ({size:,.0f} MB), in two passes.")

    @contextmanager
    def _saying_how_to_go_on(self, kept: KeptRun, parts: list[Part]) -> Iterator[None]:
        try:
            yield
        except BaseException:
            say(
                f"{len(kept.finished()):,} of {len(parts):,} parts are in "
                f"{in_a_line(kept.folder)}; the same command goes on from there."
            )
            raise


def _write_part(
    tables: Tables,
    part: Part,
    chunks: Iterator[Chunk],
    write: Callable[[pa.Table], None] | None,
    advance: Callable[[int], None],
) -> tuple[int, int]:
    """Decide about the rows of a part and write them; return how many, and how many withheld.

    While one chunk is written the next one is decided about, and the one behind it read.
    """
    rows = withheld = 0
    number = part.number - part.begin
    decided = ((*tables.of(chunk, number + chunk.begin), len(chunk)) for chunk in chunks)
    with closing(ahead(decided, depth=1)) as made:
        for table, count, n_read in made:
            if write is not None:
                write(table)
            rows, withheld = rows + table.num_rows, withheld + count
            advance(n_read)
    return rows, withheld
