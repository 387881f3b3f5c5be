"""Files as people have them: separators, decimal commas, encodings, percentages, Excel."""

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from abstain.cli._predictions import read_predictions
from abstain.cli._reading import Columns, Reading
from abstain.datasets import screening_clinic

from .tables import write_columns

RUN = (
    "--label", "ill", "--calibration", "platt", "--metric", "auroc", "--budget", "10%",
    "--scores", "p", "--json",
)  # fmt: skip


@pytest.fixture(scope="module")
def clinic():
    return screening_clinic(300, 200, random_state=0)


@pytest.fixture
def tables(abstain, clinic):
    """Write the two tables in a way of one's own: ``write(form, encoding, separator)``."""

    def write(form="{:.6f}".format, encoding="utf-8", separator=",", ending="csv"):
        for name, logits, labels in (
            ("v", clinic.scores_val, clinic.y_val),
            ("t", clinic.scores_target, None),
        ):
            header = ["id", "Größe", "p"] + ([] if labels is None else ["ill"])
            with open(f"{name}.{ending}", "w", encoding=encoding, newline="") as file:
                writer = csv.writer(file, delimiter=separator)
                writer.writerow(header)
                for row, p in enumerate(1 / (1 + np.exp(-logits))):
                    label = [] if labels is None else [labels[row]]
                    writer.writerow([f"{row:04d}", "müde", form(p), *label])

    return write


def run(abstain, *arguments, files=("v.csv", "t.csv")):
    code, out, err = abstain("run", *files, *RUN, *arguments)
    assert code == 0, err
    return json.loads(out), err


def refused(abstain, *arguments, files=("v.csv", "t.csv")):
    code, out, err = abstain("run", *files, *RUN, *arguments)
    assert (code, out) == (1, "")
    return err


def comma(p):
    return f"{p:.6f}".replace(".", ",")


def test_separators_commas_and_encodings_are_told_from_the_file(abstain, tables):
    tables()
    usual, err = run(abstain)
    assert err == ""
    tables(comma, "windows-1252", ";")
    found, err = run(abstain)
    assert found == usual
    for name in ("v", "t"):
        said = f"Read {name}.csv as windows-1252, separated by semicolons, with decimal commas.\n"
        assert said in err
    tables(encoding="utf-16", separator="\t")
    found, err = run(abstain)
    assert (found, "Read t.csv as utf-16, separated by tabs." in err) == (usual, True)
    tables(encoding="utf-8-sig", separator="|")
    found, err = run(abstain)
    assert (found, "Read t.csv as separated by pipes." in err) == (usual, True)
    tables(comma, encoding="utf-16-le", separator=";")
    assert "If it is that, add --encoding utf-16-le" in refused(abstain)
    assert run(abstain, "--encoding", "utf-16-le")[0] == usual


def test_the_carried_columns_keep_their_umlauts(abstain, tables):
    tables(comma, "windows-1252", ";")
    run(abstain, "--id", "id", "--out", "d.csv")
    with open("d.csv", encoding="utf-8", newline="") as file:
        first = next(csv.DictReader(file))
    assert (first["id"], first["Größe"]) == ("0000", "müde")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a;b,p;y\n1;2,3;4\n", "separated by comma or semicolon. Say which with --separator"),
        ("a,p\n1,2\n1,2,3\n", "line 3 has 3 cells, the header 2 (separated by commas)"),
        ("a,p,a, p\n1,2,3,4\n", "more than one column called a, p. Rename all but one."),
        ("1,0.5\n0,0.25\n", "has no header: its first line is 1, 0.5"),
        ("", "t.csv is empty"),
    ],
)
def test_what_cannot_be_told_is_asked(abstain, tables, text, message):
    tables()
    Path("t.csv").write_text(text)
    assert message in refused(abstain)


def test_a_given_separator_is_taken(abstain):
    Path("t.csv").write_text("a;b,p;y\n1;2,3;4\n")
    for given in ("semicolon", ";"):
        code, _, err = abstain("shift", "t.csv", "t.csv", "--separator", given)
        assert code == 1
        assert "Its columns: a, b,p, y." in err
    assert abstain("shift", "t.csv", "t.csv", "--separator", "ab")[0] == 2
    assert abstain("shift", "t.csv", "t.csv", "--encoding", "klingon")[0] == 2


def scores_in(text, **said):
    Path("t.csv").write_bytes(text.encode())
    rows = read_predictions(Path("t.csv"), Columns("p"), Reading(**said))
    return rows.scores.column(0).to_pylist()


def test_lines_that_are_no_rows(abstain):
    assert scores_in("sep=;\n\n id ; p \n1;0.5\n\n2;0.25\n\n") == [0.5, 0.25]
    assert scores_in("p\n0,5\n0,25\n\n") == [0.5, 0.25]
    assert scores_in("id,p\r\n1, 0.5\r\n2 ,0.25 \r\n") == [0.5, 0.25]
    with pytest.raises(ValueError, match=r"1 of 3 rows of t.csv have no score, first line 3 of"):
        scores_in("p\n0.5\n\n0.25\n")


def test_decimal_commas_are_read_where_they_can_be_nothing_else(abstain):
    assert scores_in("id;p\n1;0,136\n2;-1,5\n3;1\n") == [0.136, -1.5, 1.0]
    assert scores_in('id,p\n1,"0,136"\n') == [0.136]
    assert scores_in("id;p\n1;1,234\n", decimal=",") == [1.234]
    for text, said, message in (
        ("id;p\n1;1,234\n2;2,000\n", {}, "has '1,234' in line 2 of t.csv, where the comma may"),
        ("id;p\n1;1.234,5\n2;0,5\n", {}, "line 2 of t.csv has '1.234,5'. Thousands separators"),
        ("id;p\n1;0,5\n2;0.5\n", {}, "line 3 of t.csv has '0.5'. Others have a decimal comma"),
        ("id;p\n1;1.234\n", {"decimal": ","}, "line 2 of t.csv has '1.234'"),
        ("id;p\n1;0,5\n", {"decimal": "."}, "line 2 of t.csv has '0,5'. Thousands separators"),
        ('id,p\n1,"a\nb"\n2,x\n', {}, "line 2 of t.csv has 'a\\nb'"),
    ):
        with pytest.raises(ValueError, match=r"column 'p'") as caught:
            scores_in(text, **said)
        assert message in str(caught.value)


def test_percentages_are_asked_about(abstain, tables):
    tables()
    usual, _ = run(abstain)
    for form in ("{:.4%}".format, lambda p: f"{100 * p:.4f}"):
        tables(form)
        said = refused(abstain)
        assert "Add --percent" in said
        assert "column 'p'" in said
        found, _ = run(abstain, "--percent")
        after = found["estimate"]["after"]["value"]
        assert after == pytest.approx(usual["estimate"]["after"]["value"], abs=1e-4)
    said = refused(abstain)
    assert "holds numbers from 0" in said
    assert "Add --percent if they are percentages, or --scale logits if they are logits." in said
    assert abstain("run", "v.csv", "t.csv", *RUN, "--percent", "--scale", "logits")[0] == 2
    run(abstain, "--percent", "--policy", "rule.json")
    code, _, err = abstain("apply", "rule.json", "t.csv", "--scores", "p")
    assert code == 1
    assert "Add --percent if they are percentages. The rule was made on probabilities" in err
    assert abstain("apply", "rule.json", "t.csv", "--scores", "p", "--percent")[0] == 0


def test_percentages_that_are_none(abstain):
    for text, message in (
        ("id,p\n1,13.6%\n2,0.5\n", "line 3 of t.csv has '0.5'. Others have a %"),
        ("id,p\n1,0.5\n2,1\n", "is above 1 (the highest is 1), so it seems to hold fractions"),
        ("id,p\n1,13.6\n2,100.5\n", "within 0 to 100 for --percent; line 3 of t.csv has 100.5"),
    ):
        with pytest.raises(ValueError, match="column 'p'") as caught:
            scores_in(text, percent=True)
        assert message in str(caught.value)
    assert scores_in("id;p\n1;13,6 %\n", percent=True) == [0.136]
    assert scores_in("id,p\n1,0.5%\n", percent=True) == [0.005]
    Path("t.csv").write_text("p_rare,p_common\n0.5,99.5\n0,100\n")
    rows = read_predictions(Path("t.csv"), Columns("p_*"), Reading(percent=True))
    assert rows.scores.column("p_rare").to_pylist() == [0.005, 0.0]


@pytest.mark.parametrize(
    ("text", "number"), [("15%", 0.15), ("15 %", 0.15), ("0.15", 0.15), ("7.5%", 0.075)]
)
def test_fractions_may_be_percentages(abstain, tables, text, number):
    tables()
    found, _ = run(abstain, "--budget", text, "--level", "90%")
    assert found["withheld"] == int(200 * number)
    assert found["estimate"]["after"]["level"] == 0.9


def test_newlines_in_cells_beyond_the_first_megabyte(abstain):
    with open("t.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["note", "p"])
        for row in range(3_000):
            writer.writerow(["a line\n" * 200 + '"quoted", twice', row / 3_000])
    rows = read_predictions(Path("t.csv"), Columns("p"), others=True)
    assert rows.scores.num_rows == 3_000
    assert rows.scores.column(0)[2_999].as_py() == pytest.approx(2_999 / 3_000)
    assert rows.others.column("note")[2_999].as_py().count("\n") == 200


def test_thousands_of_columns(abstain, tables, clinic):
    wide = {f"feature_{number:04d}": np.arange(200) for number in range(5_000)}
    write_columns(Path("t.csv"), wide | {"p": 1 / (1 + np.exp(-clinic.scores_target))})
    write_columns(Path("v.csv"), {"p": 1 / (1 + np.exp(-clinic.scores_val)), "ill": clinic.y_val})
    run(abstain, "--out", "d.csv")
    with open("d.csv", newline="") as file:
        assert len(next(csv.reader(file))) > 5_000
    said = refused(abstain, "--id", "nothing")
    assert "feature_0011 and 4,989 more" in said
    assert len(said) < 1_000


def test_labels_stay_as_they_are_written(abstain, clinic):
    p = 1 / (1 + np.exp(-clinic.scores_val))
    run = ("run", "v.csv", "v.csv", "--metric", "accuracy", "--budget", "0.1", "--json")
    for names in (("001", "002"), ("false", "true"), ("False", "True")):
        columns = {f"p_{names[0]}": 1 - p, f"p_{names[1]}": p}
        write_columns(Path("v.csv"), columns | {"y": np.array(names)[clinic.y_val]})
        code, out, err = abstain(*run, "--calibration", "platt")
        assert code == 0, err
        assert json.loads(out)["classes"] == list(names)
    write_columns(Path("v.csv"), {"p_ill": p, "y": clinic.y_val.astype(bool)})
    code, out, err = abstain(*run, "--scores", "p_ill")
    assert (code, json.loads(out)["classes"]) == (0, [False, True])


def test_files_under_a_wrong_name(abstain, tables):
    tables()
    parquet.write_table(pa.table({"p": [0.5]}), "t.csv")
    assert "t.csv is Parquet; its name must end in .parquet." in refused(abstain)
    Path("t.csv").write_bytes(gzip.compress(b"p\n0.5\n"))
    assert "its name must end in .gz" in refused(abstain)
    Path("t.csv").write_bytes(b"PK\x03\x04")
    assert "its name must end in .xlsx" in refused(abstain)
    Path("t.xls").write_bytes(b"")
    assert "save it as .xlsx or CSV" in refused(abstain, files=("v.csv", "t.xls"))


def test_labels_of_many_digits_are_names(abstain, tables):
    long = ("98765432109876543210", "98765432109876543211")
    rows = [f"{k % 2 * 0.6 + 0.2},{1 - k % 2 * 0.6 - 0.2:.1f},{long[k % 2]}" for k in range(40)]
    Path("t.csv").write_text(f"p_{long[1]},p_{long[0]},y\n" + "\n".join(rows) + "\n")
    found = read_predictions(Path("t.csv"), Columns("p_*", label="y"))
    assert sorted({*found.labels.tolist()}) == [*long]
    Path("t.csv").write_text("p,y\n0.2,1e300\n0.3,2\n")
    assert read_predictions(Path("t.csv"), Columns("p", label="y")).labels.tolist() == [1e300, 2]
