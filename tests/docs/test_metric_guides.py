"""The code blocks of the guides on metrics run, in order, as a reader would run them."""

import re
from pathlib import Path

import pytest

from abstain import metrics

GUIDES = Path(__file__).parents[2] / "docs" / "guide"


@pytest.mark.parametrize(
    "page", ["add-your-own-metric.md", "confusion-metrics.md", "ranking-metrics.md"]
)
def test_code_blocks_run(page):
    text = (GUIDES / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks
    names = {}
    try:
        for block in blocks:
            exec(compile(block, page, "exec"), names)
    finally:
        metrics._registry._own.pop("youden", None)


def test_the_first_metric_takes_about_ten_lines():
    text = (GUIDES / "add-your-own-metric.md").read_text(encoding="utf-8")
    first = re.search(r"```python\n(.*?)```", text, flags=re.DOTALL).group(1)
    lines = [line for line in first.splitlines() if line.strip() and "import" not in line]
    assert len(lines) <= 10
