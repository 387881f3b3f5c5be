"""The convergence of the two kappa algorithms, as in the paper's appendix."""

import json

import pytest

from abstain.paper import EXPERIMENTS, Options


@pytest.fixture(scope="module")
def result():
    return EXPERIMENTS["kappa-convergence"](Options())


def test_the_difference_falls_as_the_root_of_the_number_of_samples(result):
    mean = result.differences.mean(axis=0)
    assert mean[0] > 10 * mean[-1]
    assert result.rate == pytest.approx(-0.5, abs=0.15)


def test_text_and_data(result):
    assert "The difference falls as M to the power" in result.to_text()
    data = json.loads(json.dumps(result.to_dict()))
    assert data["n_samples"][-1] == 1000
    assert len(data["mean_absolute_difference"]) == len(data["n_samples"])


def test_figure(result, tmp_path):
    pytest.importorskip("matplotlib")
    (path,) = result.save_figures(tmp_path / "figures")
    assert path.name == "kappa-convergence.png"
    assert path.stat().st_size > 10_000
