"""A batch estimated without abstaining: against labels, by hand, and its messages."""

import json

import numpy as np
import pytest

import abstain
from abstain import metrics
from abstain.calibration import IdentityCalibration
from abstain.datasets import screening_clinic, simulate_four_class_normal
from abstain.exceptions import AssumptionWarning, NotIdentifiable
from abstain.shift import KnownPriors

NAMES = ["accuracy", "f1", "mcc", "auroc", "sensitivity@specificity=0.9"]


@pytest.fixture(scope="module")
def clinic():
    return screening_clinic(3_000, 2_000, random_state=1)


def estimate(clinic, names="accuracy", scores=None, **settings):
    how = {"scale": "logits", "calibration": "platt", "random_state": 0, **settings}
    scores = clinic.scores_target if scores is None else scores
    return abstain.estimate(clinic.scores_val, clinic.y_val, scores, names, **how)


@pytest.fixture(scope="module")
def found(clinic):
    return estimate(clinic, NAMES, prediction_val=above(clinic.scores_val),
                    prediction=above(clinic.scores_target))  # fmt: skip


def above(logits, threshold=-1.5):
    return (logits > threshold).astype(int)


def test_intervals_hold_what_labels_say(clinic, found):
    proba = 1 / (1 + np.exp(-clinic.scores_target))
    for name in NAMES:
        realised = metrics.get(name).observed(
            clinic.y_target, proba, prediction=above(clinic.scores_target)
        )
        assert found[name].holds(realised), name
        assert found[name].value == pytest.approx(realised, abs=0.05), name


def test_what_it_comes_with(clinic, found):
    assert list(found.values) == NAMES
    assert found.level == found["auroc"].level == 0.9
    assert found.classes.tolist() == [0, 1]
    assert found.source_priors[1] == pytest.approx(clinic.y_val.mean(), abs=0.01)
    assert found.priors[1] == pytest.approx(clinic.y_target.mean(), abs=0.05)
    assert found.assumption.assumed == "weighed"
    assert list(found.alternative) == ["nothing", "label", "scores", "both"]
    # Without adapting, half of the ill are thought healthy.
    assert list(found.alternative["nothing"]) == NAMES
    assert found.alternative["nothing"]["f1"].value < found["f1"].value


def test_as_text_frame_and_data(found):
    lines = str(found).splitlines()
    assert lines[0] == f"accuracy                     {found['accuracy']}"
    assert "validation -> batch: 0 0.899 -> 0.6" in lines[5]
    assert lines[6] == "Positive class: 1"
    assert lines[7] == found.assumption.summary()
    assert repr(found).startswith(f"<BatchEstimate: accuracy {found['accuracy']}; f1 ")
    frame = found.to_frame()
    assert list(frame.columns) == ["metric", "value", "low", "high"]
    assert frame["low"].tolist() == [found[name].interval[0] for name in NAMES]
    data = json.loads(json.dumps(found.to_dict()))
    assert data["metrics"]["f1"]["value"] == found["f1"].value
    assert data["assumption"]["assumed"] == "weighed"
    with pytest.raises(KeyError, match="'kappa' was not estimated; there is accuracy, f1"):
        found["kappa"]


def test_one_metric_and_a_level(clinic):
    found = estimate(clinic, metrics.Accuracy(), level=0.5)
    assert list(found.values) == ["accuracy"]
    wide = estimate(clinic).values["accuracy"].interval
    narrow = found["accuracy"].interval
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    assert "50% interval" in str(found)


def test_predictions_are_the_models_own_and_not_adapted():
    scores = np.repeat([0.2, 0.5, 0.8], 200)
    y = (np.arange(600) % 10 < 10 * scores).astype(int)
    found = abstain.estimate(
        scores, y, scores, ["recall", "accuracy"],
        calibration=IdentityCalibration(), shift=KnownPriors([0.2, 0.8]), random_state=0,
    )  # fmt: skip
    # Adapted from half to four fifths the probabilities are 0.5, 0.8 and 16/17, but 0.2 is
    # predicted negative as ever, and 0.5 positive.
    positive = 0.8 + 16 / 17
    assert found["recall"].value == pytest.approx(positive / (positive + 0.5), abs=0.01)
    assert found["accuracy"].value == pytest.approx((positive + 0.5) / 3, abs=0.01)


def test_given_predictions_equal_to_the_models_change_nothing(clinic):
    own = estimate(clinic)
    same = estimate(
        clinic,
        prediction_val=above(clinic.scores_val, -1e-9),
        prediction=above(clinic.scores_target, -1e-9),
    )
    assert same["accuracy"] == own["accuracy"]


def test_whole_weights_equal_repetition(clinic):
    twice = np.ones(2_000)
    twice[clinic.y_target == 1] = 2
    rows = np.repeat(np.arange(2_000), twice.astype(int))
    weighted = estimate(clinic, ["accuracy", "auroc"], sample_weight=twice)
    repeated = estimate(clinic, ["accuracy", "auroc"], clinic.scores_target[rows])
    np.testing.assert_allclose(weighted.priors, repeated.priors, atol=1e-6)
    for name in ("accuracy", "auroc"):
        assert weighted[name].value == pytest.approx(repeated[name].value, abs=0.005)
    none = np.ones(3_000)
    again = estimate(clinic, sample_weight_val=none)
    assert again["accuracy"].value == pytest.approx(estimate(clinic)["accuracy"].value, abs=1e-9)


def test_frames_name_the_classes():
    pandas = pytest.importorskip("pandas")
    names = ["b", "a", "d", "c"]
    source = simulate_four_class_normal(600, random_state=0)
    batch = simulate_four_class_normal(500, random_state=1)
    frame = pandas.DataFrame(batch.proba, columns=names)
    how = {"calibration": "temperature", "shift": "none", "random_state": 0}
    y = np.array(names)[source.y]
    found = abstain.estimate(
        pandas.DataFrame(source.proba, columns=names), y, frame[sorted(names)],
        ["accuracy", "kappa:quadratic"], **how,
    )  # fmt: skip
    assert found.classes.tolist() == names
    assert found.alternative is None
    arrays = abstain.estimate(
        source.proba, y, batch.proba, ["accuracy", "kappa:quadratic"], classes=names, **how
    )
    assert arrays["accuracy"] == found["accuracy"]
    right = batch.proba.argmax(axis=1) == batch.y
    assert found["accuracy"].value == pytest.approx(right.mean(), abs=0.05)


def test_what_is_not_label_shift_is_said_with_the_alternative(clinic):
    with pytest.warns(AssumptionWarning, match="Nothing that was weighed explains"):
        found = estimate(clinic, scores=0.3 * clinic.scores_target - 2)
    assert not found.assumption.fits
    each = [one["accuracy"].value for one in found.alternative.values()]
    assert min(each) <= found["accuracy"].value <= max(each)


def test_a_metric_that_is_not_defined_is_said(clinic):
    odd = metrics.SampledMetric(lambda y, scores: float("nan"), name="odd")
    with pytest.warns(AssumptionWarning, match="odd is not defined on these rows"):
        found = estimate(clinic, odd)
    assert found.to_dict()["metrics"]["odd"]["value"] is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"names": []}, "`metrics` must be one metric or several of different names; got none"),
        ({"names": ["f1", "f1"]}, "got f1, f1"),
        ({"names": "acuracy"}, "accuracy"),
        ({"level": 1}, "`level` must be in"),
        ({"prediction": np.ones(2_000)}, "`prediction_val` is missing"),
        ({"prediction_val": np.ones(3_000)}, "`prediction` is missing"),
        ({"prediction_val": np.ones(3_000), "prediction": np.ones(3)}, "`prediction` must have"),
        (
            {"prediction_val": np.full(3_000, 2), "prediction": np.ones(2_000)},
            "`prediction_val` has labels that no score column stands for: 2",
        ),
        ({"sample_weight_val": [1]}, "`sample_weight_val` must have one weight per row"),
        ({"sample_weight": [1]}, "`sample_weight` must have one weight per row"),
        ({"scores": np.ones((5, 3))}, "`scores` must have one column for each of the 2"),
        ({"classes": [1]}, "`classes` must name each"),
    ],
)
def test_mistakes_are_explained(clinic, settings, message):
    with pytest.raises(ValueError, match=message):
        estimate(clinic, **settings)


def test_a_metric_for_two_classes():
    source = simulate_four_class_normal(100, random_state=0)
    with pytest.raises(ValueError, match="is for two classes; the scores have 4"):
        abstain.estimate(source.proba, source.y, source.proba, "auroc")


def test_classes_that_cannot_be_told_apart_are_named():
    rng = np.random.default_rng(0)
    scores = np.full(200, 0.5)
    scores = np.column_stack([scores, scores])
    y = np.where(rng.random(200) < 0.5, "ill", "well")
    with pytest.raises(NotIdentifiable, match="These columns are the classes 'ill', 'well'"):
        abstain.estimate(scores, y, scores, "accuracy", calibration="identity", shift="bbse-hard")
