"""Is there a shift, and is it label shift? With false alarms and detections simulated."""

import numpy as np
import pytest
from scipy import stats

from abstain.exceptions import AssumptionWarning
from abstain.shift import check_label_shift, detect_shift

SOURCE = np.array([0.5, 0.3, 0.2])


def drawn(rng, priors, n, *, offset=0.0, spread=1.0):
    k = len(priors)
    y = rng.choice(k, size=n, p=priors)
    x = spread * rng.normal(size=(n, k)) + 1.5 * np.eye(k)[y]
    x[:, 0] += offset
    odds = np.exp(1.5 * x) * SOURCE[:k]
    return odds / odds.sum(axis=1, keepdims=True), y


def test_two_classes_are_the_welch_test():
    rng = np.random.default_rng(0)
    source, target = rng.uniform(size=40), rng.uniform(size=30) ** 1.3
    test = detect_shift(source, target)
    welch = stats.ttest_ind(target, source, equal_var=False)
    assert test.statistic == pytest.approx(welch.statistic**2)
    assert test.degrees_of_freedom == 1
    assert test.p_value == pytest.approx(welch.pvalue, abs=0.01)
    assert test.difference[1] == pytest.approx(target.mean() - source.mean())


def test_weights_equal_repetition():
    rng = np.random.default_rng(1)
    source, _ = drawn(rng, SOURCE, 200)
    target, _ = drawn(rng, SOURCE[::-1], 150)
    a, b = rng.integers(1, 4, size=200), rng.integers(1, 4, size=150)
    weighted = detect_shift(source, target, sample_weight_source=a, sample_weight_target=b)
    repeated = detect_shift(np.repeat(source, a, axis=0), np.repeat(target, b, axis=0))
    assert weighted.p_value == pytest.approx(repeated.p_value)


def test_summaries_are_in_plain_words():
    rng = np.random.default_rng(2)
    source, y = drawn(rng, SOURCE, 1000)
    moved, _ = drawn(rng, SOURCE[::-1], 1000)
    names = ["healthy", "mild", "severe"]
    test = detect_shift(source, moved, classes=names)
    assert test.shifted
    assert "The class proportions moved" in test.summary()
    assert "that of class healthy, by -0.154" in test.summary()
    same = detect_shift(source, source)
    assert same.p_value == 1
    assert same.summary().startswith("No shift shown")
    check = check_label_shift(source, moved, y)
    assert check.fits
    assert check.summary().startswith("Label shift explains the batch")
    np.testing.assert_allclose(check.priors, SOURCE[::-1], atol=0.08)
    np.testing.assert_allclose(check.observed.sum(), 1)
    np.testing.assert_allclose(check.expected.sum(), 1)


def test_no_mixture_fits_and_the_evidence_is_given():
    rng = np.random.default_rng(3)
    source, y = drawn(rng, SOURCE, 1000)
    noisy, _ = drawn(rng, SOURCE, 1000, spread=2.0)
    with pytest.warns(AssumptionWarning, match="Label shift does not explain the batch"):
        check = check_label_shift(source, noisy, y, classes=["a", "b", "c"])
    assert not check.fits
    assert "is predicted class" in check.summary()
    assert "where the best mixture has" in check.summary()


def test_constant_scores_and_few_rows():
    flat = np.tile([[0.4, 0.6]], (30, 1))
    assert detect_shift(flat, flat[:5]).p_value == 1
    assert detect_shift(flat, np.tile([[0.5, 0.5]], (5, 1))).p_value == 0
    check = check_label_shift(flat, flat[:5], np.arange(30) % 2)
    assert check.degrees_of_freedom == 0
    assert check.fits
    assert "cannot be checked" in check.summary()
    assert detect_shift([[0.3, 0.7]], [[0.4, 0.6]]).p_value in (0.0, 1.0)


def test_likelihood_ratio_by_hand():
    # Two cells, one class: the mixture is that class, so the ratio is the G test of a 2 x 2
    # table of source and target by cell.
    from abstain.shift._mixture_ratio import likelihood_ratio

    source, target = np.array([[60.0], [40.0]]), np.array([30.0, 50.0])
    ratio, mixture, shares = likelihood_ratio(source, target)
    table = np.column_stack([source[:, 0], target])
    expected = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
    assert ratio == pytest.approx(expected.statistic, abs=1e-5)
    assert mixture.tolist() == [1.0]
    np.testing.assert_allclose(shares[:, 0], [90 / 180, 90 / 180], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "n_source", "n_target"), [(2, 500, 500), (3, 1000, 400)])
def test_false_alarms_and_detections(k, n_source, n_target):
    rng = np.random.default_rng(0)
    priors = SOURCE[:k] / SOURCE[:k].sum()
    repeats = 500
    alarms = np.zeros(4)
    for _ in range(repeats):
        source, y = drawn(rng, priors, n_source)
        same, _ = drawn(rng, priors, n_target)
        moved, _ = drawn(rng, priors[::-1], n_target)
        noisy, _ = drawn(rng, priors, n_target, spread=1.6)
        alarms += [
            detect_shift(source, same).shifted,
            detect_shift(source, moved).shifted,
            not check_label_shift(source, moved, y, level=0.05, warn=False).fits,
            not check_label_shift(source, noisy, y, level=0.05, warn=False).fits,
        ]
    rates = alarms / repeats
    # Two standard errors of a rate of 0.05 are 0.02.
    assert rates[0] == pytest.approx(0.05, abs=0.025)
    assert rates[1] > 0.95
    assert rates[2] == pytest.approx(0.05, abs=0.025)
    assert rates[3] > 0.8


@pytest.mark.parametrize("function", [check_label_shift, detect_shift])
@pytest.mark.parametrize(
    ("classes", "message"),
    [(["a"], "name each of the 2 score columns; got 1"), (["a", None], "no label"),
     (["a", "a"], "distinct"), (["a", object()], "must be text")],
)  # fmt: skip
def test_classes_are_labels_of_the_columns(function, classes, message):
    p = np.linspace(0.01, 0.99, 100)
    proba = np.column_stack([1 - p, p])
    more = [(p > 0.5).astype(int)] if function is check_label_shift else []
    with pytest.raises((ValueError, TypeError), match=message):
        function(proba, proba, *more, classes=classes)
