"""After large batches, and during them, a process may fork; and waiting threads do not spin."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from abstain import Abstainer
from abstain.datasets import screening_clinic

SCRIPT = Path(__file__).parent / "after_large_batches.py"
TOO_LONG = 300


def run(*way):
    environment = os.environ | {"ABSTAIN_NUM_THREADS": "2"}
    return subprocess.run(
        [sys.executable, SCRIPT, *way],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TOO_LONG,
        check=False,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize(
    "way",
    [
        "fork",
        pytest.param("fork_during_work", marks=pytest.mark.slow),
        pytest.param("pool_of_processes", marks=pytest.mark.slow),
    ],
)
def test_a_process_may_fork(way):
    done = run(way)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize(
    "backends",
    [["multiprocessing"], pytest.param(["loky", "threading"], marks=pytest.mark.slow)],
    ids=" ".join,
)
def test_every_backend_of_joblib_works(backends):
    pytest.importorskip("joblib")
    done = run("joblib", *backends)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_python_ends_with_threads_at_work():
    done = run("at_the_end")
    assert done.returncode == 0, done.stderr
    assert {*done.stdout.splitlines()} == {"done", "after True", "at exit True"}, done.stderr


def test_two_threads_take_no_more_processor_time_than_one(monkeypatch):
    """In processor time, which does not depend on what else the machine does."""
    clinic = screening_clinic(2_000, 1_000_000, random_state=0)
    how = {"budget": 0.2, "calibration": "platt", "shift": "none", "scale": "logits"}
    fitted = Abstainer("auroc", random_state=0, **how).fit(clinic.scores_val, clinic.y_val)
    took: dict[str, list[float]] = {"1": [], "2": []}
    for _ in range(4):
        for threads, times in took.items():
            monkeypatch.setenv("ABSTAIN_NUM_THREADS", threads)
            began = time.process_time()
            fitted.decide(clinic.scores_target)
            times.append(time.process_time() - began)
    # Spinning took eight times as much and more; caches that are shared take a little.
    assert np.min(took["2"]) < 1.6 * np.min(took["1"])
