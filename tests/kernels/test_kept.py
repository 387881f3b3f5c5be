"""What is compiled is kept where that can be, and found again where nothing can be written."""

import importlib.util
import logging
import os
import sys
from pathlib import Path

import pytest

from abstain._kernels import _kept
from abstain._kernels._jit import compiled, kernels

_spec = importlib.util.spec_from_file_location("read_only", Path(__file__).parent / "read_only.py")
read_only = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(read_only)

LISTEN = """
import logging, sys
lines = []
class Listen(logging.Handler):
    def emit(self, record):
        lines.append((record.name, record.levelname, record.getMessage()))
logging.getLogger("abstain").addHandler(Listen())
logging.getLogger("abstain").setLevel("INFO")
"""
COMPILED = """
import numpy as np
from abstain.metrics import SensitivityAtSpecificity
metric = SensitivityAtSpecificity(0.9, method="sampled", n_samples=8)
for times in (1, 2):
    p = np.repeat(np.linspace(0, 1, 50), times)
    assert np.isfinite(metric.window_values(p, 5)).all()
assert "numba" in sys.modules
print(*(text for name, _, text in lines if name == "abstain.kernels"), sep="\\n")
"""
FLOW = """
import json, warnings
from abstain import Abstainer, Policy
from abstain.datasets import screening_clinic
from abstain.report import Report
clinic = screening_clinic(500, 500, random_state=0)
abstainer = Abstainer("auroc", budget=0.15, scale="logits", random_state=0)
decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
text = json.dumps(decisions.policy.to_dict())
policy = Policy.from_dict(json.loads(text))
assert (policy.apply(clinic.scores_target).abstain == decisions.abstain).all()
assert "<!DOCTYPE html>" in Report(decisions).to_html()
try:
    import onnx
except ModuleNotFoundError:
    pass
else:
    assert policy.to_onnx(columns=1).SerializeToString()
"""
COMMANDS = """
from abstain.cli import run_command
for name in sys.argv[1:]:
    assert run_command([name]) == 0
"""


@pytest.fixture
def installation(tmp_path):
    return read_only.Installation(tmp_path / "installed")


def test_where_nothing_can_be_written_everything_works_and_says_one_line(installation):
    installation.lock()
    done = installation.run(LISTEN + FLOW + COMPILED + COMMANDS, "doctor")
    first, *more = done.stdout.splitlines()
    assert first.startswith("no folder can be written to keep compiled code")
    assert more[0].startswith("abstain ")
    said = "\n".join(more)
    assert "no folder can be written, so code is compiled anew: set NUMBA_CACHE_DIR" in said
    assert "Self-check passed: calibrate, adapt, choose, write, read" in said
    assert not done.stderr


def test_what_was_compiled_before_is_found_where_nothing_can_be_written(installation):
    kept = installation.folder / "kept"
    # As in an image, for any processor.
    where = {"NUMBA_CACHE_DIR": str(kept), "NUMBA_CPU_NAME": "generic"}
    first = installation.run("import sys" + COMMANDS, "warm-up", **where).stdout
    assert first.count("compiled  ") == len(kernels())
    assert str(kept) in first
    # One file of code each: the functions are compiled for the types they are called with.
    assert len(list(kept.rglob("*.nbc"))) == len(kernels())
    again = installation.run("import sys" + COMMANDS, "warm-up", **where).stdout
    assert "Nothing to compile: everything was there." in again
    # An image or an archive rounds the dates of files.
    source = installation.folder / "abstain" / "_kernels" / "sampled_sensitivity.py"
    os.utime(source, (1, 1))
    installation.lock()
    done = installation.run(LISTEN + COMPILED + COMMANDS, "doctor", **where)
    first, *more = done.stdout.splitlines()
    assert first.startswith("loaded the compiled add_samples from ")
    assert more[0].startswith("abstain ")
    assert "(NUMBA_CACHE_DIR), read-only, warm for generic" in "\n".join(more)


def test_code_belongs_to_the_text_of_its_source(monkeypatch, tmp_path):
    monkeypatch.setattr(_kept, "folders", lambda: {"a test": tmp_path})

    def function(x):
        return 2 * x

    def ready():
        return compiled("int64")(function).ready()

    assert ready().compiled
    assert not ready().compiled
    monkeypatch.setattr(_kept, "_stamp", lambda file: "another text")
    assert ready().compiled


def test_code_that_is_damaged_is_compiled_again(monkeypatch, tmp_path, caplog):
    monkeypatch.setattr(_kept, "folders", lambda: {"a test": tmp_path})

    def function(x):
        return 3 * x

    def ready():
        return compiled("int64")(function).ready()

    assert ready().folder == tmp_path
    for path in tmp_path.glob("*.nbc"):
        path.write_bytes(b"cut")
    with caplog.at_level(logging.DEBUG, logger="abstain.kernels"):
        assert ready().compiled
    assert "is of no use" in caplog.text
    assert not ready().compiled


def test_a_folder_of_ones_own_comes_first_and_is_the_only_one(monkeypatch, tmp_path):
    from numba.core import config

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    places = _kept.folders()
    assert list(places) == ["NUMBA_CACHE_DIR", "the package", "the user's caches"]
    assert places["NUMBA_CACHE_DIR"].parent == tmp_path
    assert len(_kept.Kept(lambda x: x)._read) == 1
    monkeypatch.setattr(config, "CACHE_DIR", "")
    assert list(_kept.folders()) == ["the package", "the user's caches"]
    # A user without a home has no folder for caches, rather than one called ~.
    monkeypatch.setenv("XDG_CACHE_HOME", "~/.cache")
    assert list(_kept.folders()) == ["the package"]


def test_another_inside_of_numba_costs_time_only(monkeypatch):
    def gone(folder, function):
        raise AttributeError("no such thing in this version")

    monkeypatch.setattr(_kept, "_cache_in", gone)

    @compiled("int64")
    def fourfold(x):
        return 4 * x

    assert fourfold(2) == 8
    assert fourfold.ready().folder is None
    assert fourfold.kept_in() is None


def test_no_module_compiles_without_saying_for_what():
    modules = {kernel.__module__.rpartition(".")[2] for kernel in kernels()}
    assert modules == {"bins", "sampled_sensitivity"}
    assert "numba" in sys.modules or all(kernel._machine_code is None for kernel in kernels())
