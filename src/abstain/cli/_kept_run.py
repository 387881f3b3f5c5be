"""What a folder of parts keeps of the run that writes it, so that the run can go on after a kill.

``_abstain.json`` says what was read, how and by which rule; it stands before the first part does.
``_finished.jsonl`` gets a line when a part is in its place. ``_manifest.json`` ends the run. Names
that begin with an underscore are passed over by what reads a folder of Parquet files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from abstain import __version__
from abstain._files import write_text
from abstain.cli._terminal import in_a_line

STATE, FINISHED, POLICY, MANIFEST = (
    "_abstain.json",
    "_finished.jsonl",
    "_policy.json",
    "_manifest.json",
)
_VERSION = 1


def file_facts(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Return what tells whether files are still the same, without reading them."""
    found = []
    for file in files:
        there = file.stat()
        found.append({"file": str(file), "bytes": there.st_size, "modified_ns": there.st_mtime_ns})
    return found


@dataclass(frozen=True)
class KeptRun:
    """The files that a run keeps in its folder.

    Attributes
    ----------
    folder : Path
        Where the parts go.
    settings : dict
        What the run depends on, by the name that a person knows it by; plain text and numbers.
    inputs : list of dict
        What is read, as ``file_facts`` tells it.
    """

    folder: Path
    settings: dict[str, Any]
    inputs: list[dict[str, Any]]

    @property
    def policy(self) -> Path:
        """Where the rule is kept."""
        return self.folder / POLICY

    @property
    def manifest(self) -> Path:
        """Where it is said what the parts were made of."""
        return self.folder / MANIFEST

    def begun(self, *, force: bool) -> dict[str, Any] | None:
        """Return what a run that was stopped has kept; None where there is none to go on with.

        Raises
        ------
        click.UsageError
            If the folder holds something else, a run that is finished, or one of other inputs or
            settings; with ``force`` only if it holds something else.
        """
        shown = in_a_line(self.folder)
        if not self.folder.is_dir():
            return None
        foreign = [path.name for path in self.folder.iterdir() if not _ours(path)]
        if foreign:
            raise click.UsageError(
                f"Cannot write parts into {shown}: it holds other files, such as "
                f"{in_a_line(sorted(foreign)[0])}. Name a new folder, or an empty one."
            )
        kept = self._state()
        if force or kept is None:
            if kept is None and not force and any(self.folder.glob("part-*")):
                raise click.UsageError(
                    f"{shown} holds parts, and nothing says what they were made of; add --force "
                    f"to write over them."
                )
            return None
        if self.manifest.exists():
            raise click.UsageError(f"{shown} exists; add --force to write over it.")
        differing = self._differing(kept)
        if differing:
            raise click.UsageError(
                f"{shown} was begun with {differing}. Give the same command to go on, add --force "
                f"to begin again, or name another folder."
            )
        return kept

    def _state(self) -> dict[str, Any] | None:
        try:
            kept = json.loads((self.folder / STATE).read_text("utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise click.UsageError(
                f"{in_a_line(self.folder / STATE)} cannot be read ({error}); add --force to begin "
                f"again."
            ) from error
        return kept if isinstance(kept, dict) else {}

    def _differing(self, kept: Mapping[str, Any]) -> str | None:
        """Say what is not as it was when the run began."""
        if kept.get("version") != _VERSION or kept.get("abstain") != __version__:
            return f"abstain {kept.get('abstain')}"
        before, now = kept["settings"], _plain(self.settings)
        for name in sorted({*before, *now}):
            if before.get(name) != now.get(name):
                return f"other settings ({name} was {before.get(name)}, now it is {now.get(name)})"
        then = {one["file"]: one for one in kept["inputs"]}
        for one in self.inputs:
            if one["file"] not in then:
                return f"other inputs ({in_a_line(one['file'])} was not there)"
            if then.pop(one["file"]) != one:
                return f"other inputs ({in_a_line(one['file'])} has changed since)"
        for name in then:
            return f"other inputs ({in_a_line(name)} was there too)"
        return None

    def begin(self, facts: Mapping[str, Any]) -> None:
        """Empty the folder of what a run before has left, and keep what this one goes by."""
        self.folder.mkdir(parents=True, exist_ok=True)
        # The state first: without it nothing is taken for finished.
        for path in sorted(self.folder.iterdir(), key=lambda path: path.name != STATE):
            if _ours(path) and path.name != POLICY:
                path.unlink()
        kept = {
            "version": _VERSION,
            "abstain": __version__,
            "settings": _plain(self.settings),
            "inputs": self.inputs,
            **_plain(facts),
        }
        write_text(self.folder / STATE, json.dumps(kept, indent=1, ensure_ascii=False))

    def finished(self) -> dict[str, dict[str, Any]]:
        """Return what is known of the parts that are in their places, by their names."""
        try:
            lines = (self.folder / FINISHED).read_text("utf-8").splitlines()
        except FileNotFoundError:
            return {}
        found = {}
        for line in lines:
            try:
                one = json.loads(line)
            except ValueError:
                continue  # half a line, of a run that was killed
            path = self.folder / one["part"]
            if path.is_file() and path.stat().st_size == one["bytes"]:
                found[one["part"]] = one
        return found

    def finish(self, part: str, **facts: Any) -> dict[str, Any]:
        """Note that a part is in its place."""
        found = {"part": part, "bytes": (self.folder / part).stat().st_size, **facts}
        with (self.folder / FINISHED).open("a", encoding="utf-8") as file:
            # After half a line of a run that was killed this is one of its own all the same.
            file.write(f"\n{json.dumps(found)}\n")
            file.flush()
            os.fsync(file.fileno())
        return found

    def clean(self) -> None:
        """Remove what a run that was killed has half written."""
        for path in self.folder.glob(".*"):
            if _hidden(path.name):
                path.unlink()


def _ours(path: Path) -> bool:
    name = path.name
    if name in (STATE, FINISHED, POLICY, MANIFEST):
        return True
    return _is_part(name) or _hidden(name)


def _is_part(name: str) -> bool:
    return name.startswith("part-") and name.endswith(".parquet")


def _hidden(name: str) -> bool:
    """Tell whether this is the name of something that had not yet taken its place."""
    stem, _, end = name.rpartition(".")
    known = _is_part(stem[1:]) or stem[1:] in (STATE, FINISHED, POLICY, MANIFEST)
    return name.startswith(".") and known and len(end) == 12


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; NaN stays, which Python reads back."""
    return json.loads(
        json.dumps(value, default=lambda one: one.tolist() if hasattr(one, "tolist") else str(one))
    )
