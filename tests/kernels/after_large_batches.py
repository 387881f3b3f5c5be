"""A process that works on large batches and then forks, in one of several ways.

Run by ``test_forks.py``, which looks at how it ends.
"""

import atexit
import concurrent.futures
import multiprocessing
import os
import sys
import threading
import time
import warnings

import numpy as np

from abstain import Abstainer
from abstain._kernels import _pieces
from abstain.calibration import TemperatureScaling
from abstain.datasets import screening_clinic
from abstain.shift import detect_shift

ROWS = 80_000


def work(n=ROWS):
    """Do one of everything that has threads, and return what came out, as a number."""
    rng = np.random.default_rng(0)
    clinic = screening_clinic(2_000, n, random_state=0)
    how = {"budget": 0.2, "calibration": "platt", "scale": "logits", "random_state": 0}
    found = []
    for metric in ("auroc", "sensitivity@specificity=0.9", "accuracy"):
        fitted = Abstainer(metric, shift="em", **how).fit(clinic.scores_val, clinic.y_val)
        found.append(fitted.decide(clinic.scores_target).abstain.sum())
    logits = rng.normal(size=(n // 2, 6))
    y = logits.argmax(axis=1)
    proba = TemperatureScaling(scale="logits").fit(logits, y).predict_proba(logits)
    kappa = Abstainer("kappa:quadratic", budget=0.1, calibration="identity", shift="none")
    found.append(kappa.fit(proba[:3_000], y[:3_000]).decide(proba).abstain.sum())
    found.append(round(float(detect_shift(proba[:3_000], proba).p_value), 9))
    return float(np.sum(found))


def fork():
    expected = work()
    child = os.fork()
    if child == 0:
        os._exit(0 if work() == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def fork_during_work():
    expected = work()
    done = threading.Event()

    def go_on():
        while not done.is_set():
            work(ROWS // 3)

    other = threading.Thread(target=go_on)
    other.start()
    try:
        for wait in (0.0, 0.03, 0.1):
            time.sleep(wait)
            child = os.fork()
            if child == 0:
                os._exit(0 if work() == expected else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        done.set()
        other.join()


def pool_of_processes():
    expected = work()
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        assert pool.map(work, [ROWS, ROWS]) == [expected] * 2
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        assert [*pool.map(work, [ROWS, ROWS])] == [expected] * 2


def joblib(*backends):
    from joblib import Parallel, delayed

    expected = work()
    for backend in backends:
        found = Parallel(n_jobs=2, backend=backend)(delayed(work)(ROWS) for _ in range(2))
        assert found == [expected] * 2, backend


def at_the_end():
    """Work when Python ends, when no thread may be started any more, and leave some at work."""
    expected = work()
    atexit.register(lambda: print("at exit", work() == expected))
    threading.Thread(target=lambda: print("after", work() == expected)).start()
    threading.Thread(target=work, daemon=True).start()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    # So that several threads take part in batches that are not too large for a test.
    _pieces._PIECES_A_THREAD = 1
    globals()[sys.argv[1]](*sys.argv[2:])
    print("done", flush=True)
