"""Every way of deciding has a report: facts, and the page made of them."""

import html
import json
import re
from functools import cache

import numpy as np
import pytest

from abstain.report import Report

from .cells import CALLABLE, CELLS, DROPOUT, OWN, Cell, batch, decided

# A report takes a second, so the usual run has one of each kind; the slow run has all cells.
USUAL = {
    *(Cell("two", "auroc", score) for score in (OWN, "entropy", "class-thresholds", "random")),
    *(Cell("two", "auroc", score) for score in (CALLABLE, DROPOUT)),
    *(Cell("two", metric, OWN) for metric in ("accuracy", "user-confusion")),
    *(Cell("two", "accuracy", OWN, mode) for mode in ("target", "cost")),
    Cell("two", "auroc", OWN, "value"),
    *(Cell("four", "accuracy", score) for score in (OWN, DROPOUT)),
}
REPORTED = [
    pytest.param(cell, marks=() if cell in USUAL else pytest.mark.slow, id=str(cell))
    for cell in CELLS
]


@pytest.fixture(scope="module", autouse=True)
def short_back_tests():
    """A few batches are enough where the back-test is not what is tested."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("abstain.report._trust.N_SHIFTS", 4)
        yield


@cache
def report(cell):
    data = batch(cell.classes)
    return Report(decided(cell), scores_val=data.scores_val, y_val=data.y_val)


@pytest.mark.parametrize("cell", REPORTED)
def test_the_report_is_about_what_was_decided(cell):
    decisions, facts = decided(cell), report(cell).facts
    step = facts["steps"][facts["chosen"]]
    after = decisions.estimate.after
    assert facts["rows"] == len(decisions)
    assert step["withheld"] == decisions.abstain.sum()
    assert step["value"] == pytest.approx(after.value, rel=1e-6)
    assert step["interval"] == pytest.approx(after.interval, rel=1e-6)
    first = facts["steps"][0]
    assert first["withheld"] == 0
    assert first["value"] == pytest.approx(decisions.estimate.before.value, rel=1e-6)
    for step in facts["steps"]:
        assert step["rate"] <= step["budget"] + 1e-9
        assert np.sum(step["confusion"]) == pytest.approx(len(decisions) - step["withheld"])
    listed = [(mask >> facts["chosen"]) & 1 for mask in facts["cases"]["steps"]]
    assert sum(listed) == decisions.abstain.sum()
    # What is worth little withholds so much that a small batch may keep one class alone.
    test = facts["trust"]["back_test"]
    assert test["points"] or (cell.mode == "value" and test["undecided"])
    if cell.score != DROPOUT:
        assert len(facts["steps"]) > 20


@pytest.mark.parametrize("cell", REPORTED)
def test_the_page_has_the_headline_and_the_facts(cell):
    page = report(cell).to_html()
    assert html.escape(report(cell).headline) in page
    assert f"Refer {decided(cell).abstain.sum()} of {len(decided(cell))} cases" in page
    embedded = re.search(r'id="facts">(.*?)</script>', page, re.DOTALL).group(1)
    carried, facts = json.loads(embedded), report(cell).facts
    assert facts == json.loads(report(cell).to_json())
    # The page has the cases in columns of small numbers.
    assert carried["cases"]["rows"] == len(facts["cases"]["ids"])
    assert {**carried, "cases": None} == {**facts, "cases": None}


@pytest.mark.parametrize("withheld", [True, False], ids=["all-withheld", "none-withheld"])
@pytest.mark.parametrize(
    "cell",
    [Cell("two", "auroc", OWN), Cell("two", "accuracy", "entropy"), Cell("four", "accuracy", OWN)],
    ids=str,
)
def test_a_batch_of_one_kind_has_a_report(cell, withheld):
    rows = decided(cell).abstain == withheld
    applied = decided(cell).policy.apply(batch(cell.classes).scores[rows])
    facts = json.loads(Report(applied).to_json())
    step = facts["steps"][facts["chosen"]]
    assert step["withheld"] == (rows.sum() if withheld else 0)
    assert (step["value"] is None) == withheld
