"""The benchmark table: goals read rightly, figures carried over, misses said first."""

import json

import pytest
from benchmarks import __main__ as benchmarks_main
from benchmarks._row import Row
from benchmarks.proof import speed


def test_a_ratio_is_read_against_its_goal():
    slower = Row("a", 2.0, "argsort", 1.0, at_most=1.5)
    assert (slower.ratio, slower.goal, slower.met) == (2.0, "<= 1.5x", False)
    faster = Row("b", 1.0, "abstention", 10.0, at_least=5)
    assert (faster.ratio, faster.goal, faster.met) == (10.0, ">= 5x faster", True)
    plain = Row("c", 1.0, "numpy", 4.0)
    assert (plain.ratio, plain.goal, plain.met) == (0.25, "", None)
    assert "MISSED" in slower.text()
    assert "met" in faster.text()


def test_the_words_pick_one_benchmark_each():
    files = [file.stem for file in speed.ROOT.glob("benchmarks/bench_*.py")]
    for word in speed.names():
        assert [stem for stem in files if word in stem] == [f"bench_{word}"]


def test_rows_are_printed_as_json(monkeypatch, capsys):
    from benchmarks import bench_report

    monkeypatch.setattr(bench_report, "run", lambda: iter([Row("a", 1.0, "goal", 2.0, at_most=1)]))
    monkeypatch.setattr("sys.argv", ["benchmarks", "--json", "report"])
    benchmarks_main.main()
    printed = [json.loads(x) for x in capsys.readouterr().out.splitlines() if x.startswith("{")]
    assert [Row(**row) for row in printed] == [Row("a", 1.0, "goal", 2.0, at_most=1)]


def test_the_verdict_says_misses_first():
    rows = [Row("a", 2.0, "argsort", 1.0, at_most=1.5), Row("b", 1.0, "goal", 3.0, at_most=1)]
    found = {"decide": [speed._line(row) for row in rows]}
    said = speed.verdict(found)
    assert said.startswith("**Goals that are missed:**\n\n- a (decide): 2.00 against argsort")
    assert said.endswith("1 of 2 are met.")
    assert speed.headline(found) == ("", "", "1 of 2 goals met")
    found["shift"] = [speed._line(Row("c", 1.0, "QuaPy EMQ", 12.0, at_least=5))]
    assert speed.headline(found) == ("QuaPy EMQ", "12 to 12 times faster", "2 of 3 goals met")
    assert speed.verdict({"decide": found["decide"][1:]}).startswith("**Every goal")


def test_a_benchmark_that_breaks_says_why(monkeypatch):
    monkeypatch.setattr(speed.sys, "executable", "/bin/false")
    with pytest.raises(RuntimeError, match="ended with 1: nothing was said"):
        speed.lines("report")
