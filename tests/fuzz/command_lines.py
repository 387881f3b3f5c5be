"""Command lines drawn from the commands themselves, and a folder of files for them to meet.

Most begin as a line that works and are then given more: options with values that fit, options with
values that were never meant for them, options twice, options without a value, outputs where
something stands already.
"""

import contextlib
import gzip
import io
import json
import os
import re
import shutil
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from pyarrow import csv, parquet

from abstain.cli import _main, commands, run_command

from .machine import Defect, refused

COMMANDS = tuple(commands.list_commands(None))
ROWS = 40
#: What runs an experiment or simulates, whatever its options; tried in long runs only.
SLOW = ("demo", "doctor", "reproduce")

OUTPUTS = (
    "d.csv", "d.csv.gz", "d.tsv", "d.parquet", "d.xlsx", "d.txt", "d", "sub/d.csv", "no/d.csv",
    "r.html", "p.json", "d.csv.manifest.json", "./d.csv", "sub/../d.csv", "v.csv", "t.csv",
    "hard.csv", "soft.csv", "dangling.csv", "loop.csv", "pipe.csv", "sub", "rule.json",
    "stood.csv", ".", "", "/dev/null", "/dev/full", "\x1b[31m.csv", "a\nb.csv", "ü.csv",
    "d\udcff.csv", "costs.csv", f"{'n' * 240}.csv", f"{'n' * 300}.csv", "=1+1.csv", "-x.csv",
    "D.PARQUET",
)  # fmt: skip
INPUTS = (
    "v.csv", "t.csv", "v3.csv", "t3.csv", "t.csv.gz", "t.parquet", "t.xlsx", "logits.csv",
    "followed.csv", "rule.json", "rule3.json", "costs.csv", "empty.csv", "bytes.bin", "sub",
    "none", "[vt].csv", "*.csv", "**", "[", "twice.csv", "twice.parquet", "one.csv", "soft.csv",
    "pipe.csv", "gaps.csv", "german.csv", "/dev/null", "", "ids.csv", "named.csv", "escapes.csv",
)  # fmt: skip
HOSTILE = (
    "", " ", "*", "[", "[]", "{}", "null", "nan", "NaN", "inf", "-inf", "1e999", "-1e999",
    "1e-999", "0", "-0", "-1", "1", "2", "0.29", "29%", "1e300%", "%", "10" * 300,
    "-" + "9" * 400, "0x10", "1_000", "1,5", "½", "\u0661", "\x1b[2J", "a\nb", "\udcff",
    "\u202eabc",
    "=1+1", "--", "-", "x" * 5_000, "'; drop", "../../etc/passwd", "cost:v.csv", "cost:none",
    "true", "1;2", "a=b", "a=1,b=2", "=1", "0:1", "1:0", "nan:nan", "0.1:0.9:1", "1e-320",
)  # fmt: skip
PLAUSIBLE = {
    "--metric": (
        "auroc", "accuracy", "f1", "sensitivity@specificity=0.9", "kappa", "kappa:quadratic",
        "fbeta:2", "fbeta:1e300", "cost:costs.csv", "cost:[[0,1],[5,0]]", "log-loss", "brier",
        "auprc", "balanced-accuracy", "f1:macro", "mcc", "sensitivity@specificity=2",
        "top-k:2", "top-k:99999999999999999999", "cost:[[0,1e999],[1,0]]", "average-precision",
    ),
    "--budget": ("0.1", "0.29", "29%", "3", "0", "1", "1.0", "40", "41", "0.0", "100%", "1e-9"),
    "--target": ("0.9", "90%", "sensitivity=0.8,specificity=0.7", "auroc=0.9", "accuracy=2"),
    "--cost": ("1", "0.1", "1,2", "1,2,3", "0", "1e308", "1e-308"),
    "--value-of-metric": ("10", "0", "1e308"),
    "--confidence": ("0.9", "0.5", "90%", "1", "0"),
    "--prior-range": ("0.01:0.5", "0:1", "0.5:0.5"),
    "--scores": ("p_*", "p_ill", "logit", "*", "p*", "score", "id", "ill", "?_ill", "nothing"),
    "--label": ("ill", "y", "kind", "id", "p_ill", "site"),
    "--target-label": ("ill", "y", "kind", "id"),
    "--prediction": ("ill", "y", "kind"),
    "--positive": ("1", "0", "ill", "b", "1.0"),
    "--id": ("id", "site", "p_ill", "note"),
    "--group": ("site", "id", "note", "ill"),
    "--known-labels": ("ill", "site", "known"),
    "--separator": ("comma", ";", "\\t", "|", "é", "ab", "\x01", "1", "."),
    "--encoding": ("utf-8", "latin-1", "utf-16", "base64", "rot13", "idna", "hex", "cp037", "zip"),
    "--sheet": ("decisions", "Sheet1", "none"),
    "--calibration": ("auto", "platt", "identity", "temperature", "beta", "isotonic", "bcts"),
    "--shift": ("auto", "em", "none", "bbse", "bbse-soft", "rlls", "known"),
    "--score": ("max-probability", "entropy", "margin", "random", "dropout-variance"),
    "--methods": ("delta-metric", "entropy,random", "margin", ",", "dropout-variance"),
    "--method": ("os:getcwd", "json:loads", "nothing", "a:b:c"),
    "--level": ("0.9", "0.5", "0", "1", "95%"),
    "--title": ("A page", "<script>", ""),
    "--repeats": ("1", "2", "99999999999", "-3"),
    "--random-state": ("0", "7", "-1", "99999999999999999999999"),
    "--at-most": ("0", "3", "99999999999999999999999"),
    "--data": ("sub", "none"),
    "--table": ("t", "a.b", "a.b.c.d", ".", "t; --"),
    "--keep": ("id", "prediction", "abstain__1"),
    "--prefix": ("rule_", ""),
    "--figures": ("sub", "figures", "v.csv"),
}  # fmt: skip
_FILES_READ = {"--labels": INPUTS, "--validation": INPUTS, "--errors": ("costs.csv", *INPUTS)}
_FILES_WRITTEN = {"--out": OUTPUTS, "--policy": OUTPUTS, "--report": OUTPUTS}

#: Lines that work, which most of the others are made from.
BASES = {
    "run": "v.csv t.csv --scores p_ill --label ill --metric auroc --budget 0.1",
    "apply": "rule.json t.csv --scores p_ill --id id",
    "adapt": "rule.json t.csv --scores p_ill",
    "estimate": "v.csv t.csv --scores p_ill --label ill --metric accuracy",
    "compare": "v.csv t.csv --scores p_ill --label ill --metric auroc --methods random",
    "evaluate": "rule.json v.csv --scores p_ill --label ill",
    "shift": "v.csv t.csv --scores p_ill --label ill",
    "calibrate": "v.csv t.csv --scores p_ill --label ill --out c.csv",
    "report": "rule.json t.csv --scores p_ill --id id",
    "export": "rule.json --to sql --dialect sqlite --table t --scores p_ill",
    "metrics": "",
    "monitor": "rule.json t.csv --scores p_ill",
    "demo": "--out sub",
    "doctor": "",
    "reproduce": "",
}


@cache
def options_of(command):
    """Return the options of a command, as its own definition has them."""
    with click.Context(commands) as context:
        found = commands.get_command(context, command)
    return tuple(one for one in found.params if isinstance(one, click.Option))


def values_for(option):
    """Values for an option: such as fit it, then such as do not."""
    name = max(option.opts, key=len)
    pools = [HOSTILE]
    if name in _FILES_WRITTEN and not isinstance(option.type, click.Choice):
        pools += [_FILES_WRITTEN[name]] * 3
    elif name in _FILES_READ:
        pools += [_FILES_READ[name]] * 3
    elif isinstance(option.type, click.Choice):
        pools += [tuple(option.type.choices)] * 3
    else:
        pools += [PLAUSIBLE.get(name, HOSTILE)] * 3
    return st.sampled_from(pools).flatmap(st.sampled_from)


@st.composite
def option_with_value(draw, command):
    """One option as it is typed: with its value, with an equals sign, without, or misspelt."""
    option = draw(st.sampled_from(options_of(command)))
    name = draw(st.sampled_from(option.opts))
    if option.is_flag or option.count:
        return [name]
    value = draw(values_for(option))
    shape = draw(st.integers(0, 19))
    if shape == 0:
        return [name]
    if shape == 1:
        return [name[:-1], value]
    return [f"{name}={value}"] if shape < 5 and name.startswith("--") else [name, value]


@st.composite
def command_lines(draw, names=COMMANDS):
    """A command line."""
    command = draw(st.sampled_from(names))
    line = BASES[command].split() if draw(st.integers(0, 9)) else []
    for _ in range(draw(st.integers(0, 4))):
        line += draw(option_with_value(command))
    if draw(st.integers(0, 4)) == 0 and line:
        place = draw(st.integers(0, len(line) - 1))
        line[place] = draw(st.sampled_from(INPUTS) | st.sampled_from(HOSTILE))
    if draw(st.integers(0, 9)) == 0:
        line.insert(draw(st.integers(0, len(line))), draw(st.sampled_from(INPUTS + HOSTILE)))
    if draw(st.booleans()):
        line.append("--json")
    before = draw(
        st.sampled_from([[], [], [], [], ["-v"], ["-vv"], ["--nonsense"], ["--version"]])
    )
    return [*before, command, *line]


def write_text(path, columns, separator=","):
    """Write a table as text."""
    options = csv.WriteOptions(delimiter=separator)
    csv.write_csv(pa.table(columns), str(path), options)


def furnish(folder):
    """Fill a folder with files that work, and with files that do not."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(ROWS) % 2)
    p = 1 / (1 + np.exp(-(rng.normal(size=ROWS) + 2 * y - 1)))
    kinds = rng.permutation(np.arange(ROWS) % 3)
    p3 = rng.dirichlet([1, 1, 1], size=ROWS) * 0.5 + 0.5 * np.eye(3)[kinds]
    ids = [f"00{k}\nx" if k % 7 == 0 else f"00{k}" for k in range(ROWS)]
    sites = np.where(np.arange(ROWS) % 3, "N", "S")
    table = {"id": ids, "p_ill": p, "site": sites}
    write_text(folder / "v.csv", {**table, "ill": y})
    write_text(folder / "t.csv", {**table, "abstain": sites, "prediction": y})
    three = {f"p_{name}": p3[:, k] for k, name in enumerate("abc")}
    write_text(folder / "v3.csv", {**three, "y": np.array(list("abc"))[kinds]})
    write_text(folder / "t3.csv", three)
    write_text(folder / "logits.csv", {"logit": np.log(p / (1 - p)), "ill": y})
    parquet.write_table(pa.table(table), folder / "t.parquet")
    (folder / "t.csv.gz").write_bytes(gzip.compress((folder / "t.csv").read_bytes()))
    write_text(folder / "followed.csv", {"id": ids, "ill": y})
    write_text(folder / "gaps.csv", {"id": ids, "p_ill": [None, *p[1:]], "known": [None, *y[1:]]})
    write_text(folder / "ids.csv", {"id": np.arange(ROWS) + 1000, "p_ill": p, "ill": y})
    write_text(folder / "one.csv", {"p_ill": p[:1]})
    names = np.array(["\x1b[31mred", "a\nb"])[y]
    write_text(folder / "escapes.csv", {"p_ill": p, "ill": names, "\x1b]0;x\x07": y})
    write_text(folder / "named.csv", {"p_true": p, "p_false": 1 - p, "ill": y.astype(bool)})
    (folder / "german.csv").write_bytes(
        b"p_ill;ill\n"
        + b"".join(
            f"{v:.3f};{k}\n".replace(".", ",").encode("cp1252") for v, k in zip(p, y, strict=True)
        )
    )
    (folder / "twice.csv").write_text("p_ill,ill,ill\n0.1,0,1\n0.2,1,0\n")
    parquet.write_table(
        pa.table([p, p, y], names=["p_ill", "p_ill", "ill"]), folder / "twice.parquet"
    )
    (folder / "costs.csv").write_text("0,1\n5,0\n")
    (folder / "empty.csv").write_text("")
    (folder / "bytes.bin").write_bytes(bytes(range(256)) * 4)
    (folder / "stood.csv").write_text("precious\n")
    (folder / "sub").mkdir()
    here = os.getcwd()
    os.chdir(folder)
    try:
        scores = ["--scores", "p_ill", "--label", "ill"]
        for arguments in (
            ["run", "v.csv", "t.csv", *scores, "--metric", "auroc", "--budget", "0.1",
             "--policy", "rule.json"],
            ["run", "v3.csv", "t3.csv", "--label", "y", "--metric", "kappa", "--budget", "0.1",
             "--policy", "rule3.json"],
            ["calibrate", "v.csv", "t.csv", *scores, "--id", "id", "--out", "t.xlsx"],
        ):  # fmt: skip
            assert run_command([*arguments, "--json"]) == 0
    finally:
        os.chdir(here)
    (folder / "t.xlsx.manifest.json").unlink()


def laid_out(template, folder):
    """Copy the files into a folder, with links and a pipe beside them."""
    shutil.copytree(template, folder, dirs_exist_ok=True)
    os.link(folder / "v.csv", folder / "hard.csv")
    (folder / "soft.csv").symlink_to("t.csv")
    (folder / "dangling.csv").symlink_to("sub/landed.csv")
    (folder / "loop.csv").symlink_to("loop.csv")
    os.mkfifo(folder / "pipe.csv")


def state_of(folder):
    """Return what every file of a folder holds, and what is no plain file."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"link to {os.readlink(path)}"
        elif path.is_file():
            found[name] = path.read_bytes()
        else:
            found[name] = path.stat().st_mode
    return found


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@cache
def template():
    """Return the folder that others are copies of."""
    folder = tempfile.TemporaryDirectory(prefix="abstain-fuzz-")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        furnish(Path(folder.name))
    return folder


def rules(folder):
    """Put a rule into a folder, and the rows that it was made on."""
    shutil.copy(Path(template().name) / "rule.json", folder / "rule.json")
    shutil.copy(Path(template().name) / "v.csv", folder / "rows.csv")


def typed(line, folder):
    """Run a command line in a folder, and return its exit code and what it printed."""
    out, err, here = io.StringIO(), io.StringIO(), os.getcwd()
    usual = _main.spelled

    def spelled(message):
        # Where a command refuses, it is with an error of ours, or of the file system.
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):
            refused(error)
        return usual(message)

    os.chdir(folder)
    _main.spelled = spelled
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            warnings.simplefilter("error", RuntimeWarning)
            for category in (UserWarning, FutureWarning):
                warnings.simplefilter("ignore", category)
            code = run_command(line)
    except BaseException as error:
        raise Defect(f"abstain {line}: {type(error).__name__}: {error}") from error
    finally:
        _main.spelled = usual
        os.chdir(here)
    return code, out.getvalue(), err.getvalue()


def printed_well(line, code, out, err):
    """Check what a command printed: something, nothing that moves a cursor, and strict JSON."""
    said = f"abstain {line} exits with {code}: {err[-500:]}"
    if "Traceback" in err:
        raise Defect(said)
    if code and not err.strip() and "doctor" not in line:
        raise Defect(f"says nothing: {said}")
    if found := _CONTROL.search(out + err):
        raise Defect(f"prints {found[0]!r}: {said}")
    if code == 0 and "--json" in line and out[:1] in "{[":
        _strictly(out)


def _strictly(text):
    """Parse JSON as the standard has it: without NaN and infinities."""

    def refuse(constant):
        raise Defect(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)
