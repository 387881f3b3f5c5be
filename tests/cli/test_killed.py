"""Bad days: told to end, killed, no room left, nothing to be written. Files stay whole.

Commands run in children of one process that has imported everything, which is what takes the time.
Each child is struck at a moment that is certain: while it reads, when its first file is half
written, when everything is written and the result is printed, when files take their places.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from abstain.datasets import screening_clinic

from .tables import write_columns

STRIKER = r"""
import json, os, resource, signal, sys
from pathlib import Path
import abstain, abstain.report
from abstain import _files
from abstain.cli import _output, _terminal, _text, _writing, _excel
from abstain.cli import commands, run_command
import click
# As of a program that nobody started by nohup, in the background or with signals held back.
for number in (signal.SIGHUP, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.pthread_sigmask(signal.SIG_SETMASK, ())
with click.Context(commands) as context:
    for name in commands.list_commands(None):
        commands.get_command(context, name)

# Once in earnest, so that the children find everything imported.
import pyarrow, tempfile
pyarrow.set_cpu_count(1)
with tempfile.TemporaryDirectory() as warm:
    here = os.getcwd()
    os.chdir(warm)
    usual = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    Path("v.csv").write_text("p,y\n" + "".join(f"{k / 20},{k % 3 // 2}\n" for k in range(20)))
    warmed = "v.csv v.csv --scores p --label y".split()
    outputs = "--policy p.json --report r.html --out d.csv".split()
    run_command(["run", *warmed, "--metric", "auroc", "--budget", "0.1", *outputs])
    run_command(["calibrate", *warmed, "--out", "c.parquet"])
    run_command(["adapt", "p.json", "v.csv", "--scores", "p"])
    sys.stdout.flush()
    os.dup2(usual, 1)
    os.chdir(here)

def strike(number):
    os.kill(os.getpid(), number)

def struck(at, number):
    if at == "reading":
        usual = _text.unpacked
        def unpacked(path):
            strike(number)
            return usual(path)
        _text.unpacked = unpacked
    elif at == "half-written":
        usual = _files._hidden
        def hidden(target):
            temporary = usual(target)
            temporary.write_bytes(b"half a fi")
            strike(number)
            return temporary
        _files._hidden = hidden
    elif at == "printing":
        def tell(text):
            strike(number)
            usual(text)
        usual, _output.tell = _output.tell, tell
    elif at == "landing":
        usual = Path.replace
        def replace(self, target):
            if not Path(target).name.startswith("."):
                strike(number)
            return usual(self, target)
        Path.replace = replace
    elif at == "twice":
        def tell(text):
            try:
                strike(number)
            finally:
                strike(signal.SIGHUP)
        _output.tell = tell
    elif at == "no room":
        resource.setrlimit(resource.RLIMIT_FSIZE, (number, number))
    elif at == "hangup ignored":
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        struck("printing", number)

for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(order["folder"])
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(order[name], os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), number)
        code = 99
        try:
            struck(order["at"], order["number"])
            code = run_command(order["line"])
            sys.stdout.flush()
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    print(os.waitstatus_to_exitcode(status), flush=True)
"""
SCORES = ("--scores", "logit", "--label", "ill")
#: Every command that writes, and what it writes.
WRITING = {
    "run": (
        ("run", "v.csv", "t.csv", *SCORES, "--scale", "logits", "--metric", "auroc", "--budget",
         "0.1", "--calibration", "platt", "--out", "d.csv", "--policy", "p.json"),
        {"d.csv", "d.csv.manifest.json", "p.json"},
    ),
    "apply": (
        ("apply", "rule.json", "t.csv", "--scores", "logit", "--out", "d.csv.gz"),
        {"d.csv.gz", "d.csv.gz.manifest.json"},
    ),
    "adapt": (("adapt", "rule.json", "t.csv", "--scores", "logit", "--out", "p.json"), {"p.json"}),
    "calibrate": (
        ("calibrate", "v.csv", "t.csv", *SCORES, "--scale", "logits", "--calibration", "platt",
         "--out", "c.parquet"),
        {"c.parquet", "c.parquet.manifest.json"},
    ),
    "report": (
        ("report", "rule.json", "t.csv", "--scores", "logit", "--out", "r.html"), {"r.html"}
    ),
}  # fmt: skip
PROGRAM = (sys.executable, "-c", "from abstain.cli import main; main()")
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


@pytest.fixture(scope="module")
def striker():
    """Start the process whose children are struck, and return what gives it an order."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "ABSTAIN_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", STRIKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    ) as process:

        def order(folder, line, at="", number=0):
            said = {name: str(folder.parent / f"{folder.name}.{name}") for name in ("out", "err")}
            told = {"folder": str(folder), "line": line, "at": at, "number": number, **said}
            process.stdin.write(f"{json.dumps(told)}\n")
            process.stdin.flush()
            code = int(process.stdout.readline())
            return code, *(Path(path).read_text() for path in said.values())

        yield order
        process.stdin.close()


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    clinic = screening_clinic(60, 60, random_state=0)
    write_columns(folder / "v.csv", {"logit": clinic.scores_val, "ill": clinic.y_val})
    write_columns(folder / "t.csv", {"logit": clinic.scores_target})
    from abstain import Abstainer

    abstainer = Abstainer("auroc", budget=0.1, scale="logits", calibration="platt", random_state=0)
    abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target).policy.save(
        folder / "rule.json"
    )
    return folder


def state_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("command", WRITING)
def test_told_to_end_it_leaves_nothing(striker, folder, command):
    line, _ = WRITING[command]
    before = state_of(folder)
    for at, number in zip(("reading", "half-written", "printing"), ENDING, strict=True):
        code, _, err = striker(folder, line, at, number)
        assert code == 128 + number, (at, err)
        assert err.rstrip().endswith("nothing half-written was left."), (at, err)
        assert state_of(folder) == before, at


@pytest.mark.parametrize("command", WRITING)
def test_told_to_end_while_files_land_all_of_them_do(striker, folder, command):
    line, outputs = WRITING[command]
    before = state_of(folder)
    code, _, err = striker(folder, line, "landing", signal.SIGTERM)
    assert code == 143, err
    assert set(state_of(folder)) == {*before, *outputs}
    for name in outputs:
        (folder / name).unlink()


@pytest.mark.parametrize("command", WRITING)
def test_killed_no_output_is_half_there_and_the_next_run_works(striker, folder, command):
    line, outputs = WRITING[command]
    before = state_of(folder)
    for at in ("reading", "half-written", "printing", "landing"):
        code, _, _ = striker(folder, line, at, signal.SIGKILL)
        assert code == -signal.SIGKILL
        # Nothing has time to remove what is not in its place yet, under a name of its own.
        seen = {name for name in state_of(folder) if not name.startswith(".")}
        assert seen == set(before), at
    code, _, err = striker(folder, line)
    assert code == 0, err
    after = state_of(folder)
    assert {name for name in after if not name.startswith(".")} == {*before, *outputs}
    assert all(after[name] == before[name] for name in before)


def test_told_twice_it_ends_once(striker, folder):
    before = state_of(folder)
    code, _, err = striker(folder, WRITING["run"][0], "twice", signal.SIGTERM)
    assert (code, "Traceback" in err) == (143, False)
    assert state_of(folder) == before


def test_nohup_is_respected(striker, folder):
    line, outputs = WRITING["apply"]
    before = state_of(folder)
    code, _, err = striker(folder, line, "hangup ignored", signal.SIGHUP)
    assert code == 0, err
    assert set(state_of(folder)) == {*before, *outputs}


@pytest.mark.parametrize("command", WRITING)
def test_without_room_nothing_is_left_and_what_stood_there_stays(striker, folder, command):
    line, outputs = WRITING[command]
    for name in outputs:
        (folder / name).write_text("precious")
    before = state_of(folder)
    for room in (0, 100):
        code, _, err = striker(folder, [*line, "--force"], "no room", room)
        # What is said has no room either, but for as much as that.
        assert code == 1, err
        assert "Traceback" not in err
        assert state_of(folder) == before


@pytest.mark.parametrize("command", WRITING)
def test_a_folder_that_cannot_be_written(striker, folder, command):
    line, _ = WRITING[command]
    shut = folder / "shut"
    shut.mkdir()
    if os.geteuid() == 0:
        if not Path("/proc/sys").is_dir():
            pytest.skip("whoever runs this may write everywhere, and there is no /proc")
        place = Path("/proc/sys")
    else:
        shut.chmod(0o555)
        place = shut
    at = line.index("--out") + 1
    moved = [*line[:at], str(place / line[at]), *line[at + 1 :]]
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    code, _, err = striker(folder, moved)
    assert code in (1, 2)
    assert "Cannot write" in err
    assert before == {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_what_cannot_be_printed_is_not_written_either(folder):
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    before = state_of(folder)
    with full.open("w") as stream:
        done = subprocess.run(
            [*PROGRAM, *WRITING["apply"][0]],
            cwd=folder, stdout=stream, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert state_of(folder) == before


@pytest.mark.slow
@pytest.mark.parametrize("command", WRITING)
def test_struck_at_any_moment(folder, command):
    line, outputs = WRITING[command]
    before = state_of(folder)
    began = time.monotonic()
    program = [*PROGRAM, *line]
    subprocess.run(program, cwd=folder, capture_output=True, check=True)
    usual = time.monotonic() - began
    whole = {name for name in outputs if (folder / name).exists()}
    assert whole == outputs
    for name in outputs:
        (folder / name).unlink()
    draw = random.Random(0)
    for _ in range(40):
        number = draw.choice([*ENDING, signal.SIGKILL])
        process = subprocess.Popen(
            program, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(draw.uniform(0, 1.2 * usual))
        process.send_signal(number)
        code = process.wait()
        after = state_of(folder)
        hidden = {name for name in after if name.startswith(".")}
        there = set(after) - set(before) - hidden
        if number != signal.SIGKILL:
            assert not hidden
            assert code in (0, 128 + number, -number)
        if code == 0:
            assert there == outputs
        for name in there | hidden:
            (folder / name).unlink()
        assert state_of(folder) == before
