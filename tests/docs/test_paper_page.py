"""The page about the paper has every table and figure, and quotes what was found."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BUILT = {"_build", "api", "gallery"}
PAGES = sorted(
    page for page in DOCS.rglob("*.md") if not BUILT.intersection(page.relative_to(DOCS).parts)
)


def generator():
    path = DOCS / "generate_paper_tables.py"
    spec = importlib.util.spec_from_file_location("generate_paper_tables", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_table_of_the_paper_is_there():
    text = (DOCS / "paper-tables.inc").read_text(encoding="utf-8")
    expected = [f"{number}: `{name}`" for number, name in generator().TABLES]
    assert re.findall("^### (.*)$", text, flags=re.MULTILINE) == expected


def test_the_page_sums_up_the_tables():
    text = (DOCS / "paper-tables.inc").read_text(encoding="utf-8")
    page = (DOCS / "paper.md").read_text(encoding="utf-8")
    cells = re.findall(
        r"Of the (\d+) cells .*?difference is (0\.\d+).*?(\d+) of (\d+) cells", text
    )
    assert f"On the {sum(int(n) for n, *_ in cells)} printed cells" in page
    assert f"the largest difference is {max(gap for _, gap, *_ in cells)}" in page
    assert all(bold == n == total for n, _, bold, total in cells)


def test_the_page_quotes_the_lowest_correlations():
    found = json.loads((DOCS / "paper-agreement.json").read_text(encoding="utf-8"))
    page = " ".join((DOCS / "paper.md").read_text(encoding="utf-8").split())
    lowest = [min(values) for values in found["auroc-agreement"].values()]
    assert "The lowest are {:.4f} and {:.4f}".format(*lowest) in page
    assert all(len(values) == 100 for one in found.values() for values in one.values())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_picture_has_its_script_and_a_description(page):
    text = page.read_text(encoding="utf-8")
    for script, rest in re.findall(r"\.\. plot:: (\S+)\n(.*)", text):
        assert (DOCS / script).is_file()
        assert rest.strip().startswith(":alt: ")


def test_every_script_is_shown_somewhere():
    shown = {
        name
        for page in PAGES
        for name in re.findall(r"\.\. plot:: figures/(\S+)", page.read_text(encoding="utf-8"))
    }
    ours = {path.name for path in (DOCS / "figures").glob("*.py")}
    assert ours <= shown, "a script of docs/figures that no page shows"
