"""Every policy is written and read back bit for bit, or says why it cannot be."""

import numpy as np
import pytest

from abstain import Abstainer, Policy, metrics
from abstain.exceptions import PolicyError

from .cells import CALLABLE, CELLS, DROPOUT, batch, decided, make_metric, pairwise

STORABLE = [cell for cell in CELLS if cell.storable]
NOT_STORABLE = [cell for cell in CELLS if not cell.storable]


@pytest.mark.parametrize("cell", pairwise(STORABLE))
def test_a_loaded_policy_decides_the_same(cell, tmp_path):
    decisions, data = decided(cell), batch(cell.classes)
    decisions.policy.save(tmp_path / "policy.json")
    loaded = Policy.load(tmp_path / "policy.json")
    assert loaded.to_dict() == decisions.policy.to_dict()
    assert loaded.estimate == decisions.estimate
    assert repr(loaded) == repr(decisions.policy)
    if cell.score == DROPOUT:
        with pytest.raises(ValueError, match="dropout"):
            loaded.apply(data.scores)
        return
    again = loaded.apply(data.scores)
    np.testing.assert_array_equal(again.abstain, decisions.abstain)
    np.testing.assert_array_equal(again.prediction, decisions.prediction)
    np.testing.assert_array_equal(again.proba, decisions.proba)
    np.testing.assert_array_equal(again.gain, decisions.gain)


@pytest.mark.parametrize("cell", pairwise(NOT_STORABLE))
def test_a_function_of_the_user_is_stored_by_its_name_with_a_remedy(cell, tmp_path):
    path, scores = tmp_path / "policy.json", batch(cell.classes).scores
    decisions = decided(cell)
    with pytest.warns(UserWarning, match="register"):
        decisions.policy.save(path)
    loaded = Policy.load(path)
    if cell.score == CALLABLE:
        # By this it withholds, so without it there is no decision.
        with pytest.raises(PolicyError, match="register"):
            loaded.apply(scores)
        return
    if cell.score == DROPOUT:
        return
    again = loaded.apply(scores)
    np.testing.assert_array_equal(again.abstain, decisions.abstain)
    np.testing.assert_array_equal(again.prediction, decisions.prediction)
    with pytest.raises(PolicyError, match="register"):
        _ = again.estimate


@pytest.mark.parametrize("score", [None, "entropy"])
@pytest.mark.parametrize("name", ["user-confusion", "sampled"])
@pytest.mark.parametrize("classes", ["two", "four"])
def test_a_registered_metric_of_the_user_is_stored_by_its_name(classes, name, score, tmp_path):
    data, metric = batch(classes), make_metric(name, classes, f"registered-{name}")
    metrics.register(metric)
    abstainer = Abstainer(
        metric,
        budget=0.15,
        score=score,
        calibration=data.calibration,
        scale=data.scale,
        positive=data.positive,
        random_state=0,
    )
    decisions = abstainer.fit(data.scores_val, data.y_val).decide(data.scores)
    with pytest.warns(UserWarning, match="is your own"):
        decisions.policy.save(tmp_path / "policy.json")
    loaded = Policy.load(tmp_path / "policy.json")
    assert loaded.metric.name == metric.name
    again = loaded.apply(data.scores)
    np.testing.assert_array_equal(again.abstain, decisions.abstain)
    assert loaded.estimate == decisions.estimate
    low, high = decisions.estimate.after.interval
    assert abs(again.estimate.after.value - decisions.estimate.after.value) <= high - low
