"""Methods side by side, and the renderings of a table."""

import csv
import io
import json

import numpy as np
import pytest

from abstain.datasets import screening_clinic
from abstain.evaluation import Cell, Dataset, ResultTable, compare

OPTIONS = {"calibration": "platt", "random_state": 0}


@pytest.fixture(scope="module")
def data():
    clinic = screening_clinic(600, 800, random_state=0)
    rng = np.random.default_rng(0)
    return Dataset(
        clinic.scores_val,
        clinic.y_val,
        clinic.scores_target,
        clinic.y_target,
        scale="logits",
        samples_target=clinic.scores_target + rng.normal(size=(5, 800)),
    )


@pytest.fixture(scope="module")
def table(data):
    methods = ["delta-metric", "max-probability", "random", "dropout-variance"]
    return compare(methods, {"clinic": data}, "auroc", [0.3, 0.1], repeats=8, **OPTIONS)


def test_what_is_made_for_the_metric_wins(table):
    assert table.row_names == ("method",)
    found = {(cell.row[0], cell.column[1]): cell for cell in table.cells}
    assert len(found) == 4 * 3
    assert len(found["random", "@30%"].values) == 8
    assert found["delta-metric", "@30%"].best
    assert not found["random", "@30%"].best
    assert not found["delta-metric", "base"].best
    # All methods see the same resamples.
    assert found["delta-metric", "base"].values == found["random", "base"].values
    assert found["delta-metric", "@30%"].mean > found["random", "@30%"].mean


def test_a_seed_repeats_and_methods_of_ones_own(data):
    methods = {
        "mine": lambda proba: -np.abs(proba[:, 1] - 0.2),
        "other": {"score": "entropy", "shift": "none", "calibration": "temperature"},
    }
    first, again = (compare(methods, data, "auroc", [0.2], repeats=2, **OPTIONS) for _ in range(2))
    assert first == again
    assert [cell.row[0] for cell in first.cells] == ["mine", "mine", "other", "other"]


def test_simulated_proportions(data):
    table = compare(
        ["delta-metric"], data, "accuracy", [0.1], repeats=3, priors=[0.05, 0.95], **OPTIONS
    )
    plain = compare(["delta-metric"], data, "accuracy", [0.1], repeats=3, **OPTIONS)
    assert table.cells[0].mean != plain.cells[0].mean


def test_renderings(table):
    text = table.to_text()
    assert text.startswith("auroc\n")
    assert "*" in text
    markdown = table.to_markdown().splitlines()
    assert markdown[0].startswith("| method | clinic base |")
    assert markdown[1].startswith("| --- | ---: |")
    assert "**" in table.to_markdown()
    latex = table.to_latex()
    assert r"\textbf{" in latex
    assert r"$\pm$" in latex
    assert r"@30\%" in latex
    rows = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert float(rows[0]["mean"]) == table.cells[0].mean
    assert rows[0]["method"] == "delta-metric"
    cells = json.loads(table.to_json())["cells"]
    assert cells[1]["values"] == list(table.cells[1].values)


def test_a_table_by_hand():
    cells = (
        Cell(("a",), ("x",), (1.0, 2.0, 3.0), best=True, reference=(2.5, 0.1)),
        Cell(("b",), ("x",), (float("nan"),)),
    )
    table = ResultTable(cells, ("method",), ("column",))
    assert cells[0].mean == 2.0
    assert cells[0].se == pytest.approx(1 / np.sqrt(3))
    assert "2.0000±0.5774* (2.5000)" in table.to_text()
    assert table.to_dict()["cells"][1]["mean"] is None
    assert table.to_dict()["cells"][1]["se"] is None


def test_errors(data):
    with pytest.raises(TypeError, match="a sequence of names or a mapping"):
        compare("random", data, "auroc", [0.1])
    with pytest.raises(ValueError, match="`methods` is empty"):
        compare([], data, "auroc", [0.1])
    with pytest.raises(ValueError, match="`repeats` must be a whole number of at least 1"):
        compare(["random"], data, "auroc", [0.1], repeats=0)
    with pytest.raises(ValueError, match="is not known"):
        compare(["nonesuch"], data, "auroc", [0.1], repeats=1, **OPTIONS)
    short = Dataset(data.scores_val, data.y_val[:-1], data.scores_target, data.y_target)
    with pytest.raises(ValueError, match="`y_val` 599"):
        compare(["random"], Dataset(**{**short.__dict__, "scale": "logits"}), "auroc", [0.1])
