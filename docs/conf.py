"""How the documentation is built: Sphinx, MyST Markdown, numpydoc."""

import importlib
import inspect
from pathlib import Path

import abstain

project = "abstain"
author = "The abstain developers"
copyright = "2026, the abstain developers"  # noqa: A001 - Sphinx's own name
version = release = abstain.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
# Methods inherited from scikit-learn refer to its own pages.
suppress_warnings = ["ref.ref"]

html_theme = "furo"
html_title = "abstain"

# The reference lists every public name of every room, so that none can be forgotten.
ROOMS = {
    "abstain": "The whole flow",
    "abstain.estimation": "Estimates",
    "abstain.exceptions": "Errors and warnings",
    "abstain.calibration": "Calibration",
    "abstain.shift": "Label shift",
    "abstain.metrics": "Metrics",
    "abstain.scores": "Scores of uncertainty",
    "abstain.regions": "Regions: what is withheld",
    "abstain.rules": "Rules: what is predicted",
    "abstain.certificates": "Certificates: what labels prove",
    "abstain.monitoring": "Streams",
    "abstain.classifier": "Around an estimator",
    "abstain.evaluation": "Evaluation",
    "abstain.datasets": "Data",
    "abstain.plots": "Pictures",
    "abstain.report": "The report",
    "abstain.arrow": "Arrow streams",
    "abstain.dask": "Dask",
    "abstain.spark": "Spark",
    "abstain.sql": "SQL",
    "abstain.cuda": "GPUs",
    "abstain.onnx": "ONNX",
    "abstain.mlflow": "MLflow",
    "abstain.torch": "PyTorch",
    "abstain.keras": "Keras",
    "abstain.paper": "The paper's experiments",
}


def _reference():
    parts, seen = ["# Reference"], set()
    for module, title in ROOMS.items():
        loaded = importlib.import_module(module)
        values = {name: getattr(loaded, name) for name in sorted(loaded.__all__)}
        # What stands at the front door is not listed again in its room.
        new = {
            name: value
            for name, value in values.items()
            if (inspect.isclass(value) or inspect.isroutine(value)) and value not in seen
        }
        seen.update(new.values())
        names = "\n".join(f"   {module}.{name}" for name in new)
        parts.append(
            f"## {title}\n\n```{{eval-rst}}\n.. autosummary::\n   :toctree: generated\n\n"
            f"{names}\n```"
        )
    return "\n\n".join(parts) + "\n"


_page = Path(__file__).parent / "api" / "index.md"
_page.parent.mkdir(exist_ok=True)
_page.write_text(_reference(), encoding="utf-8")
