"""The gallery: every example has a title, ends in a picture and says what to conclude.

Running them takes half a minute, so all but one run with the slow tests.
"""

import ast
import importlib.util
import re
import runpy
from pathlib import Path

import pytest

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"
EXAMPLES = sorted(GALLERY.glob("plot_*.py"))
QUICK = "plot_01_budget"
CONCLUSION = "**What to conclude:** "
# What examples need beside the library and scikit-learn, and what in them says so.
NEEDED_BY = {
    "matplotlib": ["matplotlib"],
    "nannyml": ["nannyml"],
    "narwhals": ["to_frame"],
    "pandas": ["pandas", "as_frame=True"],
    "pyarrow": ["read_parquet"],
    "statsmodels": ["statsmodels"],
}


def cells(path):
    """Return the text and the code of each cell, the docstring's being left out."""
    found = []
    for part in path.read_text(encoding="utf-8").split("\n# %%\n")[1:]:
        lines = part.split("\n")
        n_text = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
        text = " ".join(line.removeprefix("#").strip() for line in lines[:n_text])
        found.append((text, "\n".join(lines[n_text:]).strip()))
    return found


def run(path):
    """Run an example as a reader would, and return how many pictures it left."""
    text = path.read_text(encoding="utf-8")
    needed = [name for name, signs in NEEDED_BY.items() if any(sign in text for sign in signs)]
    for name in needed:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    import matplotlib.pyplot as plt

    plt.close("all")
    runpy.run_path(str(path), run_name="__main__")
    n_pictures = len(plt.get_fignums())
    plt.close("all")
    return n_pictures


@pytest.fixture(autouse=True)
def _on_paper(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")


def test_there_are_ten_or_more():
    assert len(EXAMPLES) >= 10
    assert QUICK in {path.stem for path in EXAMPLES}
    assert (GALLERY / "GALLERY_HEADER.rst").read_text(encoding="utf-8").startswith("Gallery\n===")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
class TestShape:
    def test_begins_with_a_title(self, path):
        _, title, line, empty, *lesson = ast.get_docstring(
            ast.parse(path.read_text(encoding="utf-8")), clean=False
        ).split("\n")
        assert set(line) == {"="}
        assert len(line) == len(title)
        assert not empty
        assert len(" ".join(lesson)) > 100

    def test_ends_in_a_picture_and_one_sentence(self, path):
        *before, (text, code) = cells(path)
        assert not code
        assert text.startswith(CONCLUSION)
        sentence = text.removeprefix(CONCLUSION)
        assert sentence.endswith(".")
        assert not re.search(r"[.?!] ", sentence)
        assert any("plt.show()" in code for _, code in before)

    def test_what_it_concludes_is_checked(self, path):
        text = path.read_text(encoding="utf-8")
        hidden = text.split("# sphinx_gallery_start_ignore\n")[1]
        assert "assert " in hidden.split("# sphinx_gallery_end_ignore\n")[0]


def test_quick_example_runs(capsys):
    assert run(GALLERY / f"{QUICK}.py") == 1
    assert not capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [path for path in EXAMPLES if path.stem != QUICK], ids=lambda path: path.stem
)
def test_example_runs(path, capsys):
    assert run(path) == 1
    assert not capsys.readouterr().err
