"""Folders and large files on the command line: what a table in memory gives, part by part."""

import gzip
import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from abstain import Abstainer, Policy
from abstain.cli import _archives, _parts, _streaming, _tables, _text
from abstain.datasets import screening_clinic, simulate_four_class_normal

VALIDATION, ROWS = 1_500, 4_000
CHOICE = ["--label", "y", "--metric", "accuracy", "--budget", "0.15", "--calibration", "bcts"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A validation file, a batch as one file and as a folder, and a rule."""
    folder = tmp_path_factory.mktemp("made")
    clinic = screening_clinic(VALIDATION, ROWS, random_state=0)
    chances = [1 / (1 + np.exp(-scores)) for scores in (clinic.scores_val, clinic.scores_target)]
    pq.write_table(pa.table({"p": chances[0], "y": clinic.y_val}), folder / "val.parquet")
    batch = pa.table(
        {
            "id": [f"case {k}" for k in range(ROWS)],
            "p": chances[1],
            "site": np.arange(ROWS) % 7,
        }
    )
    pq.write_table(batch, folder / "all.parquet", row_group_size=700)
    (folder / "batch").mkdir()
    for place, begin in enumerate(range(0, ROWS, 1_500)):
        part = batch.slice(begin, 1_500)
        pq.write_table(part, folder / "batch" / f"b{place}.parquet", row_group_size=400)
    fitted = Abstainer("accuracy", budget=0.15, random_state=0).fit(chances[0], clinic.y_val)
    fitted.decide(chances[1]).policy.save(folder / "rule.json")
    return folder


@pytest.fixture
def here(made, abstain, tmp_path):
    """The same files where the command runs."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Chunks and parts of few rows, so that there are many of them."""
    monkeypatch.setattr(_tables, "_MOST", 300)
    monkeypatch.setattr(_tables, "_FEWEST", 300)
    monkeypatch.setattr(_parts, "PART_ROWS", 1_000)


def read(path):
    """The rows that stand in a file or in a folder of parts, without what differs by design."""
    table = ds.dataset(path).to_table() if path.is_dir() else pq.read_table(path)
    return table.replace_schema_metadata(None)


def batch_of(folder):
    return pq.read_table(folder / "all.parquet")


APPLY = ["apply", "rule.json", "batch", "--scores", "p"]


def test_a_folder_is_decided_about_as_one_file_in_memory(here, abstain):
    code, said, noted = abstain(*APPLY, "--out", "parts")
    assert code == 0
    assert "Streaming batch" in noted
    assert "(4,000 rows" not in noted
    assert (
        abstain("apply", "rule.json", "all.parquet", "--scores", "p", "--out", "m.parquet")[0] == 0
    )
    assert read(here / "parts").equals(read(here / "m.parquet"))
    names = sorted(path.name for path in (here / "parts").glob("part-*"))
    # 1,500 rows are two parts of at most 1,000; of the third file 1,000 are one.
    assert names == [f"part-0000{k}.parquet" for k in range(5)]
    assert "Streamed 4,000 rows of 3 files." in said


@pytest.mark.parametrize("out", ["o.parquet", "o.csv.gz", "o.tsv"])
def test_one_file_out_is_what_it_is_in_memory(here, abstain, out):
    given = ["apply", "rule.json", "all.parquet", "--scores", "p", "--id", "id"]
    assert abstain(*given, "--stream", "--out", out)[0] == 0
    assert abstain(*given, "--out", f"m-{out}")[0] == 0
    if out.endswith("parquet"):
        assert read(here / out).equals(read(here / f"m-{out}"))
        return
    options = pa.csv.ParseOptions(delimiter="\t" if "tsv" in out else ",")
    streamed, whole = (pa.csv.read_csv(name, parse_options=options) for name in (out, f"m-{out}"))
    assert streamed.column_names == whole.column_names
    for name in ("id", "site", "abstain", "prediction", "policy"):
        assert streamed.column(name).equals(whole.column(name))
    # A stream is written with all digits, a table in memory with as many as are needed.
    assert np.allclose(streamed.column("p_1"), whole.column("p_1"), atol=1e-6)


@pytest.mark.parametrize("how", ["csv.gz", "decimal commas", "percent"])
def test_text_is_streamed_as_it_is_read(here, abstain, how):
    batch, out = batch_of(here), here / "text"
    out.mkdir()
    more = []
    for place, begin in enumerate((0, 2_500)):
        part = batch.slice(begin, 2_500)
        scores = part.column("p").to_pylist()
        if how == "decimal commas":
            scores = [f"{score:.15f}" for score in scores]
        if how == "percent":
            scores, more = [f"{100 * score!r}%" for score in scores], ["--percent"]
        rows = zip(part["id"].to_pylist(), scores, part["site"].to_pylist(), strict=True)
        sign = ";" if how in ("semicolons", "decimal commas") else ","
        text = f"id{sign}p{sign}site\n" + "".join(f"{a}{sign}{b}{sign}{c}\n" for a, b, c in rows)
        if how == "decimal commas":
            text = text.replace("0.", "0,")
        name = out / f"{place}.csv{'.gz' if how == 'csv.gz' else ''}"
        name.write_bytes(gzip.compress(text.encode()) if how == "csv.gz" else text.encode())
    code, _, noted = abstain("apply", "rule.json", "text", "--scores", "p", *more, "--out", "t")
    assert code == 0, noted
    if how == "decimal commas":
        assert "with decimal commas" in noted
    assert abstain(*APPLY, "--out", "parts")[0] == 0
    found, whole = read(here / "t"), read(here / "parts")
    assert np.allclose(found.column("p_1"), whole.column("p_1"), atol=1e-6)
    for name in ("row", "id", "abstain", "prediction"):
        assert found.column(name).to_pylist() == whole.column(name).to_pylist()


def test_scores_that_stop_being_plain_numbers_in_the_middle(here, abstain, monkeypatch):
    monkeypatch.setattr(_text, "BLOCKS", (1 << 12, 1 << 16))
    rows = [f"{k / 2_000:.4f}" for k in range(2_000)]
    rows[1_500] = " NA "
    (here / "b.csv").write_text("p,note\n" + "".join(f"{one},x\n" for one in rows))
    given = ["apply", "rule.json", "b.csv", "--scores", "p", "--missing", "refer"]
    assert abstain(*given, "--stream", "--out", "s.parquet")[0] == 0
    assert abstain(*given, "--out", "m.parquet")[0] == 0
    assert read(here / "s.parquet").equals(read(here / "m.parquet"))
    rows[1_700] = '"0,3"'
    (here / "b.csv").write_text("p,note\n" + "".join(f"{one},x\n" for one in rows))
    code, _, noted = abstain(*given, "--stream", "--out", "t.parquet")
    assert code == 1
    assert "Others have a decimal comma" in noted
    assert not (here / "t.parquet").exists()


def test_a_row_longer_than_a_block(here, abstain, monkeypatch):
    monkeypatch.setattr(_text, "BLOCKS", (1 << 10, 1 << 16))
    (here / "b.csv").write_text("p,note\n" + "0.3,x\n" * 500 + f"0.4,{'y' * 5_000}\n")
    given = ["apply", "rule.json", "b.csv", "--scores", "p", "--stream", "--out", "s.parquet"]
    assert abstain(*given)[0] == 0
    found = pq.read_table(here / "s.parquet")
    assert found.num_rows == 501
    assert len(found.column("note")[500].as_py()) == 5_000


@pytest.mark.parametrize("missing", ["refer", "drop"])
def test_rows_without_a_score(here, abstain, missing):
    batch = batch_of(here)
    scores = batch.column("p").to_pylist()
    for row in (5, 1_200, 3_999):
        scores[row] = None
    pq.write_table(batch.set_column(1, "p", pa.array(scores)), here / "gaps.parquet")
    given = ["apply", "rule.json", "gaps.parquet", "--scores", "p", "--missing", missing]
    code, said, noted = abstain(*given, "--stream", "--json", "--out", "s.parquet")
    assert code == 0
    _, whole, _ = abstain(*given, "--json", "--out", "m.parquet")
    assert read(here / "s.parquet").equals(read(here / "m.parquet"))
    found, whole = json.loads(said), json.loads(whole)
    for name in ("rows", "withheld", "abstention_rate", "without_score"):
        assert found[name] == whole[name]
    assert "3 of 4,000 rows" in noted


@pytest.mark.parametrize("at_most", [0, 7, 100, 250, 4_000])
@pytest.mark.parametrize("missing", ["refer", "drop"])
def test_no_more_to_a_person_than_people_can_look_at(here, abstain, at_most, missing):
    # Rounded, so that rows are as pressing as each other; and thirty without a score.
    table = batch_of(here)
    p = table.column("p").to_numpy().round(2)
    p[::133] = np.nan
    gaps = pa.array(p, from_pandas=True)
    pq.write_table(table.set_column(1, "p", gaps), here / "g.parquet", row_group_size=700)
    given = ["apply", "rule.json", "g.parquet", "--scores", "p", "--missing", missing,
             "--at-most", str(at_most), "--json"]  # fmt: skip
    code, said, noted = abstain(*given, "--stream", "--out", "s.parquet")
    assert code == 0
    whole, found = json.loads(abstain(*given, "--out", "m.parquet")[1]), json.loads(said)
    assert read(here / "s.parquet").equals(read(here / "m.parquet"))
    for name in ("rows", "withheld", "over_capacity", "abstention_rate"):
        assert found[name] == whole[name]
    assert ("more than --at-most" in noted) == (missing == "refer" and at_most < 30)
    after = (one["estimate"]["after"]["value"] for one in (found, whole))
    assert next(after) == pytest.approx(next(after), abs=0.02)


def test_rows_without_a_score_are_an_error_that_says_where(here, abstain):
    batch = batch_of(here)
    scores = [*batch.column("p").to_pylist()]
    scores[1_203] = float("nan")
    pq.write_table(batch.set_column(1, "p", pa.array(scores)), here / "gaps.parquet")
    given = ["apply", "rule.json", "gaps.parquet", "--scores", "p", "--stream", "--out", "o"]
    code, _, noted = abstain(*given)
    assert code == 1
    assert "first row 1203 of gaps.parquet" in noted
    assert "--missing refer" in noted
    assert not (here / "o").exists()


def test_run_chooses_on_a_summary_and_says_so(here, abstain):
    given = [*CHOICE, "--scores", "p", "--json"]
    code, said, _ = abstain(
        "run", "val.parquet", "batch", *given, "--out", "parts", "--policy", "p.json"
    )
    assert code == 0
    found = json.loads(said)
    whole = json.loads(abstain("run", "val.parquet", "all.parquet", *given)[1])
    assert found["streamed"]["chosen_on"] == "a summary of all rows"
    assert abs(found["withheld"] - whole["withheld"]) <= 4
    assert np.allclose(found["priors"]["target"], whole["priors"]["target"], atol=1e-4)
    after = [one["estimate"]["after"]["value"] for one in (found, whole)]
    assert after[0] == pytest.approx(after[1], abs=0.01)
    assert {*whole} <= {*found}
    policy = Policy.load(here / "p.json")
    decided = policy.apply(batch_of(here).column("p").to_numpy())
    rows = read(here / "parts")
    assert rows.column("abstain").to_pylist() == decided.abstain.tolist()
    assert rows.column("p_1").to_pylist() == decided.proba[:, 1].tolist()
    assert rows.column("row").to_pylist() == list(range(ROWS))
    assert {*rows.column("policy").to_pylist()} == {policy.sha256[:12]}
    assert found["withheld"] == int(decided.abstain.sum())


def test_many_classes_by_a_pattern(here, abstain):
    rows = simulate_four_class_normal(3_000, random_state=0)
    names = ["none", "mild", "severe", "worst"]
    table = pa.table({f"p_{name}": rows.proba[:, k] for k, name in enumerate(names)})
    table = table.append_column("y", pa.array(np.array(names)[rows.y]))
    pq.write_table(table.slice(0, 1_000), here / "v.parquet")
    (here / "four").mkdir()
    pq.write_table(table.slice(1_000, 900), here / "four" / "a.parquet")
    # In another order of columns, which changes nothing.
    turned = table.slice(1_900).select(table.column_names[::-1])
    pq.write_table(turned, here / "four" / "b.parquet")
    code, _, noted = abstain("run", "v.parquet", "four", *CHOICE, "--out", "parts",
                             "--policy", "r.json")  # fmt: skip
    assert code == 0, noted
    found = read(here / "parts")
    decided = Policy.load(here / "r.json").apply(table.slice(1_000).select(range(4)))
    assert found.column("prediction").to_pylist() == decided.prediction.tolist()
    assert found.column("abstain").to_pylist() == decided.abstain.tolist()
    assert found.column("y").to_pylist() == table.slice(1_000).column("y").to_pylist()


def test_the_manifest_and_what_is_kept_of_the_run(here, abstain):
    assert abstain(*APPLY, "--id", "id", "--out", "parts")[0] == 0
    manifest = json.loads((here / "parts" / "_manifest.json").read_text("utf-8"))
    assert [one["rows"] for one in manifest["inputs"][1:]] == [1_500, 1_500, 1_000]
    assert [one["rows"] for one in manifest["parts"]] == [1_000, 500, 1_000, 500, 1_000]
    assert manifest["policy"] == Policy.load(here / "rule.json").sha256
    assert not [*(here / "parts").glob(".*")]
    said = pq.read_schema(here / "parts" / "part-00000.parquet").metadata[b"abstain"]
    assert json.loads(said) == {"policy": manifest["policy"]}


def test_without_out_nothing_is_written_and_everything_is_counted(here, abstain):
    before = {*here.iterdir()}
    code, said, _ = abstain(*APPLY, "--json")
    assert code == 0
    whole = abstain("apply", "rule.json", "all.parquet", "--scores", "p", "--json")[1]
    assert json.loads(said)["withheld"] == json.loads(whole)["withheld"]
    assert {*here.iterdir()} == before


def test_a_file_above_the_limit_is_streamed(here, abstain, monkeypatch):
    given = ["apply", "rule.json", "all.parquet", "--scores", "p"]
    assert "Streaming" not in abstain(*given)[2]
    monkeypatch.setattr(_streaming, "FASTER_BYTES", 10_000)
    assert "Streaming" in abstain(*given)[2]
    assert "Streaming" not in abstain(*given, "--no-stream")[2]
    assert "Streaming" in abstain("apply", "rule.json", "batch/*.parquet", "--scores", "p")[2]
    # What takes all rows at once has them as long as they fit.
    assert "Streaming" not in abstain(*given, "--out", "o.csv", "--sort", "pressing")[2]
    monkeypatch.setattr(_streaming, "MOST_BYTES", 20_000)
    assert abstain(*given, "--out", "p.csv", "--sort", "pressing")[0] == 2


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--sort", "pressing"], "--sort pressing takes all rows"),
        (["--out", "o.xlsx"], "Cannot stream into the workbook"),
        (["--no-stream"], "--no-stream is for files"),
        (["--out", "batch/o.parquet"], "it is in the folder batch"),
        (["--out", "batch"], "it is in the folder batch"),
        (["--out", "."], "or holds it"),
        (["--out", "rule.json"], "its name must end in"),
    ],
)
def test_what_cannot_be_streamed_is_refused(here, abstain, more, said):
    code, _, noted = abstain(*APPLY, *more)
    assert code == 2
    assert said in noted


@pytest.mark.parametrize("more", [["--report", "r.html"], ["--known-labels", "site"]])
def test_run_refuses_what_takes_all_rows(here, abstain, more):
    code, _, noted = abstain("run", "val.parquet", "batch", "--scores", "p", *CHOICE, *more)
    assert code == 2
    assert f"{more[0]} takes all rows in memory at once" in noted


def damage(path):
    data = bytearray(path.read_bytes())
    # In the pages, not in the footer that names them.
    data[200:4_000] = bytes(3_800)
    path.write_bytes(bytes(data))


BAD = {
    "no column": (
        lambda path: pq.write_table(pq.read_table(path).drop_columns("p"), path),
        "b1.parquet has no column 'p'",
    ),
    "no other column": (
        lambda path: pq.write_table(pq.read_table(path).drop_columns("site"), path),
        "b1.parquet has no column 'site'",
    ),
    "another kind": (
        lambda path: pq.write_table(
            pq.read_table(path).set_column(2, "site", pa.array(["x"] * 1_500)), path
        ),
        "do not fit together",
    ),
    "no numbers": (
        lambda path: pq.write_table(
            pq.read_table(path).set_column(1, "p", pa.array(["x"] * 1_500)), path
        ),
        "column 'p' must be numbers; row 0 of batch/b1.parquet, counted from 0 has 'x'",
    ),
    "no probabilities": (
        lambda path: pq.write_table(
            pq.read_table(path).set_column(1, "p", pa.array(np.arange(1_500) / 9)), path
        ),
        "probabilities lie within 0 to 1",
    ),
    "damaged": (damage, "b1.parquet cannot be read as a table"),
    "no Parquet": (lambda path: path.write_bytes(b"nonsense"), "b1.parquet cannot be read"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_part_is_named_and_nothing_is_written(here, abstain, what):
    spoil, said = BAD[what]
    spoil(here / "batch" / "b1.parquet")
    code, _, noted = abstain(*APPLY, "--out", "parts")
    assert code == 1
    assert said in noted
    assert not (here / "parts").exists()


def test_types_that_differ_are_brought_together_and_empty_files_are_parts(here, abstain):
    path = here / "batch" / "b1.parquet"
    table = pq.read_table(path)
    narrow = table.set_column(2, "site", table.column("site").cast(pa.int16()))
    pq.write_table(narrow.set_column(1, "p", table.column("p").cast(pa.float32())), path)
    pq.write_table(table.slice(0, 0), here / "batch" / "b0a.parquet")
    assert abstain(*APPLY, "--out", "parts")[0] == 0
    assert abstain(*APPLY[:2], "batch/*.parquet", *APPLY[3:], "--out", "m.parquet")[0] == 0
    found, whole = read(here / "parts"), read(here / "m.parquet")
    assert found.equals(whole)
    empty = pq.read_table(here / "parts" / "part-00002.parquet")
    assert empty.num_rows == 0
    assert empty.schema.field("site").type == pa.int64()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("quote.csv", 'p,note\n0.3,"open\n' + "0.2,x\n" * 900, "a quote is not closed"),
        ("ragged.csv", "p,note\n" + "0.3,x\n" * 900 + "0.3\n", "line 902 has 1 cells"),
        ("word.csv", "p,note\n" + "0.3,x\n" * 900 + "abc,x\n", "line 902 of word.csv has 'abc'"),
        ("percent.csv", "p,note\n" + "3%,x\n" * 900, "Add --percent"),
        ("header.csv", "p,note\n", "has no rows"),
        ("bomb.csv.gz", gzip.compress(b"p\n" + b"0\n" * (1 << 19)), "200 times its size"),
    ],
)
def test_hostile_text_gets_the_same_clear_error(here, abstain, monkeypatch, name, content, said):
    monkeypatch.setattr(_text, "BLOCKS", (1 << 12, 1 << 20))
    monkeypatch.setattr(_archives, "_ENOUGH", 1 << 16)
    path = here / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    code, _, noted = abstain(
        "apply", "rule.json", name, "--scores", "p", "--stream", "--out", "o.parquet"
    )
    assert code == 1
    assert said in noted
    assert not (here / "o.parquet").exists()


def test_a_folder_without_tables(here, abstain):
    (here / "none").mkdir()
    (here / "none" / "_hidden.csv").write_text("p\n0.1\n")
    code, _, noted = abstain("apply", "rule.json", "none", "--scores", "p")
    assert code == 1
    assert "none is a folder without a table" in noted


def test_a_workbook_is_not_streamed(here, abstain):
    (here / "b.xlsx").write_bytes(b"PK\x03\x04")
    code, _, noted = abstain("apply", "rule.json", "b.xlsx", "--scores", "p", "--stream")
    assert code == 1
    assert "read whole or not at all" in noted


def test_strict_writes_nothing(here, abstain):
    table = pq.read_table(here / "all.parquet")
    # Rows that the rule was not made for: it withholds far more of them than its budget.
    ambiguous = pa.array(np.linspace(0.3, 0.7, ROWS))
    pq.write_table(table.set_column(1, "p", ambiguous), here / "other.parquet")
    code, said, noted = abstain(
        "apply", "rule.json", "other.parquet", "--scores", "p", "--stream", "--strict",
        "--out", "parts",
    )  # fmt: skip
    assert code == 1
    assert "stopped by --strict; nothing was written" in noted
    assert "Withheld" in said
    assert not (here / "parts").exists()
