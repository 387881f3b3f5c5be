"""The page of evidence comes out of figures as they are: commands, failures, verdicts."""

import json
from types import SimpleNamespace

import pytest
from benchmarks.proof import QUICK, _page, repeats
from benchmarks.proof import __main__ as command


def section(**more):
    """A section with two methods of which the peer wins on one row."""

    def verdict(found):
        lost = [name for name, (line, *_) in found.items() if line["peer"] < line["ours"]]
        return f"The peer is better on {', '.join(lost)}. Ours is better elsewhere."

    return SimpleNamespace(
        TITLE="A made-up section", ABOUT="Made up.", COLUMNS=("metric", "ours", "peer"),
        LOWEST=("ours", "peer"), verdict=verdict, names=lambda: ["won", "lost"],
        skipped=lambda: ["gone: no such set"], **more,
    )  # fmt: skip


def rows():
    return {
        "won": {
            "lines": [
                {"metric": "accuracy", "ours": 0.01, "peer": 0.02},
                {"metric": "auroc", "ours": 0.25, "peer": float("nan")},
            ],
            "seconds": 1.0,
            "error": "",
        },
        "lost": {
            "lines": [{"metric": "accuracy", "ours": 0.5, "peer": 0.125, "held": 12345}],
            "seconds": 2.0,
            "error": "",
        },
        "broken": {"lines": [], "seconds": 0.0, "error": "ValueError: a | b\nand more"},
    }


def facts(**more):
    kept = {"rows": rows(), "skipped": ["gone: no such set"], "seconds": 130.0}
    return {
        "date": "2031-02-03",
        "machine": _page.machine(),
        "quick": False,
        "sections": {"estimates": kept},
        **more,
    }


def made(module=None, **more):
    return _page.page(facts(**more), {"estimates": module or section()})


def line_of(text, start):
    (found,) = [line for line in text.splitlines() if line.startswith(start)]
    return found


def test_every_row_has_its_command():
    text = made()
    for name in rows():
        assert line_of(text, f"| {name} |").endswith(
            f"| `python -m benchmarks.proof estimates {name}` |"
        )


def test_the_lowest_figure_is_bold_and_what_does_not_apply_is_empty():
    text = made()
    assert "| won | accuracy | **0.0100** | 0.0200 |" in text
    assert "|  | auroc | **0.2500** |  |  |" in text
    assert "| lost | accuracy | 0.5000 | **0.1250** |" in text


def test_rows_that_failed_and_sets_that_are_missing_are_said():
    text = made()
    assert r"| broken | FAILED: ValueError: a \| b and more |" in text
    assert "Skipped: gone: no such set." in text


def test_date_machine_and_versions_are_on_top():
    text = made()
    assert "Measured on 2031-02-03 in 2.2 min" in text
    assert "numpy 2." in text or "numpy 1." in text
    assert "Made with `--quick`" not in text
    assert "Made with `--quick`" in made(quick=True)


def test_the_table_on_top_has_the_headline_or_the_first_sentence():
    assert "| A made-up section |  |  | The peer is better on lost. | 2.2 min |" in made()
    own = section(headline=lambda found: ("peer 0.1", "0.2", "behind"))
    assert "| A made-up section | peer 0.1 | 0.2 | behind | 2.2 min |" in made(own)


def test_a_verdict_that_raises_does_not_lose_the_figures():
    module = section()
    module.verdict = lambda found: 1 / 0
    text = made(module)
    assert "No verdict: ZeroDivisionError" in text
    assert "| lost | accuracy | 0.5000 |" in text


def test_all_columns_are_in_every_line():
    table = [line for line in made().splitlines() if line.startswith("| ") and "proof" in line]
    assert {line.replace(r"\|", "").count("|") for line in table} == {6}


# The command ------------------------------------------------------------------------------------


@pytest.fixture
def alone(monkeypatch):
    """Only the made-up section, measured in this process; one of its rows fails."""

    def measured(name, wanted, workers):
        for row in reversed([*wanted]):
            yield row, rows()["broken" if row == "lost" else row]

    monkeypatch.setattr(command, "_there", lambda: ["estimates"])
    monkeypatch.setattr(command, "module_of", lambda name: section())
    monkeypatch.setattr(command, "measured", measured)
    monkeypatch.setattr(command.os, "environ", {})


def test_figures_are_kept_and_make_the_same_page_again(alone, tmp_path, monkeypatch):
    kept, first, second = (tmp_path / name for name in ("f.json", "1.md", "2.md"))
    assert command.main(["--json", str(kept), "--out", str(first)]) == 1  # a row failed
    monkeypatch.setattr(command, "measured", None)
    assert command.main(["--again", str(kept), "--out", str(second)]) == 1
    assert first.read_text() == second.read_text()
    assert [*json.loads(kept.read_text())["sections"]["estimates"]["rows"]] == ["won", "lost"]
    assert "| lost | FAILED: ValueError" in first.read_text()


def test_a_section_that_was_not_kept_is_said(alone, tmp_path):
    kept = tmp_path / "f.json"
    kept.write_text(json.dumps({"sections": {"speed": {"rows": {}}}}))
    with pytest.raises(SystemExit, match="has no estimates, only speed"):
        command.main(["estimates", "--again", str(kept)])


def test_one_row_is_printed_and_no_page_written(alone, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command.main(["estimates", "won"]) == 0
    said = capsys.readouterr()
    assert "| won | accuracy |" in said.out
    assert "lost |" not in said.out
    assert "estimates won: done, 1.0 s" in said.err
    assert [*tmp_path.iterdir()] == []


def test_a_row_that_is_not_there_is_an_error_that_names_those_that_are(alone, capsys):
    with pytest.raises(SystemExit):
        command.main(["estimates", "wonn"])
    assert "no row 'wonn' in estimates; there are won, lost" in capsys.readouterr().err


def test_quick_takes_fewer_repeats(alone, tmp_path):
    assert repeats(30, 3) == 30
    command.main(["estimates", "won", "--quick", "--out", str(tmp_path / "page.md")])
    assert command.os.environ[QUICK] == "1"
    assert repeats(30, 3) == 3
