"""Whatever is typed: an answer or a refusal, and files that are whole or not there."""

import re
import tempfile
from pathlib import Path

from abstain.cli import commands

from .command_lines import (
    SLOW,
    command_lines,
    laid_out,
    printed_well,
    state_of,
    template,
    typed,
)
from .machine import Defect, fuzzed

_HIDDEN = re.compile(r"(^|/)\..*\.[0-9a-f]{12}$")


def check_line(line):
    with tempfile.TemporaryDirectory(prefix="abstain-fuzz-") as name:
        folder = Path(name)
        laid_out(template().name, folder)
        before = state_of(folder)
        code, out, err = typed(line, folder)
        after = state_of(folder)
    said = f"abstain {line} exits with {code}: {err[-500:]}"
    if code not in (0, 1, 2) or "Traceback" in err:
        raise Defect(said)
    printed_well(line, code, out, err)
    changed = {name for name in before if after.get(name) != before[name]}
    new = set(after) - set(before)
    if code and (changed or new):
        raise Defect(f"leaves {sorted(changed | new)}: {said}")
    if any(_HIDDEN.search(one) for one in after):
        raise Defect(f"leaves {sorted(new)}: {said}")
    if changed - _given_over(line, before):
        raise Defect(f"changes {sorted(changed)}: {said}")
    return {0: "ran", 1: "refused the data", 2: "refused the command"}[code]


def _given_over(line, before):
    """Return what may be written over: with --force only, and never what is read."""
    if not any("--force".startswith(part) and len(part) > 3 for part in line):
        return set()
    plain = {"stood.csv", "costs.csv", "rule.json", "v.csv", "t.csv", "hard.csv"}
    written = " ".join(line)
    return {one for one in plain & set(before) if one in written or "soft.csv" in written}


QUICK = [
    # An output that is another, under another name; and inputs as outputs.
    ["run", "v.csv", "t.csv", "--scores", "p_ill", "--label", "ill", "--metric", "auroc",
     "--budget", "0.1", "--out", "d.csv", "--policy", "sub/../d.csv", "--force"],
    ["run", "v.csv", "t.csv", "--scores", "p_ill", "--label", "ill", "--metric", "auroc",
     "--budget", "0.1", "--out", "hard.csv", "--force"],
    ["run", "v.csv", "t.csv", "--scores", "p_ill", "--label", "ill", "--metric", "cost:costs.csv",
     "--budget", "0.1", "--out", "costs.csv", "--force"],
    ["run", "v.csv", "t.csv", "--scores", "p_ill", "--label", "ill", "--metric", "auroc",
     "--budget", "1e999"],
]  # fmt: skip


@fuzzed(
    "command line",
    quick=30,
    examples=[{"line": line} for line in QUICK],
    line=command_lines([name for name in commands.list_commands(None) if name not in SLOW]),
)
def test_a_command_line(line):
    """Anything that is typed is answered, or refused without a trace."""
    return check_line(line)
