"""The guide has the help of every command, as it is now."""

import re
from pathlib import Path

from abstain.cli import commands

DOCS = Path(__file__).parents[2] / "docs"


def test_the_reference_is_up_to_date(script):
    made = script("generate_command_line")
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), (
        "run: python docs/generate_command_line.py"
    )


def test_every_command_is_there():
    text = (DOCS / "guide" / "command-line.md").read_text(encoding="utf-8")
    assert re.findall(
        r"^### abstain ([\w-]+)$", text, flags=re.MULTILINE
    ) == commands.list_commands(None)
