"""The guide has the help of every command, as it is now."""

import importlib.util
import re
from pathlib import Path

from abstain.cli._main import NAMES

DOCS = Path(__file__).parents[2] / "docs"


def generator():
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate_command_line.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_up_to_date():
    made = generator()
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), (
        "run: python docs/generate_command_line.py"
    )


def test_every_command_is_there():
    text = (DOCS / "guide" / "command-line.md").read_text(encoding="utf-8")
    assert re.findall(r"^### abstain ([\w-]+)$", text, flags=re.MULTILINE) == list(NAMES)


def test_the_code_of_the_guide_to_reports_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "guide" / "report.md").read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(block, "report.md", "exec"), {})
    assert "<h1" in (tmp_path / "report.html").read_text(encoding="utf-8")
