"""The page that lists every public name, written anew when the site is built.

Each name has a page of its own, made from its docstring. A test compares what is listed here with
what the modules call public.
"""

import importlib
import inspect
from pathlib import Path

PAGE = Path(__file__).parent / "api" / "index.md"
HEAD = """\
# Reference

Every public name, with its parameters and an example. Commands are in {doc}`/guide/command-line`,
what is promised of names in {doc}`/compatibility`.
"""

#: Modules in the order of the data's way through them. What stands at the front door is not
#: listed again in its room, and a room whose names all stand there is not listed at all.
ROOMS = {
    "abstain": "The front door",
    "abstain.exceptions": "Errors and warnings",
    "abstain.calibration": "Calibration",
    "abstain.shift": "Label shift",
    "abstain.metrics": "Metrics",
    "abstain.scores": "Scores of uncertainty",
    "abstain.regions": "Regions: what is withheld",
    "abstain.rules": "Rules: what is predicted",
    "abstain.program": "Operations: what a rule does to a row",
    "abstain.selection": "Selection: how much is withheld",
    "abstain.estimation": "Estimates",
    "abstain.team": "The whole team",
    "abstain.certificates": "Certificates: what labels prove",
    "abstain.decisions": "Decisions",
    "abstain.audit": "Audits",
    "abstain.policy": "Policies",
    "abstain.classifier": "Around an estimator",
    "abstain.monitoring": "Streams",
    "abstain.evaluation": "Evaluation",
    "abstain.datasets": "Data",
    "abstain.plots": "Pictures",
    "abstain.report": "The report",
    "abstain.cli": "The command line",
    "abstain.arrow": "Bridge: Arrow streams",
    "abstain.dask": "Bridge: Dask",
    "abstain.spark": "Bridge: Spark",
    "abstain.sql": "Bridge: SQL",
    "abstain.cuda": "Bridge: GPUs",
    "abstain.onnx": "Bridge: ONNX",
    "abstain.python": "Bridge: plain Python",
    "abstain.mlflow": "Bridge: MLflow",
    "abstain.torch": "Bridge: PyTorch",
    "abstain.keras": "Bridge: Keras",
    "abstain.paper": "The paper's experiments",
}


def listed() -> dict[str, dict[str, object]]:
    """Return what to list under each module, without what an earlier one has."""
    found: dict[str, dict[str, object]] = {}
    seen: set[int] = set()
    for module in ROOMS:
        loaded = importlib.import_module(module)
        values = {name: getattr(loaded, name) for name in sorted(loaded.__all__)}
        found[module] = {name: value for name, value in values.items() if id(value) not in seen}
        seen.update(map(id, found[module].values()))
    return found


def page() -> str:
    """Return the page, in Markdown."""
    rooms = [_room(module, names) for module, names in listed().items() if names]
    return "\n".join([HEAD, *rooms])


def _room(module: str, names: dict[str, object]) -> str:
    of_its_own = [name for name, value in names.items() if _has_a_page(value)]
    table = ["", *(f"   {module}.{name}" for name in of_its_own)]
    plain = [
        f".. py:data:: {module}.{name}\n   :type: {type(value).__name__}\n"
        for name, value in names.items()
        if not _has_a_page(value)
    ]
    rows = "\n".join([".. autosummary::", "   :toctree: generated", *table, "", *plain]).rstrip()
    return f"## {ROOMS[module]}\n\n```{{eval-rst}}\n{rows}\n```\n"


def _has_a_page(value: object) -> bool:
    return inspect.isclass(value) or inspect.isroutine(value)


def write() -> None:
    """Write the page where it is not up to date, so that it is not read again without need."""
    text = page()
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(text, encoding="utf-8")
