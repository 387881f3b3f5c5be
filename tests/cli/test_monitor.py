"""``abstain monitor``: one file or many, alarms told once, labels late, and what goes wrong."""

import gzip
import json
import threading
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import chain

import numpy as np
import pytest
from tests.cli.tables import write_columns

from abstain import Abstainer
from abstain.cli import run_command
from abstain.datasets import screening_clinic
from abstain.monitoring import Monitor

CLINIC = screening_clinic(2_000, 6_000, random_state=0)
POLICY = (
    Abstainer(
        "sensitivity@specificity=0.9", budget=0.1, calibration="platt", scale="logits",
        random_state=0,
    )
    .fit(CLINIC.scores_val, CLINIC.y_val)
    .decide(CLINIC.scores_target)
    .policy
)  # fmt: skip
HEALTHY = np.flatnonzero(CLINIC.y_target == 0)
FIRST = datetime(2026, 3, 1)


@pytest.fixture
def abstain(capsys, tmp_path, monkeypatch):
    """Run a command in a folder that has the rule; return its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    POLICY.save(tmp_path / "triage.json")

    def run(*arguments):
        common = ["monitor", "triage.json", "--scores", "p_ill"]
        code = run_command([*common, *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


def rows_of(day, *, quiet=True, n=300, labels="none"):
    """Return the columns of a day: scores, times in order, and labels."""
    rows = np.arange(n * day, n * (day + 1)) % 6_000
    rows = rows if quiet else HEALTHY[rows % len(HEALTHY)]
    times = [(FIRST + timedelta(days=day, seconds=250 * k)).isoformat() for k in range(n)]
    truth = CLINIC.y_target[rows].astype(str).tolist()
    given = {"all": truth, "none": [""] * n, "wrong": [str(1 - int(y)) for y in truth]}[labels]
    return {"p_ill": CLINIC.scores_target[rows].tolist(), "at": times, "ill": given}


def joined(*parts):
    return {name: [*chain.from_iterable(part[name] for part in parts)] for name in parts[0]}


def lines(out, event):
    found = [json.loads(line) for line in out.splitlines()]
    return [one for one in found if one.pop("event") == event]


DAILY = ("--time", "at", "--every", "day")


def test_a_folder_that_grows_is_as_good_as_one_file(abstain, tmp_path):
    whole, folder = tmp_path / "whole.csv", tmp_path / "inbox"
    folder.mkdir()
    days = [rows_of(k, quiet=k < 4, labels="all" if k % 2 else "none") for k in range(7)]
    write_columns(whole, joined(*days))
    options = (*DAILY, "--label", "ill", "--json", "--floor", "0.2")
    code, out, _ = abstain(whole, *options)
    assert code == 0
    expected = lines(out, "chunk")
    assert [one["name"] for one in expected] == [f"2026-03-0{k}" for k in range(1, 8)]
    assert [one["realised"] is None for one in expected] == [True, False] * 3 + [True]
    got = []
    for k, day in enumerate(days):
        # Each file begins with the end of the day before.
        before = {name: values[-50:] for name, values in days[k - 1].items()}
        own = {name: values[: len(values) - 50 * (k < 6)] for name, values in day.items()}
        write_columns(folder / f"{k}.csv", own if k == 0 else joined(before, own))
        settings = options if k == 0 else ("--label", "ill", "--json", "--time", "at")
        code, out, _ = abstain(folder, *settings, "--state", "monitor.json")
        assert code == 0
        got += lines(out, "chunk")
    code, out, _ = abstain("--state", "monitor.json", "--close", "--json", "--strict")
    assert code == 1
    assert got + lines(out, "chunk") == expected
    assert "proportions" in {one["kind"] for one in lines(out, "alarm")}
    by_hand = Monitor.load("monitor.json", POLICY)
    assert [one.kind for one in by_hand.alarms] == [one["kind"] for one in lines(out, "alarm")]


def test_the_realised_metric_is_that_of_the_rows(abstain, tmp_path):
    write_columns(tmp_path / "day.csv", rows_of(0, labels="all"))
    _, out, _ = abstain("day.csv", "--label", "ill", "--json")
    (chunk,) = lines(out, "chunk")
    monitor = Monitor(POLICY)
    monitor.add(CLINIC.scores_target[:300], name="day")
    rows = monitor.label("day", CLINIC.scores_target[:300], CLINIC.y_target[:300]).realised
    assert chunk["realised"]["rows"] == rows.rows == 300
    assert chunk["realised"]["after"] == pytest.approx(rows.after, abs=0.01)
    assert chunk["name"] == "day"


def test_a_file_that_grew_is_read_on_and_one_that_shrank_is_refused(abstain, tmp_path):
    file = tmp_path / "log.csv"
    write_columns(file, rows_of(0))
    assert abstain(file, *DAILY, "--state", "s.json")[0] == 0
    write_columns(file, joined(rows_of(0), rows_of(1)))
    code, out, err = abstain(file, "--time", "at", "--state", "s.json", "--json")
    assert code == 0
    assert [(one["name"], one["rows"]) for one in lines(out, "chunk")] == [("2026-03-01", 300)]
    assert "300 rows wait for the chunk" in err
    assert not lines(abstain(file, "--time", "at", "--state", "s.json", "--json")[1], "chunk")
    write_columns(file, rows_of(0, n=20))
    code, _, err = abstain(file, "--time", "at", "--state", "s.json")
    assert code == 1
    assert "is shorter than when it was read" in err


def test_labels_come_late_and_are_corrected(abstain, tmp_path):
    write_columns(tmp_path / "all.csv", joined(*[rows_of(k) for k in range(3)]))
    state = (*DAILY[:2], "--state", "s.json", "--json", "--label", "ill")
    abstain("all.csv", *DAILY, "--state", "s.json")
    write_columns(
        tmp_path / "wrong.csv", joined(rows_of(1, labels="wrong"), rows_of(2, labels="all"))
    )
    code, out, err = abstain(*state, "--labelled", "wrong.csv")
    assert code == 0
    assert [one["kind"] for one in lines(out, "alarm")] == ["labels"]
    assert [one["name"] for one in lines(out, "chunk")] == ["2026-03-02"]
    assert "300 labels are of no complete chunk, first of 2026-03-03" in err
    write_columns(tmp_path / "right.csv", rows_of(1, labels="all"))
    code, out, _ = abstain(*state, "--labelled", "right.csv")
    assert not lines(out, "alarm")
    assert lines(out, "chunk")[0]["realised"]["rows"] == 300


def test_chunks_that_are_files_have_their_names_and_labels_by_name(abstain, tmp_path):
    for k in range(2):
        with gzip.open(tmp_path / f"day-{k}.csv.gz", "wt") as file:
            write_columns(tmp_path / "one.csv", rows_of(k))
            file.write((tmp_path / "one.csv").read_text())
    write_columns(tmp_path / "none.csv", {"p_ill": [], "ill": []})
    code, out, _ = abstain("day-*.csv.gz", "none.csv", "--json", "--state", "s.json")
    chunks = lines(out, "chunk")
    assert code == 0
    assert [(one["name"], one["rows"]) for one in chunks] == [
        ("day-0", 300), ("day-1", 300), ("none", 0),
    ]  # fmt: skip
    (tmp_path / "later").mkdir()
    write_columns(tmp_path / "later" / "day-1.csv", rows_of(1, labels="all"))
    code, out, _ = abstain("--labelled", "later", "--label", "ill", "--state", "s.json", "--json")
    assert [one["name"] for one in lines(out, "chunk")] == ["day-1"]


def test_so_many_rows_gaps_and_chunks_of_one_class(abstain, tmp_path):
    day = rows_of(0, n=500)
    day["p_ill"][:10] = [None] * 10
    write_columns(tmp_path / "a.csv", day)
    code, out, _ = abstain("a.csv", "--every", "200 rows", "--missing", "refer", "--json")
    chunks = lines(out, "chunk")
    assert [(one["rows"], one["missing"]) for one in chunks] == [(190, 10), (200, 0), (100, 0)]
    assert abstain("a.csv")[0] == 1  # and rows without a score are said
    one_class = {"p_ill": CLINIC.scores_target[HEALTHY[:400]].tolist(), "ill": ["0"] * 400}
    write_columns(tmp_path / "b.csv", one_class)
    code, out, _ = abstain("b.csv", "--label", "ill", "--json")
    assert code == 0
    assert lines(out, "chunk")[0]["realised"] == {
        "rows": 400, "before": None, "after": None, "order": 0
    }  # fmt: skip


def test_missing_days_zones_and_late_rows(abstain, tmp_path):
    write_columns(tmp_path / "a.csv", joined(rows_of(0), rows_of(3)))
    zoned = rows_of(2, n=200)
    zoned["at"] = [f"{one}+09:00" for one in zoned["at"]]
    write_columns(tmp_path / "b.csv", zoned)
    code, out, err = abstain("a.csv", "b.csv", *DAILY, "--json")
    assert code == 1
    assert "times with a zone here, and times without one before" in err
    late = rows_of(0, n=50)
    write_columns(tmp_path / "c.csv", late)
    code, out, _ = abstain("a.csv", "c.csv", *DAILY, "--json")
    assert [one["name"] for one in lines(out, "chunk")] == [
        "2026-03-01", "2026-03-01 (late)", "2026-03-04",
    ]  # fmt: skip
    code, out, _ = abstain("b.csv", *DAILY, "--json")
    # The first nine hours of it are the day before in UTC.
    assert [one["name"] for one in lines(out, "chunk")] == ["2026-03-02", "2026-03-03"]


class Heard(BaseHTTPRequestHandler):
    """Keeps what is posted."""

    bodies, code = [], 200

    def do_POST(self):
        type(self).bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.code)
        if self.code == 302:
            self.send_header("Location", "http://127.0.0.1:1/else")
        self.end_headers()

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def hook():
    Heard.bodies, Heard.code = [], 200
    server = HTTPServer(("127.0.0.1", 0), Heard)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/secret"
    server.shutdown()
    server.server_close()
    thread.join()


def test_new_alarms_are_posted_once_and_again_where_that_failed(abstain, tmp_path, hook):
    write_columns(tmp_path / "a.csv", joined(*[rows_of(k, quiet=False) for k in range(5)]))
    state = ("--state", "s.json", "--webhook", hook)
    for code, said in ((500, "could not be told: Internal Server Error"), (302, "Found")):
        Heard.code = code
        exit_code, _, err = abstain("a.csv", *DAILY, *state, "--close")
        assert exit_code == 1
        assert said in err
        assert "secret" not in err
        assert len(Monitor.load("s.json", POLICY).chunks) == 5
    Heard.code = 200
    assert abstain(*state)[0] == 0
    assert abstain(*state)[0] == 0
    assert len(Heard.bodies) == 3
    told = Heard.bodies[-1]
    assert told["policy"] == POLICY.sha256
    assert "proportions" in {one["kind"] for one in told["alarms"]}
    assert "Raised at" in told["text"]
    exit_code, out, _ = abstain("--state", "s.json", "--acknowledge", "all", "--strict", "--json")
    assert (exit_code, lines(out, "alarm")) == (0, [])
    # An address where nobody listens is an answer, too, and no wait.
    write_columns(tmp_path / "b.csv", joined(*[rows_of(k, quiet=False) for k in range(5, 9)]))
    exit_code, _, err = abstain(
        "b.csv",
        "--time",
        "at",
        "--state",
        "s.json",
        "--close",
        "--webhook",
        "http://127.0.0.1:9/x",
    )
    assert exit_code == 1
    assert "The next run will try again" in err


def test_the_page_stands_beside_the_state_and_is_replaced(abstain, tmp_path):
    write_columns(tmp_path / "a.csv", joined(*[rows_of(k) for k in range(3)]))
    for _ in range(2):
        code, out, err = abstain("a.csv", *DAILY, "--state", "s.json", "--report", "page.html")
        assert code == 0
    assert "no alarm" in out
    assert "Wrote the page to page.html" in err
    assert "2026-03-02" in (tmp_path / "page.html").read_text("utf-8")


def test_what_cannot_be_is_refused_before_anything_is_read(abstain, tmp_path):
    write_columns(tmp_path / "a.csv", rows_of(0))
    abstain("a.csv", *DAILY, "--state", "s.json")
    kept = (tmp_path / "s.json").read_bytes()
    for arguments, code, said in (
        ((), 2, "Name a BATCH, or the --state"),
        (("a.csv", "--every", "fortnight"), 1, "--every must be month, week, day, hour"),
        (("a.csv", "--every", "day"), 1, "--time is needed to cut the stream by day"),
        (("a.csv", "--time", "when"), 1, "when"),
        (("a.csv", "--webhook", "file:///etc/passwd"), 2, "must be an address"),
        (("a.csv", "--report", "a.csv"), 2, "must end in .html"),
        (("a.csv", "--state", "a.csv"), 2, "it is read as"),
        (("a.csv", "--acknowledge", "all"), 2, "--acknowledge needs"),
        (("a.csv", "--state", "s.json", "--every", "week"), 2, "was begun with another --every"),
        (("--state", "s.json", "--acknowledge", "weather"), 1, "must be of proportions"),
        (("--state", "s.json", "--labelled", "a.csv"), 1, "--labelled needs --label"),
        (
            ("--state", "s.json", "--labelled", "a.csv", "--label", "ill"),
            1,
            "needs chunks by time",
        ),
        (("a.csv", "--label", "at"), 1, "are none of the rule's classes"),
        (("a.csv", "--time", "p_ill"), 1, "is none"),
    ):
        found, _, err = abstain(*arguments)
        assert found == code, (arguments, err)
        assert said in err, (arguments, err)
    assert (tmp_path / "s.json").read_bytes() == kept


def test_a_large_file_that_is_not_in_order_is_said_to_be_so(abstain, tmp_path, monkeypatch):
    monkeypatch.setattr("abstain.cli._tables._MOST", 600)
    monkeypatch.setattr("abstain.cli._tables._FEWEST", 300)
    days = [rows_of(k) for k in (4, 3, 2, 1, 0)]
    write_columns(tmp_path / "a.parquet", joined(*days))
    code, _, err = abstain("a.parquet", *DAILY)
    assert code == 1
    assert "is not in the order of its column 'at'" in err
    write_columns(tmp_path / "b.parquet", joined(*days[::-1]))
    assert abstain("b.parquet", *DAILY)[0] == 0
