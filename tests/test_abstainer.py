"""The whole flow on scores: budget, estimates, weights, labels of any kind, bad input."""

import numpy as np
import pytest
from sklearn.base import clone

from abstain import Abstainer
from abstain.datasets import screening_clinic, simulate_four_class_normal
from abstain.exceptions import NotIdentifiable
from abstain.metrics import AUROC, SensitivityAtSpecificity, WeightedKappa
from abstain.selection import Cost


@pytest.fixture(scope="module")
def clinic():
    return screening_clinic(3_000, 3_000, random_state=0)


def abstainer_for(clinic, metric="sensitivity@specificity=0.9", **parameters):
    settings = {"budget": 0.15, "calibration": "platt", "scale": "logits", "random_state": 0}
    return Abstainer(metric, **{**settings, **parameters}).fit(clinic.scores_val, clinic.y_val)


def test_the_flow_finds_the_shift_and_improves_the_true_metric(clinic):
    decisions = abstainer_for(clinic).decide(clinic.scores_target)
    metric = SensitivityAtSpecificity(0.9)
    kept = ~decisions.abstain
    before = metric.observed(clinic.y_target, decisions.proba)
    after = metric.observed(clinic.y_target[kept], decisions.proba[kept])
    assert decisions.priors[1] == pytest.approx(clinic.y_target.mean(), abs=0.03)
    assert decisions.abstain.sum() == 450
    assert after > before + 0.05
    for estimate, realised in (
        (decisions.estimate.before, before),
        (decisions.estimate.after, after),
    ):
        assert estimate.interval[0] < estimate.value < estimate.interval[1]
        assert estimate.value == pytest.approx(realised, abs=0.1)


@pytest.mark.parametrize("budget", [0, 0.001, 0.29, 0.5, 0.8])
def test_the_number_withheld_is_the_floor_of_the_budget(clinic, budget):
    target = clinic.scores_target[:100]
    decisions = abstainer_for(clinic, budget=budget).decide(target)
    assert decisions.abstain.sum() == int(round(budget * 100, 9))


def test_ties_never_break_the_budget(clinic):
    rounded = np.round(clinic.scores_target)
    for metric in ("sensitivity@specificity=0.9", "auroc", "kappa"):
        decisions = abstainer_for(clinic, metric).decide(rounded)
        assert decisions.abstain.sum() <= 450
        for score in np.unique(rounded):
            assert len(set(decisions.abstain[rounded == score].tolist())) == 1


def test_the_estimate_is_for_the_kept_set_returned(clinic):
    decisions = abstainer_for(clinic, AUROC()).decide(clinic.scores_target)
    kept = decisions.proba[~decisions.abstain]
    # Calibrated scores: what labelled rows correct is little.
    assert decisions.estimate.after.value == pytest.approx(AUROC().expected(kept), abs=0.01)
    assert decisions.estimate.before.value == pytest.approx(
        AUROC().expected(decisions.proba), abs=0.01
    )


def test_no_shift_means_no_change(clinic):
    abstainer = abstainer_for(clinic)
    decisions = abstainer.decide(clinic.scores_val)
    assert decisions.priors == pytest.approx(decisions.source_priors, abs=1e-4)
    plain = abstainer.calibrator_.predict_proba(clinic.scores_val)
    assert decisions.proba == pytest.approx(plain, abs=1e-3)


@pytest.mark.parametrize("metric", ["sensitivity@specificity=0.9", "auroc", "kappa:quadratic"])
def test_whole_weights_equal_repetition(clinic, metric):
    rng = np.random.default_rng(0)
    weight_val, weight_target = rng.integers(1, 4, 3_000), rng.integers(1, 4, 3_000)
    abstainer = Abstainer(metric, budget=0.2, calibration="platt", scale="logits", random_state=0)
    weighted = abstainer.fit(clinic.scores_val, clinic.y_val, weight_val).decide(
        clinic.scores_target, weight_target
    )
    repeated = abstainer.fit(
        np.repeat(clinic.scores_val, weight_val), np.repeat(clinic.y_val, weight_val)
    ).decide(np.repeat(clinic.scores_target, weight_target))
    assert weighted.priors == pytest.approx(repeated.priors, abs=1e-6)
    low, high = repeated.estimate.after.interval
    assert weighted.estimate.after.value == pytest.approx(
        repeated.estimate.after.value, abs=0.15 * (high - low)
    )
    agree = np.repeat(weighted.abstain, weight_target) == repeated.abstain
    assert agree.mean() > 0.995


def test_labels_may_be_anything_hashable(clinic):
    names = np.array(["healthy", "ill"])[clinic.y_val]
    named = Abstainer(
        "auroc",
        budget=0.1,
        calibration="platt",
        scale="logits",
        positive="ill",
        random_state=0,
    ).fit(clinic.scores_val, names)
    decisions = named.decide(clinic.scores_target)
    assert named.classes_.tolist() == ["healthy", "ill"]
    assert set(decisions.prediction.tolist()) == {"healthy", "ill"}
    numbered = abstainer_for(clinic, "auroc", budget=0.1).decide(clinic.scores_target)
    assert (decisions.abstain == numbered.abstain).all()


def test_two_columns_equal_one(clinic):
    def two(logits):
        return np.column_stack([np.zeros_like(logits), logits])

    one = abstainer_for(clinic).decide(clinic.scores_target)
    pair = Abstainer(
        "sensitivity@specificity=0.9",
        budget=0.15,
        calibration="platt",
        scale="logits",
        random_state=0,
    ).fit(two(clinic.scores_val), clinic.y_val)
    assert (pair.decide(two(clinic.scores_target)).abstain == one.abstain).all()


def test_many_classes():
    source = simulate_four_class_normal(20_000, random_state=0)
    target = simulate_four_class_normal(20_000, priors=[0.1, 0.2, 0.3, 0.4], random_state=2)
    # What a model that learned at the source proportions would say of the target.
    stale = target.proba * np.array([0.4, 0.3, 0.2, 0.1]) / np.array([0.1, 0.2, 0.3, 0.4])
    stale /= stale.sum(axis=1, keepdims=True)
    decisions = (
        Abstainer(WeightedKappa("quadratic"), budget=0.2, calibration="bcts", random_state=0)
        .fit(source.proba, source.y)
        .decide(stale)
    )
    kept = ~decisions.abstain
    metric = WeightedKappa("quadratic")
    assert decisions.abstain.sum() == 4_000
    assert decisions.priors == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=0.05)
    assert metric.observed(target.y[kept], decisions.proba[kept]) > metric.observed(
        target.y, decisions.proba
    )


@pytest.mark.parametrize("score", ["max-probability", "entropy", "margin", "random"])
def test_scores_of_uncertainty_choose_in_place_of_the_metric(clinic, score):
    decisions = abstainer_for(clinic, score=score).decide(clinic.scores_target)
    assert decisions.abstain.sum() == 450


def test_known_priors_and_no_shift(clinic):
    from abstain.shift import KnownPriors

    told = abstainer_for(clinic, shift=KnownPriors(0.25)).decide(clinic.scores_target)
    assert told.priors.tolist() == [0.75, 0.25]
    none = abstainer_for(clinic, shift="none").decide(clinic.scores_target)
    assert (none.priors == none.source_priors).all()


def test_a_seed_repeats_and_the_estimator_can_be_cloned(clinic):
    abstainer = abstainer_for(clinic, random_state=3)
    first = abstainer.decide(clinic.scores_target).estimate
    again = clone(abstainer).fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    assert again.estimate == first


def test_inputs_are_not_changed(clinic):
    scores, target = clinic.scores_val.copy(), clinic.scores_target.copy()
    abstainer_for(clinic).decide(target)
    assert (scores == clinic.scores_val).all()
    assert (target == clinic.scores_target).all()


def test_one_row_and_equal_rows(clinic):
    abstainer = abstainer_for(clinic)
    assert abstainer.decide(clinic.scores_target[:1]).abstain.tolist() == [False]
    assert not abstainer.decide(np.zeros(50)).abstain.any()


def test_certain_probabilities_are_allowed(clinic):
    proba = 1 / (1 + np.exp(-clinic.scores_val))
    proba[:5], proba[5:10] = 0.0, 1.0
    decisions = Abstainer("auroc", budget=0.1, calibration="platt", random_state=0)
    assert decisions.fit(proba, clinic.y_val).decide(proba).abstain.sum() == 300


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"budget": None}, "Pass exactly one of `budget`, `target`, `cost`, `arms`; got none"),
        ({"cost": Cost(0.1)}, "got budget and cost"),
        ({"budget": 1.0}, r"`budget` must be a fraction in \[0, 1\)"),
        ({"metric": "auroc:3"}, "takes no argument"),
        ({"metric": "aurok"}, "Did you mean 'auroc'"),
        ({"calibration": "plat"}, "platt"),
        ({"shift": "emm"}, "em"),
        ({"decision": "oracle"}, "`decision` must be"),
        ({"scale": "odds"}, "`scale` must be"),
    ],
)
def test_bad_parameters(clinic, parameters, message):
    with pytest.raises(ValueError, match=message):
        abstainer_for(clinic, **parameters)


def test_bad_data(clinic):
    abstainer = Abstainer("auroc", budget=0.1, calibration="platt", scale="logits")
    with pytest.raises(ValueError, match="at least two classes"):
        abstainer.fit(clinic.scores_val, np.zeros(3_000, dtype=int), classes=[0, 1])
    with pytest.raises(ValueError, match="3000 rows, 2999 labels"):
        abstainer.fit(clinic.scores_val, clinic.y_val[:-1])
    with pytest.raises(ValueError, match="is for two classes; the scores have 5"):
        Abstainer("auroc", budget=0.1, calibration="temperature", scale="logits").fit(
            np.zeros((10, 5)), np.arange(10) % 5
        )
    abstainer.fit(clinic.scores_val, clinic.y_val)
    with pytest.raises(ValueError, match="`scores` is empty"):
        abstainer.decide([])
    with pytest.raises(ValueError, match="each of the 2 classes; got 3 columns"):
        abstainer.decide(np.zeros((4, 3)))


def test_deciding_before_fitting_is_an_error():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        Abstainer("auroc", budget=0.1).decide([0.5])


def width(decisions):
    low, high = decisions.estimate.before.interval
    return high - low


def test_intervals_hold_the_uncertainty_of_the_proportions(clinic):
    from abstain.shift import KnownPriors

    # Precision depends on the proportions; with them open it is less certain.
    few = clinic.scores_target[:400]
    open_ = abstainer_for(clinic, "precision").decide(few)
    told = abstainer_for(clinic, "precision", shift=KnownPriors(1 / 3)).decide(few)
    assert width(open_) > 1.1 * width(told)
    assert abstainer_for(clinic, "precision").decide(few).estimate == open_.estimate


def test_intervals_hold_the_uncertainty_of_the_calibration():
    """A tenth of the labelled rows, the same batch: less is known of what a score means."""
    widths = []
    for rows in (200, 2_000):
        few = screening_clinic(rows, 2_000, random_state=0)
        abstainer = Abstainer("f1", budget=0.1, scale="logits", random_state=0)
        widths.append(width(abstainer.fit(few.scores_val, few.y_val).decide(few.scores_target)))
    assert widths[0] > 1.3 * widths[1]


def test_rates_are_targets_for_two_classes():
    with pytest.raises(ValueError, match="which are for two classes"):
        Abstainer("accuracy", target={"sensitivity": 0.9}, calibration="temperature").fit(
            np.full((6, 3), 1 / 3), np.arange(6) % 3
        )


def test_classes_that_scores_do_not_tell_apart_are_named():
    rng = np.random.default_rng(0)
    names = np.array(["flu", "cold", "well"])
    y = rng.integers(3, size=600)
    sick = np.where(y < 2, 0.8, 0.1) + rng.uniform(-0.05, 0.05, 600)
    scores = np.column_stack([sick / 2, sick / 2, 1 - sick])
    settings = {"budget": 0.1, "calibration": "identity", "random_state": 0}
    abstainer = Abstainer("accuracy", shift="em", **settings)
    abstainer.fit(scores, names[y], classes=names)
    with pytest.raises(NotIdentifiable, match="These columns are the classes 'flu', 'cold'"):
        abstainer.decide(scores)


def test_percentages_are_taken_and_kept_as_numbers():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    y = (rng.random(400) < p).astype(int)
    found = Abstainer("accuracy", budget="15%").fit(p, y).decide(p)
    assert found.abstain.sum() == 60
    assert found.policy.selection.budget == 0.15
    reached = Abstainer("accuracy", target={"accuracy": "80%"}).fit(p, y).decide(p)
    assert reached.policy.selection.target == {"accuracy": 0.8}


@pytest.mark.parametrize("weight", [None, np.arange(1.0, 7.0)])
def test_a_budget_next_to_everything_leaves_a_row(weight):
    p = np.linspace(0.1, 0.9, 6)
    settings = {"calibration": "identity", "shift": "none", "random_state": 0}
    found = Abstainer("accuracy", budget=1 - 1e-10, **settings)
    decided = found.fit(p, (p > 0.5).astype(int)).decide(p, weight)
    assert 0 < decided.abstain.sum() < 6


def test_a_prior_range_that_is_no_pair_is_named():
    p = np.linspace(0.1, 0.9, 60)
    abstainer = Abstainer("accuracy", target=0.7, confidence=0.9, prior_range=3)
    with pytest.raises(ValueError, match=r"`prior_range` must be a pair.*got 3"):
        abstainer.fit(p, (p > 0.5).astype(int))
