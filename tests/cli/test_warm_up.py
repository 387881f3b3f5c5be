"""What ``abstain warm-up`` says; that it does it is tested with the kernels."""

import json
from pathlib import Path

from abstain._kernels._jit import Compiled, Ready


def ready(monkeypatch, *, compiled, folder):
    monkeypatch.setattr(
        Compiled, "ready", lambda self: Ready(self.name, compiled, folder, seconds=1.234)
    )


def test_what_was_compiled_and_where_it_is_kept(abstain, monkeypatch):
    ready(monkeypatch, compiled=True, folder=Path("kept"))
    code, out, err = abstain("warm-up")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "compiled       bins.add_rows in 1.2 s"
    assert "cache          kept" in lines
    assert lines[-1].startswith("Done in ")
    found = json.loads(abstain("warm-up", "--json")[1])
    assert found["kernels"][0]["compiled"]
    assert found["kernels"][0]["folder"] == "kept"


def test_a_second_run_says_that_it_had_nothing_to_do(abstain, monkeypatch):
    ready(monkeypatch, compiled=False, folder=Path("kept"))
    lines = abstain("warm-up")[1].splitlines()
    assert lines[0] == "already there  bins.add_rows, loaded in 1.23 s"
    assert lines[-1].startswith("Nothing to compile: everything was there. Done in ")


def test_where_nothing_can_be_kept_it_says_what_to_do(abstain, monkeypatch):
    ready(monkeypatch, compiled=True, folder=None)
    code, out, _ = abstain("warm-up")
    assert code == 0
    assert "so nothing was kept: set NUMBA_CACHE_DIR to one that can." in out


def test_compilation_that_is_turned_off_is_said(abstain, monkeypatch):
    monkeypatch.setattr(Compiled, "_prepared", lambda self: self._function)
    code, out, err = abstain("warm-up")
    assert (code, out) == (1, "")
    assert "NUMBA_DISABLE_JIT turns compilation off. Unset it." in err
