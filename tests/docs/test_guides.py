"""The Python blocks of every page run, in order, as a reader would run them."""

import logging
import re
from pathlib import Path

import matplotlib.pyplot
import pytest

from abstain import metrics

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.glob("*.md")) + sorted((DOCS / "guide").glob("*.md"))


def blocks_of(page):
    text = page.read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks_of(p)], ids=lambda page: page.stem)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    # What a page registers must not be there for the next one.
    monkeypatch.setattr(metrics._registry, "_own", dict(metrics._registry._own))
    names = {}
    for block in blocks_of(page):
        exec(compile(block, str(page), "exec"), names)
    matplotlib.pyplot.close("all")
    logging.getLogger("abstain").setLevel(logging.NOTSET)


def test_the_first_metric_of_ones_own_takes_about_ten_lines():
    first = blocks_of(DOCS / "guide" / "add-your-own-metric.md")[0]
    lines = [line for line in first.splitlines() if line.strip() and "import" not in line]
    assert len(lines) <= 10
