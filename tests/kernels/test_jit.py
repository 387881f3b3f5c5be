"""Compilation on the first call, and not before."""

import subprocess
import sys

import numpy as np
import pytest

from abstain._kernels._jit import compiled

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


def run(code):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_first_example_needs_no_compiler():
    run(FLOW + "assert 'numba' not in sys.modules")


@compiled("float64")
def _doubled(x):
    return 2 * x


@compiled("float64[::1]")
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

    @compiled("int64")
    def tripled(x):
        return 3 * x

    monkeypatch.setattr(caching.Cache, "save_overload", full)
    assert tripled(4) == 12


def test_errors_of_the_function_itself_are_its_own():
    @compiled("int64")
    def failing(x):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        failing(1)
