"""The frozen rule: what is saved decides again exactly, and a wrong file says what is wrong."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

from abstain import Abstainer, Policy
from abstain.datasets import screening_clinic, simulate_four_class_normal
from abstain.exceptions import AssumptionWarning, PolicyError


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


def test_one_row_is_decided_about_as_among_others(decided):
    clinic, decisions = decided
    policy, columns = decisions.policy, decisions.to_frame()
    for row in (0, *np.flatnonzero(decisions.abstain)[:3]):
        score = clinic.scores_target[row].item()
        found = policy.apply_one({"patient": "x", "p_1": score})
        assert json.loads(json.dumps(found)) == found
        assert found == policy.apply_one(score)
        # A window of rows is worth something together; no row has a part of it alone.
        assert found.pop("gain") is None
        assert found == {name: columns[name][row] for name in found}


def test_rows_are_had_as_plain_python(decided):
    _, decisions = decided
    rows = json.loads(json.dumps(decisions.to_dicts()))
    assert rows == decisions.to_frame().to_dict("records")
    assert [row["abstain"] for row in rows] == decisions.abstain.tolist()


def test_the_same_rule_of_the_same_data_is_equal(decided, path):
    clinic, decisions = decided
    policy, loaded = decisions.policy, Policy.load(path)
    later = replace(loaded, created="2031-01-01T00:00:00+00:00", version="9.0")
    assert policy == loaded == later
    assert len({policy, loaded, later}) == 1
    assert policy != replace(policy, priors=np.array([0.5, 0.5]))
    assert policy != clinic


def test_few_rows_say_that_the_rule_is_as_it_was_made(decided):
    clinic, decisions = decided
    for n in (0, 1, 99):
        found = decisions.policy.apply(clinic.scores_target[:n]).assumption
        assert found.assumed == "as-made"
        assert found.summary().startswith("These rows do not tell what happened")
        assert not found.doubts
    with pytest.raises(ValueError, match="`scores` is empty; pass at least one row"):
        Abstainer("accuracy", budget=0.1).fit([0.1, 0.9], [0, 1]).decide([])


def test_one_row_of_more_classes_is_named_in_any_order():
    source = simulate_four_class_normal(500, random_state=0)
    labels = np.array(["a", "b", "c", "d"])
    policy = (
        Abstainer("accuracy", budget=0.2, calibration="bcts", random_state=0)
        .fit(source.proba, labels[source.y])
        .decide(source.proba)
        .policy
    )
    row = dict(zip(labels.tolist(), source.proba[7].tolist(), strict=True))
    found = policy.apply_one(dict(reversed(row.items())))
    decisions = policy.apply(source.proba)
    assert found == policy.apply_one([*row.values()])
    assert found["prediction"] == decisions.prediction[7]
    assert found["abstain"] == decisions.abstain[7]
    assert found["gain"] == decisions.gain[7]
    assert [found[f"p_{label}"] for label in labels] == decisions.proba[7].tolist()


def test_one_row_without_a_score_is_an_error_or_goes_to_a_person(decided):
    policy = decided[1].policy
    with pytest.raises(ValueError, match="row 0"):
        policy.apply_one({"p_1": None})
    found = policy.apply_one({"p_1": None}, missing="refer")
    assert found["abstain"]
    assert found["reason"] == "no score"
    assert found["prediction"] is found["p_1"] is None
    with pytest.raises(ValueError, match='"error" or "refer" for one row'):
        policy.apply_one(0.3, missing="drop")
    with pytest.raises(ValueError, match="must have a column for each class"):
        policy.apply_one({"a": 0.1, "b": 0.2, "c": 0.3})


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


def test_of_the_same_rows_of_many_classes_it_says_the_same():
    source = simulate_four_class_normal(1_000, random_state=0)
    moved = simulate_four_class_normal(2_000, priors=(0.02, 0.08, 0.3, 0.6), random_state=1)
    abstainer = Abstainer("accuracy", budget=0.2, calibration="bcts", random_state=0)
    decisions = abstainer.fit(source.proba, source.y).decide(moved.proba)
    again = decisions.policy.apply(moved.proba)
    here, there = decisions.current_priors, again.current_priors
    np.testing.assert_allclose(there.values, here.values, atol=1e-6)
    np.testing.assert_allclose(there.interval, here.interval, atol=0.02)


def test_one_row_at_a_time_is_the_same_as_all_at_once(decided):
    clinic, decisions = decided
    for row in range(0, 2_000, 97):
        one = decisions.policy.apply(clinic.scores_target[row : row + 1])
        assert one.abstain[0] == decisions.abstain[row]
        assert (one.proba[0] == decisions.proba[row]).all()


def test_the_file_says_what_the_policy_is(path):
    content = json.loads(path.read_text())
    assert content["format"] == "abstain-policy"
    assert content["schema_version"] == 2
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
        ({"schema_version": 99}, "schema version 99; this library .* reads versions 1 to 2"),
        ({"format": "recipe"}, "not a policy of abstain"),
        (
            {"classes": [0, 1, 2]},
            "`priors.source` must have 3 numbers, .*; got 2",
        ),
        ({"withhold": {"kind": "everything"}}, "`region` 'everything' is not known"),
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
    monkeypatch.setattr("abstain._schema._text.checksum", lambda content: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        decided[1].policy.save(path)
    assert path.read_text() == before


def test_scores_of_the_wrong_width_are_refused(decided):
    with pytest.raises(ValueError, match="each of the 2 classes; got 3 columns"):
        decided[1].policy.apply(np.zeros((2, 3)))


def test_numbers_of_a_row_stand_on_one_line(path):
    text = path.read_text()
    assert '"target": [0.' in text
    assert not re.search(r"^\s*[-\d.e]+,?$", text, flags=re.MULTILINE)


def test_a_data_frame_is_applied_to_as_its_numbers_are(decided):
    pandas = pytest.importorskip("pandas")
    clinic, decisions = decided
    frame = pandas.DataFrame({"0": 0.0, "1": clinic.scores_target})
    assert (decisions.policy.apply(frame).abstain == decisions.abstain).all()


def test_a_column_that_is_no_class_is_not_taken_for_a_score(decided):
    pandas = pytest.importorskip("pandas")
    clinic, decisions = decided
    frame = pandas.DataFrame({"patient": 0.0, "logit": clinic.scores_target})
    with pytest.raises(ValueError, match="'patient' is no class"):
        decisions.policy.apply(frame)


@pytest.mark.parametrize("shift", ["em", "none", "known"])
@pytest.mark.parametrize("score", [None, "class-thresholds", "entropy"])
def test_adapting_to_the_same_rows_changes_nothing(decided, shift, score, tmp_path):
    from abstain.shift import KnownPriors

    clinic, _ = decided
    abstainer = Abstainer(
        "sensitivity@specificity=0.9",
        budget=0.15,
        score=score,
        shift=KnownPriors([0.7, 0.3]) if shift == "known" else shift,
        calibration="platt",
        scale="logits",
        random_state=0,
    )
    decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    decisions.policy.save(tmp_path / "policy.json")
    again = Policy.load(tmp_path / "policy.json").adapt(clinic.scores_target)
    assert again.priors == pytest.approx(decisions.priors, abs=1e-6)
    same = again.apply(clinic.scores_target).abstain == decisions.abstain
    assert same.mean() > (0.97 if score == "class-thresholds" else 0.999)


def test_adapting_follows_the_proportions_without_the_labelled_data(path):
    recent = screening_clinic(100, 20_000, random_state=5)
    ill = recent.y_target == 1
    # Nine in ten of the recent patients are healthy again.
    rows = np.concatenate([np.flatnonzero(~ill), np.flatnonzero(ill)[: (~ill).sum() // 9]])
    adapted = Policy.load(path).adapt(recent.scores_target[rows])
    assert adapted.priors[1] == pytest.approx(0.1, abs=0.02)
    assert adapted.assumption.fits
    assert "ost likely" in adapted.assumption.summary()
    assert adapted.apply(recent.scores_target[rows]).abstain.mean() == pytest.approx(
        0.15, abs=1e-3
    )
    adapted.save(path)
    loaded = Policy.load(path)
    assert loaded.assumption.p_value == adapted.assumption.p_value
    assert loaded.to_dict() == adapted.to_dict()


def test_adapting_to_something_else_warns(decided):
    clinic, decisions = decided
    squeezed = 0.3 * clinic.scores_target - 2
    with pytest.warns(AssumptionWarning, match="Nothing that was weighed explains the batch"):
        adapted = decisions.policy.adapt(squeezed)
    assert not adapted.assumption.fits


def test_every_mode_is_carried_and_adapts(decided, tmp_path):
    from abstain import Cost

    clinic, _ = decided
    modes = [
        {"budget": 100},
        {"target": 0.9},
        {"target": {"sensitivity": 0.9, "specificity": 0.85}},
        {"cost": Cost(0.1)},
        {"cost": Cost([40, 10], [[0, 300], [9000, 0]])},
        {"cost": Cost(0.2, value_of_metric=1.0)},
    ]
    for mode in modes:
        abstainer = Abstainer(
            "auroc", **mode, calibration="platt", scale="logits", random_state=0
        ).fit(clinic.scores_val, clinic.y_val)
        decisions = abstainer.decide(clinic.scores_target)
        decisions.policy.save(tmp_path / "policy.json")
        loaded = Policy.load(tmp_path / "policy.json")
        assert (loaded.apply(clinic.scores_target).abstain == decisions.abstain).all()
        adapted = loaded.adapt(clinic.scores_target)
        same = (adapted.apply(clinic.scores_target).abstain == decisions.abstain).mean()
        # How sure a target is depends on the labelled rows, of which a policy has a summary.
        assert same > (0.85 if "target" in mode else 0.999)


def test_a_policy_that_cannot_adapt_says_so(decided):
    from dataclasses import replace

    with pytest.raises(ValueError, match="cannot adapt"):
        replace(decided[1].policy, source=None).adapt(decided[0].scores_target)


@settings(max_examples=20)
@given(
    st.lists(st.floats(-8, 8), min_size=1, max_size=40),
    st.sampled_from(["auroc", "kappa", "accuracy", "f1"]),
    st.sampled_from([0.0, 0.1, 0.5, 3]),
)
def test_applied_to_its_own_batch_a_policy_keeps_the_budget(decided, scores, metric, budget):
    clinic, _ = decided
    scores = np.array(scores)
    abstainer = Abstainer(
        metric, budget=budget, calibration="platt", shift="none", scale="logits", random_state=0
    ).fit(clinic.scores_val, clinic.y_val)
    if isinstance(budget, int) and budget >= len(scores):
        with pytest.raises(ValueError, match="as a count must be less than the batch"):
            abstainer.decide(scores)
        return
    decisions = abstainer.decide(scores)
    content = json.loads(json.dumps(decisions.policy.to_dict()))
    again = Policy.from_dict(content).apply(scores)
    assert (again.abstain == decisions.abstain).all()
    assert (again.prediction == decisions.prediction).all()
    most = budget if isinstance(budget, int) else budget * len(scores)
    assert again.abstain.sum() <= min(most, len(scores) - 1)


def test_the_hash_is_that_of_the_file(decided, path):
    policy = decided[1].policy
    stored = json.loads(path.read_text())["sha256"]
    loaded = Policy.load(path)
    assert policy.sha256 == loaded.sha256 == stored
    assert Policy.from_dict(loaded.to_dict()).sha256 == stored


def test_a_changed_policy_has_another_hash(decided, path):
    from dataclasses import replace

    loaded = Policy.load(path)
    assert replace(loaded, version="0.0").sha256 != loaded.sha256
    assert replace(loaded).sha256 == loaded.sha256


@pytest.mark.parametrize("n_classes", [2, 3, 10, 20])
def test_of_any_number_of_classes_it_says_the_same_of_its_own_batch(n_classes):
    rng = np.random.default_rng(1)
    y = rng.integers(n_classes, size=2500)
    logits = rng.normal(size=(2500, n_classes))
    logits[np.arange(2500), y] += 2.5
    abstainer = Abstainer("accuracy", budget=0.1, scale="logits", random_state=0)
    decisions = abstainer.fit(logits[:1500], y[:1500]).decide(logits[1500:])
    again = decisions.policy.apply(logits[1500:])
    assert again.assumption.assumed == decisions.assumption.assumed == "weighed"
    for when in ("before", "after"):
        values = [getattr(found.estimate, when).value for found in (again, decisions)]
        assert values[0] == pytest.approx(values[1], abs=0.005)


def test_applied_to_its_own_batch_it_estimates_a_point_far_out_as_the_decisions_did():
    metric, off = "sensitivity@specificity=0.9", []
    for seed in range(6):
        clinic = screening_clinic(2000, 2000, random_state=seed)
        abstainer = Abstainer(
            metric, budget=0.15, calibration="platt", scale="logits", random_state=0
        )
        decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
        again = decisions.policy.apply(clinic.scores_target)
        off.append(again.estimate.after.value - decisions.estimate.after.value)
    assert np.abs(off).max() < 0.03
    assert abs(np.mean(off)) < 0.01


def test_rows_of_one_score_are_no_doubt_about_the_batch_of_a_saved_rule():
    # Of many classes the rule carries validation rows to seven digits, and sure scores tie.
    X, y = load_digits(return_X_y=True)
    model = GaussianNB(var_smoothing=0.01).fit(X[:600], y[:600])
    scores = model.predict_proba(X)
    abstainer = Abstainer("accuracy", budget=0.1, calibration="bcts", random_state=0)
    decisions = abstainer.fit(scores[600:1200], y[600:1200]).decide(scores[1200:])
    again = decisions.policy.apply(scores[1200:])
    assert again.assumption.doubts == decisions.assumption.doubts
    assert again.assumption.p_value == pytest.approx(decisions.assumption.p_value, abs=0.02)


@pytest.fixture(scope="module")
def fifty():
    """Fifty classes, the proportions of the batch moved."""
    rng = np.random.default_rng(0)
    alike = 0.3 * rng.normal(size=(50, 50))

    def rows(n, priors=None):
        y = rng.choice(50, size=n, p=priors)
        return 1.5 * (rng.normal(size=(n, 50)) + 2.5 * np.eye(50)[y] + alike[y]), y

    moved = rng.dirichlet(np.full(50, 3.0))
    abstainer = Abstainer("accuracy", budget=0.15, scale="logits", random_state=0)
    batch, _ = rows(1_500, moved)
    return abstainer.fit(*rows(4_000)).decide(batch), batch


def test_a_saved_policy_of_fifty_classes_says_what_its_run_said(fifty, tmp_path):
    decisions, batch = fifty
    decisions.policy.save(tmp_path / "policy.json")
    again = Policy.load(tmp_path / "policy.json").apply(batch)
    assert (again.abstain == decisions.abstain).all()
    for when in ("before", "after"):
        here, there = (getattr(found.estimate, when) for found in (decisions, again))
        assert abs(there.value - here.value) < 0.1 * np.ptp(here.interval)
    here, there = decisions.current_priors, again.current_priors
    width = np.ptp(here.interval, axis=-1)
    assert (np.abs(there.values - here.values) < 0.1 * width).all()
    for world, weight in decisions.assumption.worlds.items():
        assert again.assumption.worlds[world] == pytest.approx(weight, abs=0.01)


def test_a_policy_of_fifty_classes_keeps_the_classes_that_rows_may_be_of(fifty):
    policy = fifty[0].policy
    source = policy.to_dict()["source"]
    kept = source["proba"]
    assert len(source["label"]) == len(kept["values"]) == 4_000  # no row is left out
    assert {len(row) for row in kept["columns"]} == {len(kept["values"][0])} == {35}
    for row, label in zip(kept["columns"], source["label"], strict=True):
        assert label in row
    again = Policy.from_dict(policy.to_dict())
    np.testing.assert_array_equal(again.source.proba, policy.source.proba)
    np.testing.assert_allclose(again.source.proba.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("columns", lambda rows: [[0] * len(row) for row in rows], "of different columns"),
        ("columns", lambda rows: rows[:-1], "source.proba"),
        ("columns", lambda rows: [[50] * len(row) for row in rows], "from 0 to 49"),
        ("values", lambda rows: [[1.0] * len(row) for row in rows], "sum to 1 at most"),
        ("rest", lambda rest: [2.0, *rest[1:]], "from 0 to 1"),
    ],
)
def test_what_is_no_probability_of_the_few_classes_kept_is_named(fifty, key, value, message):
    content = fifty[0].policy.to_dict()
    content["source"]["proba"][key] = value(content["source"]["proba"][key])
    with pytest.raises(PolicyError, match=message):
        Policy.from_dict(content)


@pytest.mark.parametrize("metric", ["accuracy", "balanced-accuracy", "kappa"])
def test_gains_of_many_classes_come_back_to_the_last_bit(metric):
    rng = np.random.default_rng(0)
    y = rng.integers(40, size=800)
    logits = rng.normal(size=(800, 40)) + 4 * np.eye(40)[y]
    abstainer = Abstainer(metric, budget=0.1, calibration="temperature", scale="logits")
    policy = abstainer.fit(logits, y).decide(logits + 0.1).policy
    stored = policy.to_dict()["withhold"]["gains"]
    assert isinstance(stored, list if metric == "kappa" else dict)
    np.testing.assert_array_equal(
        Policy.from_dict(policy.to_dict()).region.gains, policy.region.gains
    )
