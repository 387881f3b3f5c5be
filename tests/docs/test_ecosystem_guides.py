"""The code blocks of the guides on the ecosystem and on plots run as a reader would run them."""

import re
from pathlib import Path

import pytest

GUIDES = Path(__file__).parents[2] / "docs" / "guide"
NEEDS = {
    "ecosystem.md": ["narwhals", "onnx", "onnxruntime", "pandas", "torch"],
    "plots.md": ["matplotlib"],
}


@pytest.mark.parametrize("page", NEEDS)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    for package in NEEDS[page]:
        pytest.importorskip(package, reason=f"{package} is not installed")
    if page == "plots.md":
        import matplotlib

        matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    text = (GUIDES / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks
    names = {}
    try:
        for block in blocks:
            exec(compile(block, page, "exec"), names)
    finally:
        if page == "plots.md":
            matplotlib.pyplot.close("all")
    if page == "ecosystem.md":
        columns = ["patient", "abstain", "reason", "prediction", "gain", "p_0", "p_1"]
        assert names["frame"].columns.tolist() == columns
        assert names["logits"].shape == (len(names["y_test"]), 2)
        apply = names["decisions"].policy.apply
        assert (apply(names["scores"][:, 0]).abstain == names["abstain"]).all()
