"""A module imports only from rooms above its own, and no room uses what is another's alone."""

import ast
from collections import defaultdict
from pathlib import Path

import abstain

PACKAGE = Path(abstain.__file__).parent
TESTS = Path(__file__).parent
ROOMS = [
    "_logs",
    "exceptions",
    "_files",
    "_schema",
    "_words",
    "_display",
    "_inputs",
    "audit",
    "_numerics",
    "_kernels",
    "program",
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
    "team",
    "deciding",
    "_summariser",
    "batch_estimate",
    "policy",
    "decisions",
    "_rowwise",
    "_settings",
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
BRIDGES = ["arrow", "cuda", "dask", "keras", "mlflow", "onnx", "python", "spark", "sql", "torch"]
# A result opens what shows it when it is asked to.
OPENED = {"policy": {"report"}, "monitoring": {"report"}}
# Private names of others, which are no room's; each has no public one that does the same.
FOREIGN = {
    "_replace": "of a named tuple, which begins its public names so",
    "_asdict": "of a named tuple",
    "_getframe": "sys: where a warning is to point to",
    "_meta": "Dask: the columns of a collection, without its rows",
    "_flatten_layers": "Keras: all layers of a model, the inner ones too",
    "_DropoutNd": "PyTorch: what all dropout layers are one of",
    "_cache": "Numba: what it keeps of a compiled function",
    "_cache_file": "Numba: the file of that",
    "_load_index": "Numba: what is listed in that file",
    "_index_key": "Numba: by what it is listed",
    "_data_path": "Numba: where the code itself is",
    "_CacheLocator": "Numba: what says where that file is",
}
# Tests of what is public that have no other way in, and why.
LOOKING_IN = {
    "cli/test_outputs.py": "where no file may be left half written",
    "fuzz/command_lines.py": "an error of ours is told from one of others before it is spelled",
    "fuzz/policies.py": "what is tried is the reading, so the checksum has to be right",
    "fuzz/test_differential.py": "MLflow asks for a function of that name",
    "fuzz/test_files.py": "what a table holds, before anything is decided",
    "fuzz/test_laws.py": "no batch has so many rows here",
    "fuzz/test_page.py": "a page of facts that no decisions have",
    "gpu/test_device.py": "the kernels that only run there",
    "matrix/test_nothing_kept.py": "MLflow asks for a function of that name",
    "report/test_facts.py": "how the page words and rounds, against which facts are held",
    "report/test_words.py": "the words that the page shares with the terminal",
}
MODULES = sorted(
    path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem != "__init__"
)


def room_of(path: Path) -> str:
    part = path.relative_to(PACKAGE).parts[0]
    return part.removesuffix(".py")


TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}


def imported(path: Path) -> set[str]:
    """What a module imports of the package, anywhere: at its top, late, for type checkers."""
    names = set()
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.ImportFrom) and node.module == "abstain":
            names.update(f"abstain.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("abstain."):
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names if alias.name.startswith("abstain."))
    return names


def rooms(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imported(path)} & {*ROOMS}


def named(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def is_private(name: object) -> bool:
    return isinstance(name, str) and name.startswith("_") and not name.startswith("__")


def own_names(tree: ast.Module) -> set[str]:
    """The private names that a module, its classes and their instances have."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.Module | ast.ClassDef):
            bound = [one for one in node.body if isinstance(one, ast.Assign | ast.AnnAssign)]
            for one in (part for statement in bound for part in ast.walk(statement)):
                if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                    names.add(one.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                names.add(node.attr)
        elif isinstance(node, ast.Call) and len(node.args) == 3:
            # A frozen class sets its attributes by their names.
            owner, name = node.args[:2]
            if isinstance(owner, ast.Name) and owner.id == "self":
                names.update([name.value] if isinstance(name, ast.Constant) else [])
    return {name for name in names if is_private(name)}


def private_uses(tree: ast.Module, room: str) -> list[tuple[int, str]]:
    """Where private names are read of anything but oneself: of an object, a module, by text."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            of = node.value
            of_parent = isinstance(of, ast.Call) and ast.unparse(of.func) == "super"
            if not of_parent and not (isinstance(of, ast.Name) and of.id in ("self", "cls")):
                found.append((node.lineno, node.attr))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("abstain."):
            if node.module.split(".")[1] != room:
                names = [alias.name for alias in node.names if is_private(alias.name)]
                found += [(node.lineno, f"{node.module}.{name}") for name in names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr"):
            name = getattr(node.args[1], "value", None)
            found += [(node.lineno, name)] if is_private(name) else []
    return found


def test_every_module_has_a_room():
    assert {room_of(path) for path in MODULES} == {*ROOMS, *BRIDGES}


def test_a_module_imports_only_from_rooms_above():
    below = []
    for path in MODULES:
        room, allowed = room_of(path), rooms(path)
        if room in BRIDGES:
            wrong = allowed & {"plots", "report", "cli"}
        else:
            wrong = {one for one in allowed if ROOMS.index(one) > ROOMS.index(room)}
        below += [f"{named(path)}: {one}" for one in sorted(wrong - OPENED.get(room, set()))]
    assert not below


def test_no_room_imports_the_private_module_of_another():
    private = [
        f"{named(path)}: {name}"
        for path in MODULES
        for name in sorted(imported(path))
        if len(parts := name.split(".")) > 2
        and parts[2].startswith("_")
        and parts[1] != room_of(path)
        and not parts[1].startswith("_")
    ]
    assert not private


def test_no_room_uses_the_private_attribute_of_another():
    own = defaultdict(set)
    for path, tree in TREES.items():
        own[room_of(path)] |= own_names(tree)
    foreign = [
        f"{named(path)}:{line}: {name}"
        for path, tree in TREES.items()
        for line, name in private_uses(tree, room_of(path))
        if name not in own[room_of(path)] and name not in FOREIGN
    ]
    assert not foreign


def test_a_test_uses_private_names_of_its_own_room_alone():
    wrong = []
    for path in sorted(TESTS.rglob("*.py")):
        name = str(path.relative_to(TESTS))
        own = path.relative_to(TESTS).parts[0].removesuffix(".py").removeprefix("test_")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            for first, *parts in (one.split(".") for one in names):
                private = first == "abstain" and any(is_private(part) for part in parts)
                if private and parts[0].lstrip("_") != own and name not in LOOKING_IN:
                    wrong.append(f"{name}: {'.'.join(parts)}")
    # By public names, or in the room's own folder.
    assert not wrong
