"""The paper's tables: on small made files, and against its printed numbers on the real ones."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from abstain.metrics import AUROC
from abstain.paper import EXPERIMENTS, Options, write_stand_in
from abstain.paper._experiment import read_published


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("paper")
    for name in ("imdb", "catdog", "hema", "dr"):
        write_stand_in(made, name)
    return made


@pytest.mark.parametrize("name", ["catdog", "lsc", "phsc", "dr", "dr-dropout-shift"])
def test_every_method_has_a_cell_for_every_column(folder, name):
    experiment = EXPERIMENTS[name]
    result = experiment(Options(data=folder, repeats=2)).to_dict()
    assert (result["experiment"], result["repeats"]) == (name, 2)
    shifted = name in ("catdog", "dr-dropout-shift")
    prepared = {"adapted", "unadapted"} if shifted else {"calibrated", "uncalibrated"}
    fractions = (0.0, *experiment.fractions)
    places = {(c["metric"], c["method"], c["prepared"], c["abstain"]) for c in result["cells"]}
    assert places == {
        (metric.name, method, way, fraction)
        for metric in experiment.metrics
        for method in experiment.methods
        for way in prepared
        for fraction in fractions
    }
    for cell in result["cells"]:
        assert len(cell["values"]) == 2
        assert cell["mean"] == pytest.approx(np.mean(cell["values"]))
        assert not (cell["best"] and cell["abstain"] == 0)
    json.dumps(result, allow_nan=False)


def test_the_tasks_of_the_genomics_files_are_not_mixed_up(folder):
    with np.load(folder / "hema.npz") as stored:
        logits, labels = stored["test_logits"], stored["test_labels"]
    for name, task in {"phsc": 0, "lsc": 1}.items():
        result = EXPERIMENTS[name](Options(data=folder, repeats=1, methods=("js-divergence",)))
        base = next(
            cell
            for cell in result.to_dict()["cells"]
            if cell["metric"] == "auroc" and cell["abstain"] == 0
        )
        n = len(labels)
        chosen = np.random.RandomState(0).choice(np.arange(n), n // 2, replace=False)
        rest = np.setdiff1d(np.arange(n), chosen)
        p = 1 / (1 + np.exp(-logits[0, rest, task].astype(float)))
        assert base["values"][0] == pytest.approx(AUROC().observed(labels[rest, task], p))


def test_methods_can_be_chosen_and_ties_are_broken_at_random(folder, tmp_path, monkeypatch):
    (tmp_path / "my_scores.py").write_text("def flat(proba):\n    return 0 * proba[:, 1]\n")
    monkeypatch.chdir(tmp_path)
    options = Options(
        data=folder, repeats=3, methods=("js-divergence",), extra_methods=("my_scores:flat",)
    )
    result = EXPERIMENTS["imdb"](options)
    assert [cell.row[0] for cell in result.table.cells][::6] == ["js-divergence", "my_scores:flat"]
    flat = [cell for cell in result.table.cells if cell.row[0] == "my_scores:flat"]
    # Withholding at random leaves the metric about where it was; the order of the data would not.
    assert flat[1].mean == pytest.approx(flat[0].mean, abs=0.12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": None}, "pass --data DIR"),
        ({"repeats": 31}, "at most 30, as in the paper"),
        ({"methods": ("entropi",)}, "is no method of imdb"),
        ({"extra_methods": ("nonesuch",)}, "must be module:function"),
        ({"extra_methods": ("no_such_module:f",)}, "no module 'no_such_module'"),
        ({"extra_methods": ("math:nonesuch",)}, "math has no 'nonesuch'"),
    ],
)
def test_bad_options(folder, options, message):
    with pytest.raises(ValueError, match=message):
        EXPERIMENTS["imdb"](Options(**{"data": folder, "repeats": 1, **options}))


def test_bad_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file imdb\.npz"):
        EXPERIMENTS["imdb"](Options(data=tmp_path))
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        EXPERIMENTS["imdb"](Options(data=tmp_path / "nonesuch"))
    np.savez(tmp_path / "imdb.npz", valid_logits=np.zeros((10, 3)))
    with pytest.raises(ValueError, match="has no array valid_labels"):
        EXPERIMENTS["imdb"](Options(data=tmp_path))
    np.savez(
        tmp_path / "imdb.npz",
        valid_logits=np.zeros((9, 3)),
        valid_labels=np.zeros(3),
        test_logits=np.zeros((10, 3)),
        test_labels=np.zeros(3),
    )
    with pytest.raises(ValueError, match=r"must have shape \(10, any\); got \(9, 3\)"):
        EXPERIMENTS["imdb"](Options(data=tmp_path))


def test_figure_1(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra: plots)")
    result = EXPERIMENTS["figure1"](Options())
    # Each objective is best at its own metric: the point of the figure.
    for metric in ("auroc", "sensitivity@specificity=0.9", "accuracy"):
        assert max(result.values, key=lambda row: result.values[row][metric]) == metric
    assert result.save_figures(tmp_path) == [tmp_path / "figure1.png"]
    assert "js-divergence" in result.to_text()
    json.dumps(result.to_dict(), allow_nan=False)


def real_folder():
    given = os.environ.get("ABSTAIN_DATA")
    if given is None:
        pytest.skip("set ABSTAIN_DATA to the folder with paper/imdb.npz to run this")
    return Path(given) / "paper"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["imdb", "dr", "dr-shift", "dr-dropout", "dr-dropout-shift"])
def test_the_printed_tables_come_out(name):
    """Deterministic rows within 0.001 of the printed means, others within a standard error."""
    folder = real_folder()
    experiment = EXPERIMENTS[name]
    result = experiment(Options(data=folder))
    published = read_published(folder, experiment.published)
    noisy = {"delta-metric-sampled", "class-thresholds"}
    for cell in result.table.cells:
        if cell.reference is None:
            continue
        mean, error = cell.reference
        assert cell.mean == pytest.approx(mean, abs=error if cell.row[0] in noisy else 0.001)
        fraction = 0.0 if cell.column[1] == "base" else int(cell.column[1][1:-1]) / 100
        assert cell.best == published[cell.column[0], *cell.row, fraction].bold


@pytest.mark.parametrize("name", ["imdb", "lsc", "dr-shift"])
def test_a_stand_in_runs_without_data_and_says_so(name):
    result = EXPERIMENTS[name](Options(simulated=True, repeats=1, methods=("js-divergence",)))
    assert result.to_dict()["simulated"]
    assert "none of these figures is the paper's" in result.to_text()
    assert {cell["method"] for cell in result.to_dict()["cells"]} == {"js-divergence"}
