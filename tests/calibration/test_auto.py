"""What auto picks on ties, coarse scores, weights and few rows."""

import numpy as np
import pytest

from abstain import calibration
from abstain.calibration import AutoCalibration, log_loss
from abstain.calibration._folds import Folds

#: A score of eight values, each with its own frequency of positives; 0.31 of all are.
GIVEN = np.array([0.1, 0.2, 0.35, 0.45, 0.55, 0.65, 0.8, 0.9])
TRUE = np.array([0.05, 0.1, 0.12, 0.3, 0.6, 0.62, 0.64, 0.95])
SHARE = np.array([0.2, 0.18, 0.15, 0.14, 0.12, 0.1, 0.06, 0.05])


def coarse(n, seed=0):
    rng = np.random.default_rng(seed)
    level = rng.choice(8, size=n, p=SHARE)
    return GIVEN[level], (rng.uniform(size=n) < TRUE[level]).astype(int)


def binary(n, seed, slope=1.0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    return slope * (2 * y - 1 + 1.4 * rng.normal(size=n)), y


def dealt(scores, y, weight=None, n_folds=5):
    logits = np.column_stack([np.zeros(len(y)), scores])
    return Folds.deal(logits, y, np.ones(len(y)) if weight is None else weight, n_folds)


def test_few_rows_of_one_score_stay_together():
    rng = np.random.default_rng(0)
    scores = np.repeat(rng.normal(size=100), 3)
    y = rng.integers(2, size=300)
    folds = dealt(scores, y)
    for value in np.unique(scores):
        assert len(np.unique(folds.fold[scores[folds.rows] == value])) == 1
    assert folds.weight.sum() == 300


def test_no_fold_lacks_a_score_that_is_often_taken():
    scores, y = coarse(1000)
    folds = dealt(scores, y)
    assert folds.n_levels == 8
    assert folds.weight.sum() == pytest.approx(1000)
    for value in GIVEN:
        here = scores[folds.rows] == value
        sizes = np.bincount(folds.fold[here], folds.weight[here], minlength=5)
        assert np.ptp(sizes) <= 1
        # The share of positives is that of a draw, not the same in all folds.
        positive = here & (y[folds.rows] == 1)
        assert np.ptp(np.bincount(folds.fold[positive], folds.weight[positive], minlength=5)) > 1


def test_folds_are_alike_in_classes_and_size():
    scores, y = binary(203, seed=0)
    folds = dealt(scores, y)
    counts = np.zeros((5, 2))
    np.add.at(counts, (folds.fold, y[folds.rows]), folds.weight)
    assert np.ptp(counts, axis=0).max() <= 1


@pytest.mark.parametrize("make", [coarse, lambda n: binary(n, seed=1)])
def test_folds_take_a_whole_weight_for_repetition(make):
    scores, y = make(200)
    weight = np.random.default_rng(0).integers(1, 8, size=200)
    one = dealt(scores, y, weight.astype(float))
    many = dealt(np.repeat(scores, weight), np.repeat(y, weight))
    rows = np.repeat(np.arange(200), weight)[many.rows]
    parts = [
        sorted(zip(scores[which], y[which], folds.fold, folds.weight, strict=True))
        for which, folds in ((one.rows, one), (rows, many))
    ]
    np.testing.assert_allclose(*parts)


def test_folds_of_any_weights():
    scores, y = coarse(300)
    for weight in (np.full(300, 0.013), np.full(300, 1e9), np.geomspace(1e-3, 1e6, 300)):
        folds = dealt(scores, y, weight)
        assert folds.weight.sum() == pytest.approx(weight.sum())
        assert (folds.weight > 0).all()


def test_coarse_scores_do_not_make_the_identity_win():
    for seed in range(5):
        scores, y = coarse(1000, seed)
        auto = AutoCalibration().fit(scores, y)
        assert auto.selected_ != "identity"
        prevalence = auto.predict_proba(GIVEN)[:, 1] @ SHARE
        assert prevalence == pytest.approx(SHARE @ TRUE, abs=0.04)


def test_coarse_scores_get_their_frequencies():
    scores, y = coarse(4000)
    auto = AutoCalibration().fit(scores, y)
    assert auto.selected_ == "isotonic"
    proba = auto.predict_proba(GIVEN)[:, 1]
    assert (np.diff(proba) > 0).all()
    assert np.abs(proba - TRUE) @ SHARE < 0.02
    identity = np.abs(GIVEN - TRUE) @ SHARE
    assert np.abs(proba - TRUE) @ SHARE < identity / 5
    assert auto.predict_proba(scores)[:, 1].mean() == pytest.approx(y.mean(), abs=1e-12)


def test_isotonic_is_no_candidate_for_scores_of_many_values():
    assert "isotonic" not in AutoCalibration(scale="logits").fit(*binary(500, 0)).cv_scores_


def test_coarse_scores_with_weights_equal_repetition():
    scores, y = coarse(400)
    weight = np.arange(400) % 4
    weighted = AutoCalibration().fit(scores, y, weight)
    repeated = AutoCalibration().fit(np.repeat(scores, weight), np.repeat(y, weight))
    assert weighted.selected_ == repeated.selected_
    assert weighted.cv_scores_ == pytest.approx(repeated.cv_scores_)
    np.testing.assert_allclose(
        weighted.predict_proba(GIVEN), repeated.predict_proba(GIVEN), atol=1e-9
    )


def test_separable_rows_do_not_make_the_boldest_win():
    # Scores that are sure of everything have no loss on forty rows without an error.
    y = np.arange(40) % 2
    scores = 50.0 * (2 * y - 1) * (1 + np.random.default_rng(0).exponential(size=40))
    auto = AutoCalibration(scale="logits").fit(scores, y)
    assert auto.selected_ != "identity"
    own = auto.predict_proba(scores)[np.arange(40), y]
    assert 0.93 < own.mean() < 0.98


@pytest.mark.parametrize("slope", [0.3, 1.0, 4.0])
def test_fifty_rows_are_close_to_the_best_candidate(slope):
    new, y_new = binary(4000, seed=999, slope=slope)
    losses = {name: [] for name in ("identity", "temperature", "platt", "beta", "auto")}
    for seed in range(20):
        scores, y = binary(50, seed, slope)
        for name, values in losses.items():
            fitted = calibration.get(name, scale="logits").fit(scores, y)
            values.append(log_loss(y_new, fitted.predict_proba(new)))
    best = min(np.mean(values) for name, values in losses.items() if name != "auto")
    assert np.mean(losses["auto"]) < 1.1 * best
    assert max(losses["auto"]) < 1.5 * best
