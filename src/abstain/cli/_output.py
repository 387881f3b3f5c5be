"""What every command prints, what it warns of, and where it may write.

JSON has ``null`` for a number that is not there, and a few words on why.
"""

# ruff: noqa: RUF009 - a field that an option fills is a field of a dataclass

from __future__ import annotations

import glob
import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from abstain._files import landing, place_of
from abstain._words import NOT_DEFINED
from abstain.cli._terminal import in_a_line, say, spelled, tell
from abstain.cli._values import FILE, KEY_FILE, check_with, filled_by, option_field
from abstain.exceptions import AssumptionWarning, RepairWarning

_HEARD = "abstain.warnings"
#: Where a command keeps the files that options name for reading.
READ = "abstain.read"
# What --out can write a table as, by how its name ends.
ENDINGS = (".csv", ".csv.gz", ".tsv", ".parquet", ".xlsx")
UNDEFINED = f"{NOT_DEFINED} on these rows: too few, or a class is missing"
_PARTS = {
    "after": ("kept", "no row is kept"),
    "kept": ("kept", "no row is kept"),
    "withheld": ("withheld", "no row is withheld"),
}
# What is a number wherever it stands, unless there is none.
_NUMBERS = {"value", "realised", "all", "kept", "withheld"}
_NUMBERS |= {f"{name}_interval" for name in ("all", "kept", "withheld")}
AS_JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON, for machines."
)


@contextmanager
def plain_warnings(context: click.Context) -> Iterator[None]:
    """Say the library's own warnings once each, as a line on stderr, after the results."""
    heard: dict[str, type[Warning]] = {}
    said: set[str] = set()
    context.meta[_HEARD] = heard, said
    usual = warnings.showwarning

    def hear(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, AssumptionWarning | RepairWarning):
            heard.setdefault(spelled(message), category)
        else:
            usual(message, category, *place, **more)

    with warnings.catch_warnings():
        for kind in (AssumptionWarning, RepairWarning):
            warnings.simplefilter("always", kind)
        warnings.showwarning = hear
        try:
            yield
        finally:
            _say(heard, said)


def _say(heard: Iterable[str], said: set[str]) -> None:
    for message in [one for one in heard if one not in said]:
        said.add(message)
        say(f"Warning: {message}")


def emit(found: Any, lines: Iterable[str], as_json: bool) -> None:
    """Print what was found on stdout: as JSON for machines, or as lines for people."""
    if not as_json:
        tell("\n".join(lines))
    else:
        import json

        from abstain._numerics import plain

        if isinstance(found, Mapping) and (reasons := null_because(found)):
            found = {**found, "null_because": reasons}
        tell(json.dumps(plain(found), indent=2, allow_nan=False))
    context = click.get_current_context(silent=True)
    if context is not None and _HEARD in context.meta:
        _say(*context.meta[_HEARD])


def null_because(found: Mapping[str, Any]) -> dict[str, str]:
    """Return a reason for every number that is none, by where it stands.

    Examples
    --------
    >>> null_because({"rows": 2, "withheld": 2, "estimate": {"after": {"value": float("nan")}}})
    {'estimate.after.value': 'no row is kept'}
    """
    counts = found.get("withheld"), found.get("rows")
    known = all(isinstance(count, int) for count in counts)
    nobody = {"kept": known and counts[0] == counts[1], "withheld": known and counts[0] == 0}
    return {path: _reason(path, value, nobody) for path, value in _not_finite(found, "")}


def _not_finite(value: Any, path: str) -> Iterator[tuple[str, float]]:
    """Yield the numbers that JSON has no word for; of a list one stands for all."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        # Some facts say by themselves why they are not there.
        for name, part in value.items() if value.get("why_not") is None else ():
            yield from _not_finite(part, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _not_finite(part, path)
    elif value is None and path.rpartition(".")[2] in _NUMBERS:
        # Facts that are data already, in which what is no number is nothing.
        yield path, math.nan
    elif isinstance(value, float) and not math.isfinite(value):
        yield path, value


def _reason(path: str, value: float, nobody: Mapping[str, bool]) -> str:
    if math.isinf(value):
        return "it has no bound" if value > 0 else "it has no lower bound"
    for name in reversed(path.split(".")):
        which, why = _PARTS.get(name.removesuffix("_interval"), ("", ""))
        if which:
            if nobody[which]:
                return why
            return f"not defined on the rows that are {which}: too few, or a class is missing"
    return UNDEFINED


def heard_warnings() -> list[list[str]]:
    """Return the library's warnings so far: the name of each one's kind, and what it says."""
    heard, _ = click.get_current_context().meta[_HEARD]
    return [[kind.__name__, message] for message, kind in heard.items()]


def wrote(what: str, path: Path | None) -> None:
    """Say on stderr what was written, if it was."""
    if path is None:
        return
    beside = manifest_path(path)
    also = f", and what it was made of to {in_a_line(beside)}" if beside.exists() else ""
    say(f"Wrote {what} to {in_a_line(path)}{also}")


def _audited(text: str) -> float:
    from abstain._inputs import read_fraction
    from abstain.audit import Audit

    return Audit(read_fraction(text)).share


def _check_places(
    written: Iterable[Path | None], inputs: Iterable[Path | None], *, force: bool
) -> None:
    """Refuse to write over what is read, twice into one file, or where nothing can be written."""
    seen: dict[object, Path] = {}
    also = click.get_current_context().meta.get(READ, ())
    read: dict[object, Path] = {}
    for path in (*inputs, *also):
        files = [path]
        if path is not None and not path.is_file() and glob.has_magic(str(path)):
            files = [Path(name) for name in glob.glob(str(path), recursive=True)]
        for file in files:
            if file is not None:
                read |= dict.fromkeys(_identities(file), file)
    for path in written:
        if path is None:
            continue
        try:
            place = place_of(path)
        except (OSError, ValueError) as error:
            raise click.UsageError(str(error)) from error
        _check_writable(path, place.parent)
        for name in _identities(path):
            if name in read:
                raise click.UsageError(f"Cannot write {path}: it is read as {read[name]}.")
            if name in seen:
                raise click.UsageError(
                    f"{path} is given for two outputs; each needs its own file."
                )
        seen |= dict.fromkeys(_identities(path), path)
        if path.exists() and not force:
            raise click.UsageError(f"{path} exists; add --force to write over it.")


def _check_writable(path: Path, folder: Path) -> None:
    if not os.access(folder, os.W_OK):
        raise click.UsageError(
            f"Cannot write {path}: nothing can be written in the folder {folder}."
        )


def _identities(path: Path) -> list[object]:
    """Return what makes two paths the same file: where links lead, and the file itself."""
    name = os.path.realpath(path)
    found: list[object] = [name]
    with suppress(OSError, ValueError):
        if _ignores_case(Path(name).parent):
            found.append(name.casefold())
        there = path.stat()
        found.append((there.st_dev, there.st_ino))
    return found


def _ignores_case(folder: Path) -> bool:
    """Tell whether a folder is where ``A.csv`` and ``a.csv`` are one file."""
    other = folder.with_name(folder.name.swapcase())
    return other != folder and other.exists() and other.samefile(folder)


def manifest_path(path: Path) -> Path:
    """Return where the manifest of a table stands: beside it, under its name."""
    return path.with_name(f"{path.name}.manifest.json")


@dataclass(frozen=True)
class Outputs:
    """What a command writes and how it speaks, as the options say it.

    Attributes
    ----------
    out, policy, report, card : Path or None
        Where the result, the rule, a page and a section of a model card go.
    sort : {"input", "pressing", "score"}
        The order of the rows in ``out``.
    key_file : Path or None
        Where the secret is that a rule is signed with.
    audit : float or None
        The share of the kept rows that is marked to be labelled as well.
    force, strict, as_json : bool
        Write over files that exist; stop where the data contradict the figures; speak JSON.
    """

    # What it is differs from command to command.
    out: Path | None = None
    sort: str = option_field(
        "--sort",
        type=click.Choice(["input", "pressing", "score"]),
        default="input",
        show_default=True,
        help="The order of the rows in --out: as they came, the most pressing first, or by the "
        "probability of the positive (the last) class, highest first.",
        absent="input",
    )
    policy: Path | None = option_field("--policy", type=FILE, help="Save the rule as JSON.")
    key_file: Path | None = filled_by(KEY_FILE)
    report: Path | None = option_field(
        "--report",
        type=FILE,
        help="Write a page about the decisions: one HTML file, to open, mail or print.",
    )
    card: Path | None = option_field(
        "--card", type=FILE, help="Write a section for the card of the model, as Markdown."
    )
    audit: float | None = option_field(
        "--audit",
        callback=check_with(_audited),
        help="A share of the kept rows that is labelled as well, such as 2%, drawn by --id and "
        "the secret of --key-file; without it labels that come back tell of referred rows alone.",
    )
    force: bool = option_field(
        "--force", is_flag=True, help="Write over files that exist.", absent=False
    )
    strict: bool = option_field(
        "--strict",
        is_flag=True,
        help="Exit with 1, and write nothing, if the data contradict what the figures rest on.",
        absent=False,
    )
    as_json: bool = filled_by(AS_JSON, absent=False)

    @property
    def folder(self) -> Path | None:
        """The folder for parts, where ``out`` is one: it is there, or its name has no ending."""
        out = self.out
        return out if out is not None and (out.is_dir() or not out.suffix) else None

    def check(self, *inputs: Path | None, table: bool = True) -> None:
        """Refuse, before any work, to write where something stands or no folder is.

        Parameters
        ----------
        *inputs : Path or None
            What is read, which nothing may be written over; may be patterns.
        table : bool
            Whether ``out`` is a table; its ending says in which format.
        """
        written = [self.out, self.policy, self.report, self.card]
        if table and self.out is not None:
            if not self.out.name.lower().endswith(ENDINGS):
                raise click.UsageError(
                    f"Cannot write a table to {self.out}: its name must end in "
                    f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}."
                )
            if self.out.suffix.lower() == ".xlsx":
                from abstain.cli._excel import openpyxl_module

                openpyxl_module()
            written.append(manifest_path(self.out))
        _check_places(written, inputs, force=self.force)

    def check_stream(self, *inputs: Path | None) -> None:
        """Refuse, before any work, to write what is streamed where it cannot be.

        Whether a folder can take parts is told when it is known what is read.
        """
        if self.folder is None:
            self.check(*inputs)
        else:
            _check_places([self.policy], inputs, force=self.force)
        if self.out is None:
            return
        place = Path(os.path.realpath(self.out))
        for path in inputs:
            if path is not None and path.is_dir():
                read = Path(os.path.realpath(path))
                inside = place == read or read in place.parents
                if inside or (self.folder is not None and place in read.parents):
                    raise click.UsageError(
                        f"Cannot write {self.out}: it is in the folder {path}, or holds it."
                    )
        if self.folder is None:
            return
        if place.exists() and not place.is_dir():
            raise click.UsageError(f"Cannot write parts into {self.out}: it is no folder.")
        there = next(part for part in (place, *place.parents) if part.exists())
        _check_writable(self.out, there)

    def stop_on_doubts(self, found: Any, lines: Iterable[str]) -> None:
        """Where that is asked for and something speaks against the figures, print them and exit 1.

        To be called before anything is written.
        """
        context = click.get_current_context()
        heard, _ = context.meta[_HEARD]
        doubted = any(issubclass(kind, AssumptionWarning) for kind in heard.values())
        if self.strict and doubted:
            emit(found, lines, self.as_json)
            say("abstain: stopped by --strict; nothing was written.")
            context.exit(1)

    @contextmanager
    def landing(
        self, found: Any, lines: Iterable[str], what: str = "decisions"
    ) -> Iterator[Callable[[Path], Path]]:
        """Give temporary files for what is written, then print what was found.

        ``what`` is in ``out``. Where something cannot be written or printed, nothing is there.
        """
        self.stop_on_doubts(found, lines)
        with landing() as place:
            yield place
            emit(found, lines, self.as_json)
        wrote(what, self.out)
        wrote("the rule", self.policy)
        wrote("the report", self.report)
