"""Write the help of every command into the guide to the command line.

Run ``python docs/generate_command_line.py`` after changing a command; a test says when to.
"""

from pathlib import Path

from click.testing import CliRunner

from abstain.cli._main import NAMES, commands

PAGE = Path(__file__).parent / "guide" / "command-line.md"
MARK = "<!-- Below: written by docs/generate_command_line.py; do not edit. -->"
WIDTH = 88


def reference() -> str:
    """Return the help of every command, as Markdown."""
    parts = [f"{MARK}\n\n## Every command\n"]
    for name in NAMES:
        result = CliRunner().invoke(
            commands, [name, "--help"], prog_name="abstain", terminal_width=WIDTH
        )
        parts.append(f"### abstain {name}\n\n```text\n{result.output.rstrip()}\n```\n")
    return "\n".join(parts)


def page() -> str:
    """Return the page with its reference brought up to date."""
    written = PAGE.read_text(encoding="utf-8").split(MARK)[0]
    return written + reference()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
