"""The page *Evidence*: figures in, Markdown out. Nothing is measured here."""

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

__all__ = ["command", "machine", "page", "section_lines"]

#: What the figures depend on.
PACKAGES = (
    "abstain", "numpy", "scipy", "scikit-learn", "pandas", "nannyml", "quapy", "jax", "numpyro",
    "mapie", "scikit-fallback", "abstention", "statsmodels",
)  # fmt: skip


def machine() -> dict[str, Any]:
    """Return what this was measured on, as plain data."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def _processor() -> str:
    try:
        about = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    models = [
        line.split(":", 1)[1] for line in about.splitlines() if line.startswith("model name")
    ]
    return models[0].strip() if models else platform.processor()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def command(section: str, row: str = "") -> str:
    """Return what to type for a section or one row of it."""
    return " ".join(filter(None, ("python -m benchmarks.proof", section, row)))


def page(facts: Mapping[str, Any], sections: Mapping[str, Any]) -> str:
    """Return the page of kept figures; ``sections`` are the modules they came from, by name."""
    there = {name: sections[name] for name in facts["sections"] if name in sections}
    blocks = ["# Evidence", *_top(facts), "## In short", "\n".join(_summary(facts, there))]
    for name, module in there.items():
        blocks += section_lines(name, module, facts["sections"][name])
    return "\n\n".join(blocks) + "\n"


def _top(facts: Mapping[str, Any]) -> Iterator[str]:
    host = facts["machine"]
    seconds = sum(kept["seconds"] for kept in facts["sections"].values())
    yield (
        "What abstain gives beside what other packages give, on the same data, seeds and splits. "
        "Where another is better, the page says so. `make proof` measures it all again and writes "
        "this page; the last column of each table holds the command for one row."
    )
    yield (
        f"Measured on {facts['date']} in {_duration(seconds)}, on {host['processor']} with "
        f"{host['cores']} cores and {host['memory']} GiB of memory ({host['system']}), "
        f"Python {host['python']}."
    )
    yield "Versions: " + ", ".join(f"{name} {v}" for name, v in host["packages"].items()) + "."
    if facts["quick"]:
        yield (
            "```{warning}\nMade with `--quick`: few repeats, for trying out. Differences may be "
            "noise.\n```"
        )


def _summary(facts: Mapping[str, Any], sections: Mapping[str, Any]) -> Iterator[str]:
    yield "| what | best peer | ours | verdict | time |"
    yield "| --- | --- | --- | --- | --- |"
    for name, module in sections.items():
        kept = facts["sections"][name]
        cells = (*_headline(module, _found(kept)), _duration(kept["seconds"]))
        yield _row([module.TITLE, *cells])


def _headline(module: Any, found: dict[str, list[dict[str, Any]]]) -> tuple[str, str, str]:
    if not found:
        return "", "", "not measured here"
    if hasattr(module, "headline"):
        try:
            made: tuple[str, str, str] = module.headline(found)
        except Exception as error:
            return "", "", f"none: {_named(error)}"
        return made
    return "", "", _verdict(module, found).split(". ")[0].rstrip(".") + "."


def section_lines(name: str, module: Any, kept: Mapping[str, Any]) -> Iterator[str]:
    """Yield the blocks of one section."""
    found = _found(kept)
    yield f"## {module.TITLE}"
    if found:
        yield _verdict(module, found)
    yield module.ABOUT.strip()
    yield "\n".join(_table(name, module, kept["rows"]))
    for reason in kept["skipped"]:
        yield f"Skipped: {reason}."
    many = len(kept["rows"])
    yield (
        f"{many} row{'s' if many != 1 else ''} in {_duration(kept['seconds'])}: `{command(name)}`."
    )


def _found(kept: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return {name: row["lines"] for name, row in kept["rows"].items() if not row["error"]}


def _verdict(module: Any, found: dict[str, list[dict[str, Any]]]) -> str:
    """Return the section's verdict; what is wrong with it must not lose the figures."""
    try:
        made: str = module.verdict(found)
    except Exception as error:
        return f"No verdict: {_named(error)}"
    return made.strip()


def _table(section: str, module: Any, rows: Mapping[str, Any]) -> Iterator[str]:
    columns = module.COLUMNS
    yield _row(["", *columns, "command"])
    yield _row(["---"] * (len(columns) + 2))
    for name, row in rows.items():
        typed = f"`{command(section, name)}`"
        if row["error"]:
            yield _row([name, f"FAILED: {row['error']}", *[""] * (len(columns) - 1), typed])
        for i, line in enumerate(row["lines"]):
            # Once for all lines of a row, so that rows stand apart.
            first, last = (name, typed) if i == 0 else ("", "")
            yield _row([first, *_cells(line, columns, getattr(module, "LOWEST", ())), last])


def _cells(line: Mapping[str, Any], columns: Sequence[str], lowest: Sequence[str]) -> list[str]:
    """Return the printed figures of a line, the lowest of some columns in bold."""
    known = [line[column] for column in lowest if line.get(column, float("nan")) >= 0]
    cells = {column: _cell(line.get(column, "")) for column in columns}
    for column in lowest:
        if known and line.get(column) == min(known):
            cells[column] = f"**{cells[column]}**"
    return [*cells.values()]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"


def _cell(value: str | float) -> str:
    """Return a figure with as many places as tell something; NaN does not apply."""
    if isinstance(value, str | int):
        return str(value)
    if value != value:
        return ""
    return f"{value:.4f}" if abs(value) < 10 else f"{value:.4g}"


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min"


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
