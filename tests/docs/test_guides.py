"""The Python blocks of every page run, in order, as a reader would run them."""

import logging
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot
import pytest

DOCS = Path(__file__).parents[2] / "docs"
WRITTEN = ("*.md", "guide/*.md", "how-to/*.md", "coming-from/*.md")
PAGES = [page for pattern in WRITTEN for page in sorted(DOCS.glob(pattern))]
PAGES.remove(DOCS / "start.md")  # test_commands.py runs it, commands and all


def blocks_of(page):
    text = page.read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


JAVA = shutil.which("java") is not None or "JAVA_HOME" in os.environ


def needs(package):
    return pytest.mark.skipif(find_spec(package) is None, reason=f"{package} is not installed")


# What a page needs that may not be here, and what its engine warns of on its own account.
PEERS = {"abstention": "abstention", "mapie": "mapie", "nannyml": "nannyml", "quapy": "quapy",
         "scikit-fallback": "skfb"}  # fmt: skip
MARKS = {
    **{
        page: [needs(package), pytest.mark.filterwarnings("ignore")]
        for page, package in PEERS.items()
    },
    "deep-net": [needs("torch"), needs("onnxruntime")],
    "ecosystem": [needs("torch"), needs("onnxruntime")],
    "dask": [
        needs("dask"),
        pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning"),
    ],
    # It is run where a device is, by tests/gpu.
    "gpu": [pytest.mark.skip(reason="needs a GPU; tests/gpu runs it")],
    "spark": [
        pytest.mark.slow,
        needs("pyspark"),
        pytest.mark.skipif(not JAVA, reason="there is no Java here (default-jre-headless)"),
        pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning"),
    ],
}


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=MARKS.get(p.stem, [])) for p in PAGES if blocks_of(p)],
    ids=lambda page: str(page.relative_to(DOCS).with_suffix("")),
)
def test_code_blocks_run(page, tmp_path, monkeypatch, forget):
    monkeypatch.chdir(tmp_path)
    # The workers of Spark, which would take the first python that is found.
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    matplotlib.use("agg")
    if page.stem == "spark":
        # Where files are written is where Java was started, so a Java of its own.
        code = "\n".join(blocks_of(page))
        subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, check=True)
        assert (tmp_path / "decided").is_dir()
        return
    names = {}
    for block in blocks_of(page):
        exec(compile(block, str(page), "exec"), names)
    matplotlib.pyplot.close("all")
    logging.getLogger("abstain").setLevel(logging.NOTSET)


def test_the_first_metric_of_ones_own_takes_about_ten_lines():
    first = blocks_of(DOCS / "guide" / "add-your-own-metric.md")[0]
    lines = [line for line in first.splitlines() if line.strip() and "import" not in line]
    assert len(lines) <= 10
