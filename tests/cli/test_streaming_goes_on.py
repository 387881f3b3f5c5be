"""A streamed run that was stopped goes on; what it finds is what it would have been at once."""

import json
import os
import shlex
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from abstain import Abstainer
from abstain.cli import _kept_run, _parts, _streaming, _tables
from abstain.datasets import screening_clinic

ROWS = 6_000
APPLY = ["apply", "rule.json", "batch", "--scores", "p", "--out", "parts"]
RUN = ["run", "val.parquet", "batch", "--scores", "p", "--label", "y", "--metric", "accuracy",
       "--budget", "0.15", "--calibration", "platt", "--out", "parts"]  # fmt: skip


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(_tables, "_MOST", 400)
    monkeypatch.setattr(_tables, "_FEWEST", 400)
    monkeypatch.setattr(_parts, "PART_ROWS", 1_000)


@pytest.fixture(scope="module")
def rule():
    clinic = screening_clinic(1_000, 1_000, random_state=0)
    chances = [1 / (1 + np.exp(-scores)) for scores in (clinic.scores_val, clinic.scores_target)]
    fitted = Abstainer("accuracy", budget=0.15, calibration="platt", random_state=0)
    return fitted.fit(chances[0], clinic.y_val).decide(chances[1]).policy


@pytest.fixture
def here(abstain, tmp_path, rule):
    rule.save("rule.json")
    clinic = screening_clinic(1_000, ROWS, random_state=0)
    chances = [1 / (1 + np.exp(-scores)) for scores in (clinic.scores_val, clinic.scores_target)]
    pq.write_table(pa.table({"p": chances[0], "y": clinic.y_val}), "val.parquet")
    (tmp_path / "batch").mkdir()
    batch = pa.table({"p": chances[1], "site": np.arange(ROWS) % 7})
    pq.write_table(batch.slice(0, 2_500), "batch/a.parquet")
    pq.write_table(batch.slice(2_500), "batch/b.parquet")
    return tmp_path


class StoppedError(Exception):
    """What stands for a run's end in the middle."""


def stop_at(monkeypatch, number):
    """Stop when a part is half written; return what undoes that."""
    usual, count = _streaming.writing, 0

    @contextmanager
    def writing(*arguments):
        def add(table):
            nonlocal count
            count += 1
            if count > number:
                raise StoppedError
            write(table)

        with usual(*arguments) as write:
            yield add

    monkeypatch.setattr(_streaming, "writing", writing)
    return lambda: monkeypatch.setattr(_streaming, "writing", usual)


def parts_in(folder):
    """What the parts hold, but for the name of the rule, which has the time it was made in it."""
    return {
        path.name: pq.read_table(path).drop_columns("policy").to_pydict()
        for path in sorted(folder.glob("part-*"))
    }


def test_a_run_that_was_stopped_goes_on_as_if_nothing_was(here, abstain, monkeypatch):
    code, whole, _ = abstain(*RUN)
    assert code == 0
    expected = parts_in(here / "parts")
    os.rename("parts", "whole")
    undo = stop_at(monkeypatch, 8)
    with pytest.raises(StoppedError):
        abstain(*RUN)
    undo()
    there = {path.name: path.stat().st_mtime_ns for path in (here / "parts").glob("part-*")}
    assert 0 < len(there) < len(expected)
    assert not [*(here / "parts").glob(".*")]
    # The rule must come from what was kept: nothing is summarised a second time.
    monkeypatch.setattr(Abstainer, "decide_summary", None)
    code, said, noted = abstain(*RUN)
    assert code == 0
    assert f"{len(there)} of {len(expected)} parts are there" in noted
    assert said == whole
    assert parts_in(here / "parts") == expected
    for name, changed in there.items():
        assert (here / "parts" / name).stat().st_mtime_ns == changed
    manifests = [
        json.loads((here / at / "_manifest.json").read_text()) for at in ("whole", "parts")
    ]
    assert [one["withheld"] for one in manifests[0]["parts"]] == [
        one["withheld"] for one in manifests[1]["parts"]
    ]


def test_a_queue_goes_on_where_it_was(here, abstain, monkeypatch):
    given = [*APPLY, "--at-most", "123"]
    assert abstain(*given)[0] == 0
    expected = parts_in(here / "parts")
    os.rename("parts", "whole")
    undo = stop_at(monkeypatch, 8)
    with pytest.raises(StoppedError):
        abstain(*given)
    undo()
    assert "Withheld 123 of" in abstain(*given)[1]
    assert parts_in(here / "parts") == expected


def test_what_it_says_when_it_is_stopped(here, abstain, monkeypatch, capsys):
    stop_at(monkeypatch, 4)
    with pytest.raises(StoppedError):
        abstain(*APPLY)
    assert (
        "1 of 7 parts are in parts; the same command goes on from there."
        in capsys.readouterr().err
    )


def test_a_run_that_is_finished_is_not_written_over(here, abstain):
    assert abstain(*APPLY)[0] == 0
    before = parts_in(here / "parts")
    code, _, noted = abstain(*APPLY)
    assert code == 2
    assert "parts exists; add --force to write over it" in noted
    assert abstain(*APPLY, "--force")[0] == 0
    assert parts_in(here / "parts") == before


CHANGES = {
    "an input": (
        lambda: os.utime("batch/b.parquet", ns=(1, 1)),
        [],
        "b.parquet has changed since",
    ),
    "the rule": (lambda: os.utime("rule.json", ns=(1, 1)), [], "rule.json has changed"),
    "one more": (
        lambda: pq.write_table(pq.read_table("batch/a.parquet"), "batch/c.parquet"),
        [],
        "c.parquet was not there",
    ),
    "one less": (lambda: os.remove("batch/b.parquet"), [], "b.parquet was there too"),
    "a setting": (lambda: None, ["--id", "site"], "identifier was None, now it is site"),
    "missing": (lambda: None, ["--missing", "drop"], "missing was error, now it is drop"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_other_inputs_and_other_settings_are_refused(here, abstain, monkeypatch, what):
    change, more, said = CHANGES[what]
    undo = stop_at(monkeypatch, 5)
    with pytest.raises(StoppedError):
        abstain(*APPLY)
    undo()
    before = sorted(path.name for path in (here / "parts").iterdir())
    change()
    code, _, noted = abstain(*APPLY, *more)
    assert code == 2
    assert said in noted
    assert "add --force to begin again" in " ".join(noted.split())
    assert sorted(path.name for path in (here / "parts").iterdir()) == before
    if what == "an input":
        assert abstain(*APPLY, *more, "--force")[0] == 0
        assert (here / "parts" / "_manifest.json").exists()


def test_another_rule_in_the_folder_is_refused(here, abstain, monkeypatch, rule):
    undo = stop_at(monkeypatch, 5)
    with pytest.raises(StoppedError):
        abstain(*APPLY)
    undo()
    replace(rule, created="2020-01-01T00:00:00+00:00").save("parts/_policy.json")
    code, _, noted = abstain(*APPLY)
    assert code == 1
    assert "is not the rule that the parts" in noted


def test_a_part_that_was_lost_or_cut_is_written_again(here, abstain, monkeypatch):
    assert abstain(*APPLY)[0] == 0
    expected = parts_in(here / "parts")
    (here / "parts" / "_manifest.json").unlink()
    (here / "parts" / "part-00001.parquet").unlink()
    (here / "parts" / "part-00004.parquet").write_bytes(b"PAR1")
    with (here / "parts" / "_finished.jsonl").open("a") as file:
        file.write('{"part": "part-000')
    assert abstain(*APPLY)[0] == 0
    assert parts_in(here / "parts") == expected


@pytest.mark.parametrize("more", [[], ["--force"]])
def test_a_folder_of_something_else_is_left_alone(here, abstain, more):
    (here / "parts").mkdir()
    (here / "parts" / "thesis.txt").write_text("mine")
    code, _, noted = abstain(*APPLY, *more)
    assert code == 2
    assert "it holds other files, such as thesis.txt" in noted
    assert (here / "parts" / "thesis.txt").read_text() == "mine"


def test_parts_of_nobody_knows_what_are_left_alone(here, abstain):
    (here / "parts").mkdir()
    (here / "parts" / "part-00000.parquet").write_bytes(b"x")
    code, _, noted = abstain(*APPLY)
    assert code == 2
    assert "nothing says what they were made of" in noted
    (here / "parts" / _kept_run.STATE).write_text("{")
    code, _, noted = abstain(*APPLY)
    assert code == 2
    assert "cannot be read" in noted


KILLED = """
import os, signal, sys
from contextlib import contextmanager
from abstain.cli import _parts, _streaming, _tables
_tables._MOST = _tables._FEWEST = 400
_parts.PART_ROWS = 1_000
usual, count = _streaming.writing, 0
@contextmanager
def writing(*arguments):
    def add(table):
        global count
        count += 1
        write(table)
        if count == 8:
            os.kill(os.getpid(), signal.SIGKILL)
    with usual(*arguments) as write:
        yield add
_streaming.writing = writing
from abstain.cli import run_command
run_command(sys.argv[1:])
"""


def test_a_run_that_was_killed_leaves_whole_parts_and_goes_on(here, abstain):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *APPLY], cwd=here, capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    there = {path.name: path.stat().st_mtime_ns for path in (here / "parts").glob("part-*")}
    assert there
    for name in there:
        pq.read_table(here / "parts" / name).validate(full=True)
    # What was being written stands under a hidden name, which nothing takes for a part.
    assert [*(here / "parts").glob(".part-*")]
    code, said, _ = abstain(*APPLY)
    assert code == 0
    assert not [*(here / "parts").glob(".*")]
    for name, changed in there.items():
        assert (here / "parts" / name).stat().st_mtime_ns == changed
    found = parts_in(here / "parts")
    os.rename("parts", "after")
    code, whole, _ = abstain(*APPLY)
    assert code == 0
    assert said == whole
    assert found == parts_in(here / "parts")


CEILING = """
import resource, sys
import numpy, pyarrow, pyarrow.parquet, pyarrow.csv, pyarrow.dataset, abstain.arrow
from abstain.cli import _run, _streaming, _writing
from abstain.cli import run_command
def mapped():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmData")) << 10
ceiling = mapped() + int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_DATA, (ceiling, ceiling))
streamed = run_command([*sys.argv[2:], "--stream", "--out", "parts"])
try:
    whole = run_command([*sys.argv[2:], "--no-stream", "--out", "whole.parquet"])
except (MemoryError, pyarrow.ArrowMemoryError):
    whole = 1
assert whole == 1, "there was room for all of it"
sys.exit(streamed)
"""


def limited(here, megabytes, *arguments):
    """Run a command that may take so much more memory than it begins with, whole and streamed."""
    environment = os.environ | {
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "MALLOC_ARENA_MAX": "2",
        "OMP_NUM_THREADS": "1",
        "ABSTAIN_NUM_THREADS": "1",
    }
    # A thread takes as much as its stack may grow to.
    command = [sys.executable, "-c", CEILING, str(megabytes << 20), *arguments]
    return subprocess.run(
        ["/bin/sh", "-c", f"ulimit -s 1024; exec {shlex.join(command)}"],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def check_under(here, megabytes, table, times):
    """Decide under a ceiling about a table so many times as large as a part of it."""
    with pq.ParquetWriter(here / "large.parquet", table.schema) as file:
        for _ in range(times):
            file.write_table(table)
    assert times * table.nbytes > 3 * (megabytes << 20)
    done = limited(here, megabytes, "apply", "rule.json", "large.parquet", "--scores", "p")
    assert done.returncode == 0, done.stderr
    assert f"Streamed {times * table.num_rows:,} rows of one file" in done.stdout
    assert not (here / "whole.parquet").exists()
    found = [pq.read_metadata(path).num_rows for path in (here / "parts").glob("part-*")]
    assert sum(found) == times * table.num_rows


proc = pytest.mark.skipif(
    not os.path.exists("/proc/self/status"), reason="no /proc that tells how much is mapped"
)


@proc
def test_a_file_larger_than_a_ceiling_of_the_operating_system(here):
    rows = 200_000
    texts = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int8), ["long " * 150])
    table = pa.table({"p": np.linspace(0.01, 0.99, rows), "text": texts.cast(pa.string())})
    check_under(here, 320, table, 7)


@pytest.mark.slow
@proc
def test_a_file_several_times_larger_than_the_ceiling(here):
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.random(1 << 20) for name in ("p", *"abcdefghijkl")})
    check_under(here, 420, table, 13)
