"""Writing decisions: the columns of the input, then what was decided, in the format of the ending.

Numbers have as few digits as reproduce the decisions; see ``_digits``.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from abstain import __version__
from abstain._files import sha256_of
from abstain._inputs import FloatArray
from abstain.cli._excel import write_sheet
from abstain.cli._options import this_command
from abstain.cli._output import Outputs, manifest_path
from abstain.cli._terminal import in_a_line, say
from abstain.decisions import Decisions, GroupDecisions, free_name

if TYPE_CHECKING:
    from abstain.cli._predictions import Predictions

#: Of manifests.
SCHEMA_VERSION = 1
EXACT = 17
_TENS = np.array([10.0**k for k in range(23)])
# Numbers that come out of a conversion as they went in.
_WHOLE = r"^(0|-?[1-9]\d{0,14})$"
_DECIMAL = r"^-?(0|[1-9]\d{0,8})(\.\d{1,6})?$"


def save_decisions(
    place: Callable[[Path], Path],
    outputs: Outputs,
    decisions: Decisions | GroupDecisions,
    rows: Predictions,
    sources: tuple[Predictions | Path, ...],
) -> None:
    """Write decisions with the other columns of their rows, and a manifest beside them.

    Nothing where that is not asked for.

    Parameters
    ----------
    place : callable
        Gives the temporary file for a path; see :func:`abstain._files.landing`.
    outputs : Outputs
        Where the decisions are to stand, and in which order.
    decisions : Decisions or GroupDecisions
        What was decided.
    rows : Predictions
        What it was decided about.
    sources : tuple of Predictions or Path
        All that was read.
    """
    path = outputs.out
    if path is None:
        return
    left = decisions.rows
    names, others = rows.ids, rows.others
    if names is None:
        names = pa.array(np.arange(rows.scores.num_rows) if rows.rows is None else rows.rows)
    if left is not None:
        names, others = names.take(left), others.take(left)
    if path.suffix.lower() in (".parquet", ".xlsx"):
        others = _typed(others)
    digits = EXACT if path.suffix.lower() == ".parquet" else digits_of(decisions)
    table, renamed = decision_table(
        decisions, names, rows.of.columns.identifier, others, digits=digits
    )
    if outputs.sort != "input":
        first = decisions.priority
        if outputs.sort == "score":
            # Rows without a score have none, and come first as they do among the pressing.
            first = np.nan_to_num(decisions.proba[:, -1], nan=np.inf)
        table = table.take(np.argsort(-first, kind="stable"))
    say_renamed(path, renamed)
    policy, _ = _rules(decisions)
    save_table(place, path, table, sources, policy=policy, renamed=renamed, digits=digits)


def save_table(
    place: Callable[[Path], Path],
    path: Path,
    table: pa.Table,
    sources: tuple[Predictions | Path, ...],
    **facts: Any,
) -> None:
    """Write a table and the manifest beside it, which has the checksums of what was read."""
    files = list[tuple[Path, int | None]]()
    for source in sources:
        if isinstance(source, Path):  # no table, such as a rule
            files.append((source, None))
        else:
            files += zip(source.files, source.places.counts, strict=True)
    inputs = [{"file": str(file), "sha256": sha256_of(file), "rows": rows} for file, rows in files]
    manifest = manifest_of(inputs, **facts)
    temporary = place(path)
    write_table(temporary, path, table, manifest)
    output = {"file": path.name, "rows": table.num_rows, "sha256": sha256_of(temporary)}
    write_json(place(manifest_path(path)), {**manifest, "output": output})


def manifest_of(inputs: list[dict[str, Any]], **facts: Any) -> dict[str, Any]:
    """Return the facts of an output: what it was made by and of, and what else is known of it.

    With them it can be made again. What is streamed is told by its size and when it was changed: a
    checksum is one more pass over files that are read only in passing.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "command": this_command(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "abstain": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
        "inputs": inputs,
        **facts,
    }


def write_json(path: Path, content: Any) -> None:
    """Write a manifest."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    # Names of files that are no text have escapes, which JSON has as Python does.
    path.write_text(f"{text}\n", "utf-8", "backslashreplace")


def say_renamed(path: Path, renamed: Mapping[str, str]) -> None:
    """Say which of our columns had to be called something else."""
    if renamed:
        listed = ", ".join(
            f"{in_a_line(new)} for {in_a_line(old)}" for old, new in renamed.items()
        )
        say(
            f"{in_a_line(path)} keeps the columns of the input; what was decided is called "
            f"{listed}."
        )


def _rules(decisions: Decisions | GroupDecisions) -> tuple[Any, pa.Array]:
    """Return the checksum of the rule, or of that of each group, and its beginning by rows."""
    if isinstance(decisions, GroupDecisions):
        each = {name: policy.sha256 for name, policy in decisions.policies.items()}
        return each, pa.array([each[name][:12] for name in decisions.groups])
    sha = decisions.policy.sha256
    return sha, pa.repeat(sha[:12], len(decisions))


def decision_table(
    decisions: Decisions | GroupDecisions,
    names: pa.Array | pa.ChunkedArray,
    identifier: str | None,
    others: pa.Table,
    *,
    digits: int = EXACT,
) -> tuple[pa.Table, dict[str, str]]:
    """Return a row per decision, and which of our columns had to be called something else."""
    made = decisions.to_frame()
    ours: dict[str, Any] = dict(zip(made.column_names, made.columns, strict=True))
    for name, column in ours.items():
        if pa.types.is_floating(column.type):
            # With so many digits, and nothing where there is no number.
            values = column.to_numpy()
            values = values if digits >= EXACT else _significant(values, digits)
            ours[name] = pa.array(values, mask=np.isnan(values))
    if isinstance(decisions, GroupDecisions):
        # The column it is from is among the others.
        del ours["group"]
    _, sha = _rules(decisions)
    called, renamed = column_layout(identifier, others.column_names, [*ours])
    return pa.table([names, *others.columns, *ours.values(), sha], names=called), renamed


def column_layout(
    identifier: str | None, others: Sequence[str], ours: Sequence[str]
) -> tuple[list[str], dict[str, str]]:
    """Return how columns of decisions are called, and which of ours had to be something else.

    First the row's name, or its number, then the other columns of the input under their own
    names, then what the library says and the beginning of the rule's checksum.
    """
    taken, renamed = {*others}, dict[str, str]()

    def own(name: str) -> str:
        free = free_name(name, taken)
        if free != name:
            renamed[name] = free
        taken.add(free)
        return free

    first = identifier or own("row")
    taken.add(first)
    return [first, *others, *map(own, [*ours, "policy"])], renamed


def digits_of(decisions: Decisions | GroupDecisions) -> int:
    """Return how many significant digits to write: the fewest that reproduce the decisions.

    Of 6, 9 or 12 those with which the written probabilities give the same predictions, and tell
    rows that were decided differently apart; or else all of them.
    """
    if isinstance(decisions, GroupDecisions):
        return max(map(digits_of, decisions.by.values()))
    # Rows without a score, and rows with a known label, are not decided by probabilities.
    scored = decisions.scored
    exact, rule, predicted = scored.compact, scored.choice.rule, scored.columns
    threshold = rule.threshold
    order = np.argsort(exact, kind="stable") if exact.ndim == 1 else None
    for digits in (6, 9, 12):
        rough = _significant(exact, digits)
        if order is None:
            if (rule.predict(rough) == predicted).all():
                return digits
            continue
        if threshold is not None:
            written = _significant(np.array([threshold]), digits)[0]
            if ((rough >= written) != (exact >= threshold)).any():
                continue
        decided = 2 * predicted[order] + scored.abstain[order]
        merged = (np.diff(rough[order]) == 0) & (np.diff(exact[order]) != 0)
        if not (merged & (np.diff(decided) != 0)).any():
            return digits
    return EXACT


def _significant(values: FloatArray, digits: int) -> FloatArray:
    """Round to significant digits."""
    with np.errstate(divide="ignore", invalid="ignore"):
        magnitude = np.floor(np.log10(np.abs(values)))
    magnitude = np.where(np.isfinite(magnitude), magnitude, 0).astype(np.intp)
    tens = _TENS[np.clip(digits - 1 - magnitude, 0, 22)]
    rounded: FloatArray = np.rint(values * tens) / tens
    return rounded


def write_table(
    temporary: Path, path: Path, table: pa.Table, manifest: dict[str, Any] | None = None
) -> None:
    """Write a table in the format of the ending of the path that it will have."""
    if path.name.lower().endswith(".xlsx"):
        write_sheet(temporary, table, called=path)
        return
    with writing(temporary, path, table.schema, manifest) as write:
        write(table)


@contextmanager
def writing(
    temporary: Path, path: Path, schema: pa.Schema, manifest: dict[str, Any] | None
) -> Iterator[Callable[[pa.Table], None]]:
    """Give what writes tables into one file, one after the other.

    Parameters
    ----------
    temporary : Path
        Where to write.
    path : Path
        What it will be called; its ending tells the format, but for workbooks.
    schema : pyarrow.Schema
        Of the tables, whose first column names the rows.
    manifest : dict or None
        What a Parquet file is to say of itself.
    """
    name = path.name.lower()
    if name.endswith(".parquet"):
        told = None if manifest is None else {"abstain": json.dumps(manifest)}
        # Numbers that hardly come twice have no use for a dictionary, which takes time.
        often = [one.name for one in [*schema][1:] if not pa.types.is_floating(one.type)]
        said = schema.with_metadata(told)
        with parquet.ParquetWriter(temporary, said, use_dictionary=often) as file:
            yield lambda table: file.write_table(table.replace_schema_metadata(told))
        return
    packed = "gzip" if name.endswith(".gz") else None
    options = csv.WriteOptions(delimiter="\t" if name.endswith(".tsv") else ",")
    with (
        pa.output_stream(str(temporary), compression=packed) as stream,
        csv.CSVWriter(stream, schema, write_options=options) as text,
    ):
        yield text.write_table


def _typed(table: pa.Table) -> pa.Table:
    """Return columns of text that hold nothing but plain numbers as numbers; 007 stays text."""
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        if not pa.types.is_string(column.type):
            continue
        texts = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
        for pattern, kind in ((_WHOLE, pa.int64()), (_DECIMAL, pa.float64())):
            if texts.null_count == len(texts):
                break
            if pc.all(pc.match_substring_regex(texts, pattern)).as_py():
                table = table.set_column(place, name, texts.cast(kind))
                break
    return table
