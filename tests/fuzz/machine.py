"""The machine: generated input goes in, and only three things may come out.

A call may give a result without a silent NaN; it may refuse, with an error that the library raised
itself, of a kind it documents; or it may fail the test. An error that a library below it raised, a
crash, or a call of more than ``LIMIT`` seconds is a defect, however odd the input was.

In ``make test`` every fuzz test tries a few examples, always the same. ``make fuzz`` sets
``ABSTAIN_FUZZ_MINUTES``, and each test then tries new ones until its share of that is over; laws
that are tested elsewhere are tried on new examples too, once.
"""

import os
import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings

import abstain
from abstain.exceptions import AbstainError, ArgumentError

#: Of CPU time, for one example; the first may compile, where nothing is warm.
LIMIT = 10.0
_WHILE_COMPILING = 90.0
_PER_ROUND = 200
_PACKAGE = str(Path(abstain.__file__).parent)
_KINDS = (ValueError, TypeError, ImportError, ArgumentError)


class Defect(AssertionError):  # noqa: N818 - named for the outcome
    """What no input may cause."""


def outcome(call: Callable[[], Any], *, looked_at: Callable[[Any], Any] | None = None) -> Any:
    """Return what a call returned, or the error with which the library refused it.

    Parameters
    ----------
    call : callable
        What is tried; it takes nothing.
    looked_at : callable, optional
        What of the result has to be free of NaN; all of it where not given.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            for category in (UserWarning, FutureWarning):
                warnings.simplefilter("ignore", category)
            result = call()
    except Exception as error:
        refused(error)
        return error
    if where := nan_in(looked_at(result) if looked_at else result):
        raise Defect(f"NaN in silence: {where}")
    return result


def refused(error: Exception) -> None:
    """Check that the library itself refused, and says something."""
    frames = traceback.extract_tb(error.__traceback__)
    kind = type(error)
    if kind not in _KINDS and not isinstance(error, AbstainError):
        raise Defect(f"a foreign {kind.__name__}: {error}") from error
    if not frames[-1].filename.startswith(_PACKAGE):
        last = frames[-1]
        raise Defect(
            f"{kind.__name__} raised by {last.filename}:{last.lineno}: {error}"
        ) from error
    if len(str(error)) < 15:
        raise Defect(f"{kind.__name__} that says nothing: {error}") from error


def nan_in(thing: Any, path: str = "result") -> str | None:
    """Return where a NaN stands in a result, or None."""
    if isinstance(thing, float | np.floating):
        return path if np.isnan(thing) else None
    if isinstance(thing, np.ndarray):
        return path if thing.dtype.kind in "fc" and np.isnan(thing).any() else None
    if isinstance(thing, Mapping):
        return nan_in_any((f"{path}[{key!r}]", value) for key, value in thing.items())
    if isinstance(thing, list | tuple):
        return nan_in_any((f"{path}[{i}]", value) for i, value in enumerate(thing))
    if is_dataclass(thing) and not isinstance(thing, type):
        return nan_in_any(
            (f"{path}.{one.name}", getattr(thing, one.name)) for one in fields(thing)
        )
    return None


def nan_in_any(parts: Iterable[tuple[str, Any]]) -> str | None:
    """Return where the first NaN stands among named parts, or None."""
    return next((found for path, part in parts if (found := nan_in(part, path))), None)


def fuzzed(area: str, *, quick: int = 25, share: float = 1.0, examples=(), **strategies):
    """Make a test of a check: it is tried on examples, and what came of them is counted.

    Parameters
    ----------
    area : str
        What the count of examples is listed under.
    quick : int
        How many examples to try in ``make test``.
    share : float
        How much more time than other tests this one gets in ``make fuzz``.
    examples : iterable of dict
        Input that once failed; tried first, every time.
    **strategies : SearchStrategy
        One for each parameter of the check, which may return a word that is counted.
    """

    def decorate(check):
        def test(record_property, seconds_of_a_share):
            counts: Counter[str] = Counter()

            def body(**drawn):
                with in_time(_WHILE_COMPILING if not counts else LIMIT):
                    counts[check(**drawn) or "held"] += 1

            try:
                for one in examples:
                    body(**one)
                _all_rounds(body, strategies, quick, seconds_of_a_share * share)
            finally:
                record_property("fuzz", [area, dict(counts)])

        test.__name__, test.__doc__, test.__module__ = (
            check.__name__,
            check.__doc__,
            check.__module__,
        )
        test.share = share
        return pytest.mark.hypothesis(test)

    return decorate


def _all_rounds(body, strategies, quick, seconds):
    until = time.monotonic() + seconds
    number = int.from_bytes(os.urandom(4)) if seconds else 0
    while True:
        tried = given(**strategies)(body)
        tried = settings(
            max_examples=_PER_ROUND if seconds else quick,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        )(seed(number)(tried) if seconds else tried)
        tried()
        number += 1
        if time.monotonic() >= until:
            return


@contextmanager
def in_time(limit: float):
    """Fail where the body takes more CPU time, or hangs for much longer."""

    def hung(*_):
        raise Defect(f"hangs: not done after {6 * limit:.0f} s")

    began = time.process_time()
    before = signal.signal(signal.SIGALRM, hung)
    signal.setitimer(signal.ITIMER_REAL, 6 * limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    took = time.process_time() - began
    if took > limit:
        raise Defect(f"took {took:.1f} s of CPU time, more than {limit:.0f}")
