"""The command that reruns the paper, on small made files."""

import json
from pathlib import Path

import pytest

from abstain.paper import write_stand_in


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_stand_in(folder, "imdb")
    return folder


def test_the_list(abstain):
    code, out, _ = abstain("reproduce")
    assert code == 0
    assert {"imdb", "catdog", "lsc", "phsc", "dr", "dr-shift", "figure1"} <= set(out.split())


def test_json_is_one_object_and_nothing_else_is_on_stdout(abstain, data):
    code, out, err = abstain(
        "reproduce", "imdb", "--data", data, "--repeats", 2, "--methods", "js-divergence", "--json"
    )
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert list(result) == ["experiment", "repeats", "cells"]
    assert list(result["cells"][0]) == [
        "metric",
        "method",
        "prepared",
        "abstain",
        "mean",
        "se",
        "best",
        "values",
    ]


def test_a_score_of_ones_own_is_a_row(abstain, data):
    Path("my_module.py").write_text(
        "def my_score(proba):\n    return -abs(proba[:, 1] - 0.5)\n", encoding="utf-8"
    )
    options = ("--data", data, "--repeats", 2, "--methods", "distance-from-half")
    code, out, _ = abstain(
        "reproduce", "imdb", *options, "--method", "my_module:my_score", "--json"
    )
    assert code == 0
    cells = json.loads(out)["cells"]
    by_method = {
        name: [cell["mean"] for cell in cells if cell["method"] == name]
        for name in ("distance-from-half", "my_module:my_score")
    }
    assert by_method["distance-from-half"] == by_method["my_module:my_score"]


def test_all_that_is_there_as_text_and_as_markdown(abstain, data):
    options = ("--data", data, "--repeats", 2, "--methods", "js-divergence")
    code, out, _ = abstain("reproduce", *options)
    assert code == 0
    assert out.startswith("IMDB: sensitivity at 99% specificity under label shift")
    code, out, _ = abstain("reproduce", *options, "--markdown")
    assert out.startswith("### imdb")
    assert "| js-divergence | adapted |" in out
    code, out, _ = abstain("reproduce", *options, "--json")
    assert [result["experiment"] for result in json.loads(out)] == ["imdb"]


def test_wrong_commands_and_missing_data(abstain, tmp_path):
    code, _, err = abstain("reproduce", "imbd")
    assert code == 2
    assert "There is no experiment 'imbd'" in err
    code, _, err = abstain("reproduce", "imdb", "--json", "--markdown")
    assert code == 2
    code, _, err = abstain("reproduce", "imdb", "--data", tmp_path)
    assert code == 1
    assert "There is no file imdb.npz" in err
    code, _, err = abstain("reproduce", "--data", tmp_path)
    assert code == 1
    assert "No data file" in err


def test_a_table_runs_without_data(abstain):
    few = ("--simulated", "--repeats", 1, "--methods", "js-divergence")
    code, out, _ = abstain("reproduce", "imdb", *few)
    assert code == 0
    assert "none of these figures is the paper's" in out
    assert abstain("reproduce", "imdb", "--simulated", "--data", ".")[0] == 2
    assert abstain("reproduce", "--simulated")[0] == 2


@pytest.mark.parametrize("options", [("--methods", "foo"), ("--method", "a:b"), ("--simulated",)])
def test_what_a_simulation_cannot_take_is_refused(abstain, options):
    code, _, err = abstain("reproduce", "figure1", *options)
    assert code == 2
    assert "figure1 is a simulation with methods of its own" in err
