"""What ``help()`` shows of the public names can be read: annotations as they are written."""

import importlib
import inspect
import pydoc

import pytest

import abstain
from abstain import Abstainer, Decisions, Policy

MODULES = [
    "abstain", "abstain.calibration", "abstain.certificates", "abstain.classifier",
    "abstain.datasets", "abstain.estimation", "abstain.evaluation", "abstain.metrics",
    "abstain.mlflow", "abstain.monitoring", "abstain.onnx", "abstain.plots", "abstain.regions",
    "abstain.report", "abstain.rules", "abstain.scores", "abstain.selection", "abstain.shift",
]  # fmt: skip
LONGEST = 800


def routines(value):
    if inspect.isroutine(value):
        yield value
    elif inspect.isclass(value):
        yield value
        for name in dir(value):
            found = getattr(value, name, None)
            if not name.startswith("_") and inspect.isroutine(found):
                yield found


@pytest.mark.parametrize("module", MODULES)
def test_signatures_are_short(module):
    loaded = importlib.import_module(module)
    for name in loaded.__all__:
        for one in routines(getattr(loaded, name)):
            if not str(getattr(one, "__module__", "")).startswith("abstain"):
                continue
            try:
                text = str(inspect.signature(one))
            except (TypeError, ValueError):
                continue
            assert "_typing" not in text, one
            # Nobody but the library makes decisions.
            assert len(text) <= LONGEST or one is Decisions, (one, len(text))


@pytest.mark.parametrize("name", [Abstainer, Decisions, Policy, abstain.estimate])
def test_help_is_plain(name):
    text = pydoc.plain(pydoc.render_doc(name))
    assert "_SupportsArray" not in text
    assert "ArrayLike" in text or name is Decisions
