"""The table of cases: every referred row, page by page, and groups that can be searched."""

import base64
import csv
import json

import numpy as np
import pytest

from abstain.report import Report, _cases
from abstain.report._cases import pack
from abstain.report._html import render

from .many_classes import with_classes

ROWS = 200_000


def column(data):
    kind = {1: "<u1", 2: "<u2", 4: "<u4", 8: "<f8"}[data["bytes"]]
    return np.frombuffer(base64.b64decode(data["data"]), kind)


def test_packing_loses_nothing_but_digits(report):
    cases, small = report.facts["cases"], pack(report.facts)["cases"]
    masks = np.array(small["steps"]["masks"])
    assert masks[column(small["steps"]["column"])].tolist() == cases["steps"]
    names = np.array(small["predictions"]["names"], dtype=object)
    assert names[column(small["predictions"]["column"])].tolist() == cases["predictions"]
    assert column(small["groups"]).tolist() == cases["groups"]
    for k, data in enumerate(small["proba"]):
        shown = column(data) / small["units"]
        np.testing.assert_allclose(shown, np.array(cases["proba"])[:, k], atol=5.1e-5)
    assert small["ids"] == cases["ids"]
    order = column(small["order"]).tolist()
    assert sorted(order) == list(range(len(order)))


@pytest.mark.parametrize(
    ("ids", "shown"),
    [
        (2**60 + np.arange(1_500), lambda row: str(2**60 + row)),
        (np.arange(1_500) / 7, lambda row: str(row / 7)),
        (np.arange(1_500) - 700, lambda row: row - 700),
        (np.datetime64("2024-01-01T00:00:00.000000001", "ns") + np.arange(1_500), None),
    ],
    ids=["large", "fractions", "whole", "dates"],
)
def test_ids_are_exact(binary, ids, shown):
    facts = Report(binary, ids=ids).facts
    rows = Report(binary).facts["cases"]["ids"]
    if shown is None:
        assert facts["cases"]["ids"] == [str(ids[row]) for row in rows]
    else:
        assert facts["cases"]["ids"] == [shown(row) for row in rows]
    small = pack(facts)["cases"]["ids"]
    assert (small if isinstance(small, list) else column(small).tolist()) == facts["cases"]["ids"]


def test_what_does_not_fit_is_said(binary, monkeypatch):
    monkeypatch.setattr(_cases, "MOST_CASES", 200)
    cases = Report(binary).facts["cases"]
    assert len(cases["ids"]) == 200
    assert cases["left_out"] > 25
    # What was decided comes first.
    assert cases["left_out_decided"] == 25


@pytest.fixture(scope="module")
def large(report, browser, tmp_path_factory):
    """A page of 200,000 referred rows whose ids come in no order."""
    facts = with_classes(json.loads(report.to_json()), 5, n_cases=ROWS * 41 // 20)
    n = len(facts["cases"]["ids"])
    numbers = np.random.default_rng(0).permutation(n)
    facts["cases"]["ids"] = [f"P{number}" for number in numbers.tolist()]
    path = tmp_path_factory.mktemp("large") / "page.html"
    path.write_text(render(facts), encoding="utf-8")
    assert path.stat().st_size < 45 * n
    context = browser.new_context()
    page = context.new_page()
    page.goto(path.as_uri())
    yield facts, page
    context.close()


def referred(facts):
    step = facts["chosen"]
    cases = facts["cases"]
    return [
        identity
        for identity, mask in zip(cases["ids"], cases["steps"], strict=True)
        if (mask >> step) & 1
    ]


def test_the_table_pages_through_all_rows(large):
    facts, page = large
    n = len(referred(facts))
    assert n > 190_000
    pages = -(-n // 15)
    assert page.text_content("#shown") == f"Rows 1 to 15 of {n:,}"
    assert page.text_content("#page-count") == f"of {pages:,}"
    page.click("#page-last")
    assert page.text_content("#shown").endswith(f"to {n:,} of {n:,}")
    assert page.input_value("#page-number") == str(pages)
    assert page.get_attribute("#page-next", "aria-disabled") == "true"
    page.click("#page-previous")
    assert page.input_value("#page-number") == str(pages - 1)
    page.fill("#page-number", "3")
    page.press("#page-number", "Enter")
    assert page.text_content("#shown") == f"Rows 31 to 45 of {n:,}"
    page.click("#page-first")
    page.click("#page-next")
    assert page.text_content("#shown") == f"Rows 16 to 30 of {n:,}"


def test_search_sort_and_download_are_over_all_rows(large, tmp_path):
    facts, page = large
    ids = referred(facts)
    page.get_by_role("button", name="patient").click()
    first = page.locator("#cases tbody td").first
    smallest, largest = (f(ids, key=lambda one: int(one[1:])) for f in (min, max))
    assert first.text_content() == smallest
    page.get_by_role("button", name="patient").click()
    assert first.text_content() == largest
    page.get_by_label("Search", exact=True).fill("p12345")
    matching = sum("p12345" in one.lower() for one in ids)
    assert page.text_content("#shown").endswith(f" of {matching:,}")
    page.get_by_label("Search", exact=True).fill("")
    with page.expect_download() as started:
        page.click("#download")
    started.value.save_as(tmp_path / "referred.csv")
    with open(tmp_path / "referred.csv", newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    assert len(rows) == len(ids)
    assert rows[0][0] == largest
    assert {row[0] for row in rows} == set(ids)


def test_many_groups_are_searched_sorted_and_shown(browser, report, tmp_path):
    facts = json.loads(report.to_json())
    names = [f"Site {k}" for k in range(300)]
    facts["groups"] = {"names": names, "rows": [10 + k for k in range(300)]}
    facts["steps"] = [
        {**step, "groups": [(7 * k) % 10 for k in range(300)]} for step in facts["steps"]
    ]
    (tmp_path / "page.html").write_text(render(facts), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    visible = page.locator("#groups tbody tr:visible")
    assert visible.count() == 7
    page.get_by_label("Search hospital").fill("site 29")
    assert page.text_content("#groups-shown") == "11 of 300 found"
    page.get_by_label("Search hospital").fill("")
    page.locator("#groups").get_by_role("button", name="rate").click()
    rates = [
        float(r.split("%")[0]) for r in page.locator("#groups td:last-child").all_text_contents()
    ]
    assert rates == sorted(rates, reverse=True)
    assert page.get_attribute("#groups th:last-child", "aria-sort") == "descending"
    page.get_by_role("button", name="Show all 300 groups").click()
    assert visible.count() == 300
    context.close()
