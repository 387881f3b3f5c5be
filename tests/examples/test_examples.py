"""Every example runs as a reader would run it, and says what it promises."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
# What each needs beyond the core, and a line that its output must have.
NEEDS = {
    "onnx_runtime": (["onnx", "onnxruntime"], "same decisions as in Python: True"),
    "pandas_frames": (["narwhals", "pandas"], "look at these first: eye-"),
    "polars_frames": (["narwhals", "polars"], "<Decisions: 300 of 2000 rows withheld (15.0%)"),
    "pytorch_digits": (["torch"], "accuracy of all 597 digits"),
    "scikit_learn": ([], "to a person: 14 of 143"),
}


def run(name, capsys):
    packages, promised = NEEDS[name]
    for package in packages:
        pytest.importorskip(package, reason=f"{package} is not installed")
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    shown = capsys.readouterr()
    assert not shown.err
    assert promised in shown.out
    return shown.out


def test_every_example_is_tested():
    assert sorted(NEEDS) == sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("name", ["onnx_runtime", "pandas_frames", "polars_frames"])
def test_example_runs(name, capsys):
    run(name, capsys)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("pytorch_digits", "accuracy of all 597 digits:", "accuracy of the kept, realised:"),
        ("scikit_learn", "accuracy of all:", "accuracy of kept:"),
    ],
)
def test_abstaining_helps(name, before, after, capsys):
    lines = run(name, capsys).splitlines()
    values = [
        float(line.removeprefix(start))
        for start in (before, after)
        for line in lines
        if line.startswith(start)
    ]
    assert values[0] < values[1]
