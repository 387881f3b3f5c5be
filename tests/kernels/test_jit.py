"""Compilation on the first call: not before, with or without a cache on disk."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import abstain
from abstain._kernels._jit import compiled

# The superuser may write into read-only folders, so numba's places for a cache are taken away.
NO_CACHE = """
from numba.core import caching
for name in ("CacheImpl", "_CacheImpl"):
    if hasattr(caching, name):
        getattr(caching, name)._locator_classes = []
"""
FLOW = """
import sys
from abstain import Abstainer
from abstain.datasets import screening_clinic
clinic = screening_clinic(random_state=0)
abstainer = Abstainer("sensitivity@specificity=0.9", budget=0.15, scale="logits", random_state=0)
decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
assert decisions.abstain.sum() == 750
assert 0 < decisions.estimate.after.value < 1
"""
COMPILED = """
import numpy as np
from abstain.metrics import SensitivityAtSpecificity
metric = SensitivityAtSpecificity(0.9, method="sampled", n_samples=8)
assert np.isfinite(metric.window_values(np.linspace(0, 1, 50), 5)).all()
assert "numba" in sys.modules
"""


def run(code, **options):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, **options
    )
    assert done.returncode == 0, done.stderr


def test_the_first_example_needs_no_compiler():
    run(FLOW + "assert 'numba' not in sys.modules")


@pytest.fixture
def read_only(tmp_path):
    """A read-only copy of the package, and surroundings without a home."""
    source = Path(abstain.__file__).parent
    copy = shutil.copytree(source, tmp_path / "abstain", ignore=lambda *_: ["__pycache__"])
    everything = [copy, *copy.rglob("*")]
    for path in everything:
        path.chmod(0o555 if path.is_dir() else 0o444)
    env = {key: os.environ[key] for key in os.environ if key != "NUMBA_CACHE_DIR"}
    yield env | {"HOME": str(tmp_path / "nowhere"), "PYTHONPATH": str(tmp_path)}
    for path in everything:
        path.chmod(0o755)


def test_a_read_only_installation_works(read_only, tmp_path):
    here = f"import abstain; assert abstain.__file__.startswith({str(tmp_path)!r})"
    run(FLOW + here, env=read_only)
    run(NO_CACHE + FLOW + COMPILED + here, env=read_only)


@compiled
def _doubled(x):
    return 2 * x


@compiled
def _sum_of_doubled(values):
    total = 0.0
    for value in values:
        total += _doubled(value)
    return total


def test_compiled_functions_call_each_other():
    assert _sum_of_doubled(np.array([1.0, 2.5])) == 7
    assert _sum_of_doubled.__name__ == "_sum_of_doubled"


def test_where_a_cache_cannot_be_written_a_function_is_compiled_without(monkeypatch):
    from numba.core import caching

    def full(*_):
        raise PermissionError("no room")

    @compiled
    def tripled(x):
        return 3 * x

    monkeypatch.setattr(caching.Cache, "save_overload", full)
    assert tripled(4) == 12


def test_errors_of_the_function_itself_are_its_own():
    @compiled
    def failing(x):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        failing(1)
