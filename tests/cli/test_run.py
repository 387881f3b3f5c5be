import csv
import hashlib
import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from abstain import Abstainer, Policy, __version__
from abstain.cli import commands
from abstain.cli._output import emit
from abstain.datasets import screening_clinic, simulate_four_class_normal

from .tables import write_columns

BINARY = (
    "run", "validation.csv", "target.csv", "--scores", "logit", "--scale", "logits",
    "--label", "ill", "--calibration", "platt",
    "--metric", "sensitivity@specificity=0.9", "--budget", "0.15",
)  # fmt: skip


@pytest.fixture
def clinic(abstain):
    clinic = screening_clinic(1_000, 1_000, random_state=0)
    names = [f"00{number}" for number in range(1_000)]
    write_columns(Path("validation.csv"), {"logit": clinic.scores_val, "ill": clinic.y_val})
    write_columns(Path("target.csv"), {"patient": names, "logit": clinic.scores_target})
    return clinic


def test_no_table_is_opened_more_than_twice(abstain, clinic, monkeypatch):
    """Once for how it is written, once for its rows: with them comes its checksum."""
    opened, usual = [], pa.input_stream

    def noted(path, *arguments, _open=usual, **options):
        opened.append(Path(path).name)
        return _open(path, *arguments, **options)

    monkeypatch.setattr(pa, "input_stream", noted)
    monkeypatch.setattr("abstain._files.open", partial(noted, _open=open), raising=False)
    outputs = ("--out", "decisions.csv", "--report", "report.html")
    assert abstain(*BINARY, "--id", "patient", *outputs)[0] == 0
    assert opened.count("validation.csv") == opened.count("target.csv") == 2
    made = json.loads(Path("decisions.csv.manifest.json").read_text())
    for one in made["inputs"]:
        assert one["sha256"] == hashlib.sha256(Path(one["file"]).read_bytes()).hexdigest()


def test_run_writes_what_the_library_decides(abstain, clinic):
    code, out, err = abstain(
        *BINARY, "--id", "patient", "--out", "decisions.csv", "--policy", "triage.json"
    )
    assert code == 0
    assert "Withheld 150 of 1,000 rows (15.0%)" in out
    assert "decisions.csv" in err
    library = (
        Abstainer(
            "sensitivity@specificity=0.9",
            budget=0.15,
            calibration="platt",
            scale="logits",
            random_state=0,
        )
        .fit(clinic.scores_val, clinic.y_val)
        .decide(clinic.scores_target)
    )
    with open("decisions.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[:8] == ["patient", *library.to_frame().columns]
    assert list(rows[0])[1:8] == [
        "abstain",
        "reason",
        "prediction",
        "threshold",
        "gain",
        "p_0",
        "p_1",
    ]
    assert {row["reason"] for row in rows} == {"", library.choice.region.describe()}
    assert [float(row["gain"]) for row in rows] == pytest.approx(library.gain.tolist(), rel=1e-5)
    assert [row["abstain"] == "true" for row in rows] == library.abstain.tolist()
    assert rows[7]["patient"] == "007"
    assert float(rows[3]["p_1"]) == pytest.approx(library.proba[3, 1], rel=1e-5)
    assert (
        Policy.load("triage.json").apply(clinic.scores_target).abstain == library.abstain
    ).all()


def test_the_terminal_says_what_is_predicted(abstain, clinic):
    code, out, _ = abstain(*BINARY, "--policy", "triage.json")
    assert code == 0
    threshold = Policy.load("triage.json").rule.threshold
    said = f"Predicts class 1 where its probability is at least {threshold:.4g}"
    assert said in out
    code, out, _ = abstain("apply", "triage.json", "target.csv", "--scores", "logit")
    assert code == 0
    assert said in out
    code, out, _ = abstain(*BINARY, "--decision", "argmax")
    assert code == 0
    assert "Predicts the most probable class" in out


def test_json_is_for_machines(abstain, clinic):
    code, out, _ = abstain(*BINARY, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["withheld"] == 150
    assert found["estimate"]["after"]["value"] > found["estimate"]["before"]["value"]


def test_what_is_not_a_number_is_null_in_json(capsys):
    found = {"value": float("nan"), "interval": (np.float64("inf"), np.int64(1))}
    emit(found, [], as_json=True)
    assert json.loads(capsys.readouterr().out) == {
        "value": None,
        "interval": [None, 1],
        "null_because": {
            "value": "not defined on these rows: too few, or a class is missing",
            "interval": "it has no bound",
        },
    }


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_many_classes_are_named_by_their_columns(abstain, suffix):
    simulation = simulate_four_class_normal(1_000, random_state=0)
    names = np.array(["none", "mild", "bad", "worst"])
    scores = {f"p_{name}": column for name, column in zip(names, simulation.proba.T, strict=True)}
    write_columns(Path(f"v{suffix}"), {**scores, "grade": names[simulation.y]})
    write_columns(Path(f"t{suffix}"), scores)
    code, _, err = abstain(
        "run", f"v{suffix}", f"t{suffix}", "--label", "grade", "--metric", "kappa:quadratic",
        "--budget", "0.2", "--calibration", "temperature", "--out", "decisions.csv",
    )  # fmt: skip
    assert code == 0, err
    with open("decisions.csv", newline="") as file:
        header = next(csv.reader(file))
    assert header[:9] == [
        "row", "abstain", "reason", "prediction", "gain", "p_none", "p_mild", "p_bad", "p_worst",
    ]  # fmt: skip
    assert header[9:] in ([], ["policy"])


def test_an_existing_file_is_kept_unless_forced(abstain, clinic):
    Path("decisions.csv").write_text("precious")
    code, _, err = abstain(*BINARY, "--out", "decisions.csv")
    assert code == 2
    assert "add --force" in err
    assert Path("decisions.csv").read_text() == "precious"
    assert abstain(*BINARY, "--out", "decisions.csv", "--force")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--scores", "nothing"), 1, "no score column 'nothing'. Its columns: logit, ill"),
        (("--label", "sick"), 1, "no column 'sick'. Its columns: logit, ill"),
        (("--id", "number"), 1, "no column 'number'"),
        (("--budget", "1.5"), 2, "must be a fraction in [0, 1)"),
        (("--metric", "aurok"), 2, "Did you mean 'auroc'?"),
        (("--out", "nowhere/decisions.csv"), 2, "there is no folder nowhere"),
        (("--scale", "probabilities"), 1, "Add --scale logits if they are logits."),
        (("--calibration", "plat"), 1, "platt"),
    ],
)
def test_mistakes_are_explained(abstain, clinic, arguments, code, message):
    result, out, err = abstain(*BINARY, *arguments)
    assert (result, out) == (code, "")
    assert message in " ".join(err.split())


def test_files_that_are_wrong(abstain, clinic):
    assert abstain(*BINARY[:1], "absent.csv", *BINARY[2:])[::2] == (
        1,
        "abstain: There is no file absent.csv.\n",
    )
    Path("target.csv").write_text("logit,site\n1,N\nx,y,z\n")
    said = abstain(*BINARY)[2]
    assert "target.csv cannot be read as a table: line 3 has 3 cells, the header 2" in said
    Path("target.csv").write_text("logit\n")
    assert "target.csv has no rows" in abstain(*BINARY)[2]
    Path("target.csv").write_text("logit\n1\nhigh\n")
    assert "column 'logit' must be numbers" in abstain(*BINARY)[2]
    Path("target.csv").write_text("logit,x\n1,1\n,2\n")
    said = abstain(*BINARY)[2]
    assert "1 of 2 rows of target.csv have no score, first line 3 of target.csv" in said
    assert "Add --missing refer to give them to a person, or --missing drop" in said


def test_a_failed_run_writes_nothing(abstain, clinic):
    Path("target.csv").write_text("logit\nnan\n")
    assert abstain(*BINARY, "--out", "decisions.csv", "--policy", "triage.json")[0] == 1
    assert sorted(path.name for path in Path().iterdir()) == ["target.csv", "validation.csv"]


def test_help_and_version(abstain):
    code, out, _ = abstain("--help")
    assert code == 0
    assert "demo" in out
    for command in commands.list_commands(None):
        assert re.search("Examples?: abstain", abstain(command, "--help")[1]), command
    assert abstain("--version")[1] == f"abstain, version {__version__}\n"


def test_what_the_back_test_doubts_reaches_terminal_json_and_strict(abstain, clinic, monkeypatch):
    monkeypatch.setattr("abstain.report._trust.N_SHIFTS", 2)
    # However many of them hold is too few.
    monkeypatch.setattr("abstain.report._trust.UNLIKELY", 1.1)
    reported = (*BINARY, "--report", "report.html")
    code, out, err = abstain(*reported)
    assert code == 0
    assert "Back-test of the report: " in out
    assert "intervals held the realised value, where 90% are meant to. That is fewer" in out
    assert "Warning: Intervals are too narrow: in a back-test, " in err
    Path("report.html").unlink()
    code, out, err = abstain(*reported, "--strict", "--json")
    assert code == 1
    assert json.loads(out)["back_test"]["too_few"] is True
    assert err.endswith("abstain: stopped by --strict; nothing was written.\n")
    assert not Path("report.html").exists()


def test_the_terminal_says_what_the_rule_does_at_its_own_threshold(abstain, clinic):
    code, out, _ = abstain(*BINARY)
    assert code == 0
    assert "At the rule's own threshold, class 1 taken as positive" in out
    assert "A specificity of at least 0.9 is reached with a probability of " in out
    code, out, _ = abstain(*BINARY, "--json")
    point = json.loads(out)["operating_point"]
    assert point["asked"]["share"] == "specificity"
    low, high = point["missed"]["after"]["interval"]
    assert 0 <= low <= point["missed"]["after"]["value"] <= high
