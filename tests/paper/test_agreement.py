import json

import numpy as np
import pytest

from abstain.paper import EXPERIMENTS, Options


@pytest.fixture(scope="module")
def nine():
    return EXPERIMENTS["auroc-agreement"](Options(repeats=9))


def test_correlations_are_those_of_the_authors_saved_run(nine):
    # Cell outputs of the authors' notebook; the last has the lowest Pearson of all hundred.
    spearman = [0.9999364, 0.9994536, 0.9995414]
    np.testing.assert_allclose(nine.spearman[:3], spearman, atol=2e-5)
    assert nine.spearman[7] == pytest.approx(0.9787836, abs=2e-5)
    assert nine.pearson[8] == pytest.approx(0.9952975, abs=2e-5)


def test_the_outcome_is_data_text_and_two_figures(nine, tmp_path):
    data = json.loads(json.dumps(nine.to_dict()))
    assert data["n_datasets"] == 9
    assert data["pearson"]["lowest"] == pytest.approx(0.9953, abs=1e-4)
    assert "Pearson        0.9953" in nine.to_text()
    assert [path.name for path in nine.save_figures(tmp_path)] == [
        "auroc-agreement-spearman.png",
        "auroc-agreement-pearson.png",
    ]


def test_sensitivity_agrees_as_well():
    result = EXPERIMENTS["sensitivity-agreement"](Options(repeats=3))
    assert result.spearman.min() > 0.97
    assert result.pearson.min() > 0.99


@pytest.mark.slow
def test_the_papers_lowest_correlations():
    result = EXPERIMENTS["auroc-agreement"](Options())
    assert result.spearman.min() == pytest.approx(0.9633, abs=1e-4)
    # The paper's text says above 0.996; the authors' saved run has 0.9953.
    assert result.pearson.min() == pytest.approx(0.9953, abs=1e-4)
