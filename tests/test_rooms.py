"""A module imports only from rooms above its own, and no room another's private module."""

import ast
from pathlib import Path

import pytest

import abstain

PACKAGE = Path(abstain.__file__).parent
ROOMS = [
    "_logs",
    "exceptions",
    "_files",
    "_schema",
    "_display",
    "_inputs",
    "_numerics",
    "_kernels",
    "calibration",
    "summaries",
    "shift",
    "scores",
    "rules",
    "regions",
    "metrics",
    "selection",
    "certificates",
    "estimation",
    "_flow",
    "_summariser",
    "batch_estimate",
    "decisions",
    "policy",
    "_decided",
    "_rowwise",
    "abstainer",
    "classifier",
    "monitoring",
    "evaluation",
    "datasets",
    "paper",
    "plots",
    "report",
    "cli",
]
# Bridges to foreign packages stand below the rooms they read; nothing imports them at its top.
BRIDGES = ["arrow", "cuda", "dask", "keras", "mlflow", "onnx", "spark", "sql", "torch"]
# A result opens what shows it when it is asked to.
OPENED = {"decisions": {"report"}}
MODULES = sorted(
    path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem != "__init__"
)


def room_of(path: Path) -> str:
    part = path.relative_to(PACKAGE).parts[0]
    return part.removesuffix(".py")


def imported(path: Path) -> set[str]:
    """What a module imports of the package, anywhere: at its top, late, for type checkers."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "abstain":
            names.update(f"abstain.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("abstain."):
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names if alias.name.startswith("abstain."))
    return names


def rooms(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imported(path)} & {*ROOMS}


def test_every_module_has_a_room():
    assert {room_of(path) for path in MODULES} == {*ROOMS, *BRIDGES}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_rooms_above(path):
    room = room_of(path)
    if room in BRIDGES:
        assert not rooms(path) & {"plots", "report", "cli"}
        return
    below = {other for other in rooms(path) if ROOMS.index(other) > ROOMS.index(room)}
    assert below <= OPENED.get(room, set())


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_room_imports_the_private_module_of_another(path):
    private = [
        name
        for name in imported(path)
        if len(parts := name.split(".")) > 2
        and parts[2].startswith("_")
        and parts[1] != room_of(path)
        and not parts[1].startswith("_")
    ]
    assert not private
