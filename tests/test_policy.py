"""The frozen rule: what is saved decides again exactly, and a wrong file says what is wrong."""

import json

import numpy as np
import pytest

from abstain import Abstainer, Policy
from abstain._exceptions import PolicyError
from abstain.datasets import screening_clinic, simulate_four_class_normal


@pytest.fixture(scope="module")
def decided():
    clinic = screening_clinic(2_000, 2_000, random_state=0)
    abstainer = Abstainer(
        "sensitivity@specificity=0.9",
        budget=0.15,
        calibration="platt",
        scale="logits",
        random_state=0,
    )
    decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    return clinic, decisions


@pytest.fixture
def path(decided, tmp_path):
    decided[1].policy.save(tmp_path / "triage.json")
    return tmp_path / "triage.json"


def test_a_loaded_policy_decides_the_same(decided, path):
    clinic, decisions = decided
    again = Policy.load(path).apply(clinic.scores_target)
    assert (again.abstain == decisions.abstain).all()
    assert (again.proba == decisions.proba).all()
    assert (again.prediction == decisions.prediction).all()
    assert (again.priors == decisions.priors).all()


@pytest.mark.parametrize("score", [None, "max-probability", "random"])
@pytest.mark.parametrize("metric", ["kappa:quadratic", "kappa"])
def test_every_region_round_trips(metric, score, tmp_path):
    source = simulate_four_class_normal(2_000, random_state=0)
    abstainer = Abstainer(
        metric, budget=0.2, score=score, calibration="bcts", shift="none", random_state=0
    ).fit(source.proba, np.array(["a", "b", "c", "d"])[source.y])
    decisions = abstainer.decide(source.proba)
    decisions.policy.save(tmp_path / "policy.json")
    again = Policy.load(tmp_path / "policy.json").apply(source.proba)
    assert (again.abstain == decisions.abstain).all()
    assert (again.prediction == decisions.prediction).all()


def test_one_row_at_a_time_is_the_same_as_all_at_once(decided):
    clinic, decisions = decided
    for row in range(0, 2_000, 97):
        one = decisions.policy.apply(clinic.scores_target[row : row + 1])
        assert one.abstain[0] == decisions.abstain[row]
        assert (one.proba[0] == decisions.proba[row]).all()


def test_the_file_says_what_the_policy_is(path):
    content = json.loads(path.read_text())
    assert content["format"] == "abstain-policy"
    assert content["schema_version"] == 1
    assert content["metric"]["name"] == "sensitivity@specificity=0.9"
    assert content["withhold"]["kind"] == "interval"
    assert content["estimate"]["after"]["value"] > content["estimate"]["before"]["value"]


def test_the_estimate_is_kept(decided, path):
    assert Policy.load(path).estimate == decided[1].estimate


def edited(path, **changes):
    content = json.loads(path.read_text())
    content.update(changes)
    path.write_text(json.dumps(content))
    return path


def test_an_edited_file_is_refused(path):
    content = json.loads(path.read_text())
    region = {**content["withhold"], "upper": 0.999}
    with pytest.raises(PolicyError, match="checksum does not match"):
        Policy.load(edited(path, withhold=region))


def test_a_file_edited_to_nan_is_refused(path):
    path.write_text(path.read_text().replace('"lower": 0', '"lower": NaN, "was": 0'))
    with pytest.raises(PolicyError, match="NaN"):
        Policy.load(path)


def test_a_cut_file_is_refused(path):
    path.write_text(path.read_text()[:200])
    with pytest.raises(PolicyError, match="not a whole JSON file"):
        Policy.load(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema_version": 99}, "schema version 99; this library .* reads version 1"),
        ({"format": "recipe"}, "not a policy of abstain"),
        ({"classes": [0, 1, 2]}, "3 classes, 2 source and 2 target priors"),
        ({"withhold": {"kind": "everything"}}, "unknown region 'everything'"),
        ({"priors": {}}, "not complete"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(path, changes, message):
    with pytest.raises(PolicyError, match=message):
        Policy.load(edited(path, **changes))


def test_a_list_is_no_policy(tmp_path):
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(PolicyError, match="not a policy"):
        Policy.load(tmp_path / "list.json")


def test_a_failed_save_keeps_the_old_file(decided, path, monkeypatch):
    before = path.read_text()
    monkeypatch.setattr("abstain.policy._checksum", lambda content: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        decided[1].policy.save(path)
    assert path.read_text() == before


def test_scores_of_the_wrong_width_are_refused(decided):
    with pytest.raises(ValueError, match="each of the 2 classes; got 3 columns"):
        decided[1].policy.apply(np.zeros((2, 3)))
