"""The intervals of estimates hold as often as they say: on simulations, and on real sets.

A reduced run of ``python -m benchmarks.honesty``; that command has the whole of the evidence.
"""

import pytest
from benchmarks.honesty import run
from benchmarks.honesty.sets import GROUPS, missing
from benchmarks.honesty.tables import ENOUGH, cells, lines_of, overall

pytestmark = pytest.mark.slow

SHIFTS = ("none", "label")
RUNS = 120
SETS = [
    name
    for group in ("simulations", "sklearn", "predictions", "paper")
    for name in GROUPS[group]
    if missing(name) is None
]


@pytest.fixture(scope="module")
def checks():
    todo = run.tasks(SETS, runs=RUNS, shifts=SHIFTS, per_run=1, peers=False)
    found, _ = run.checks(todo, show=False)
    return found


@pytest.mark.parametrize("shift", SHIFTS)
def test_intervals_hold_as_often_as_they_say(checks, shift):
    table = "\n".join(lines_of([check for check in checks if check.shift == shift], "set"))
    assert 0.87 <= overall(checks, shift).coverage <= 0.93, table


# Single cells have too few runs here to tell; these sums of them have 200 or more.
@pytest.mark.parametrize("by", [("set",), ("shift", "metric"), ("shift", "withheld")], ids=str)
def test_no_cell_is_far_below(checks, by):
    low = {key: cell for key, cell in cells(checks, *by).items() if _is_low(cell)}
    assert not low, "\n".join(lines_of(checks, *by))


def test_every_check_gives_an_interval(checks):
    assert not {check.error for check in checks if check.error}
    assert not [check for check in checks if check.defined and check.low != check.low]


def _is_low(cell):
    return cell.n >= ENOUGH and cell.coverage < 0.80
