"""A module imports only from rooms above its own, and nothing imports the command line."""

import ast
from pathlib import Path

import pytest

import abstain

PACKAGE = Path(abstain.__file__).parent
ROOMS = [
    "exceptions",
    "_files",
    "_inputs",
    "_numerics",
    "_kernels",
    "calibration",
    "shift",
    "regions",
    "rules",
    "metrics",
    "baselines",
    "selection",
    "decisions",
    "policy",
    "abstainer",
    "classifier",
    "evaluation",
    "datasets",
    "paper",
    "plots",
    "report",
    "cli",
]
# Bridges to foreign packages stand below all rooms; nothing imports them at its top.
BRIDGES = ["keras", "mlflow", "onnx", "torch"]
MODULES = sorted(
    path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem != "__init__"
)


def room_of(path: Path) -> str:
    part = path.relative_to(PACKAGE).parts[0]
    return part.removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """The rooms a module imports when it is loaded, or in a function; what is for type checkers
    only does not count, nor does a bridge that a function loads on its way to another package.
    """
    rooms = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in typing_only:
            continue
        names = []
        if isinstance(node, ast.ImportFrom) and node.module == "abstain":
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("abstain."):
            names = [node.module.split(".")[1]]
        elif isinstance(node, ast.Import):
            names = [
                alias.name.split(".")[1]
                for alias in node.names
                if alias.name.startswith("abstain.")
            ]
        rooms.update(name for name in names if name in ROOMS and name not in BRIDGES)
    return rooms


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_rooms_above(path):
    room = room_of(path)
    if room in BRIDGES:
        return
    assert room in ROOMS, f"{room} has no place in the order of rooms"
    below = {other for other in imported_rooms(path) if ROOMS.index(other) > ROOMS.index(room)}
    assert not below
