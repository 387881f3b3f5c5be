"""What the guide to the ecosystem says in its comments is what its code gives."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "ecosystem.md"


def test_the_guide_keeps_its_word(tmp_path, monkeypatch):
    for package in ("narwhals", "onnx", "onnxruntime", "pandas", "torch"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    columns = ["patient", "abstain", "reason", "prediction", "gain", "p_0", "p_1"]
    assert names["frame"].columns.tolist() == columns
    assert names["logits"].shape == (len(names["y_test"]), 2)
    apply = names["decisions"].policy.apply
    assert (apply(names["scores"][:, 0]).abstain == names["abstain"]).all()
