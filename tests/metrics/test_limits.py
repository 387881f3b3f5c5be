"""How much may be asked of a metric, and what a sampled one leaves out."""

import numpy as np
import pytest

from abstain import Abstainer, calibration, metrics, shift
from abstain.metrics import AUROC, FBeta, SampledMetric, TopKAccuracy, WeightedKappa


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AUROC(bins=2**28), "`bins` must be a power of two"),
        (lambda: AUROC(n_samples=10**6), "`n_samples` must be at most 100,000"),
        (lambda: AUROC(smoothing=10**9), "`smoothing` must be"),
        (lambda: AUROC(smoothing=(10**9 + 1, 1)), "`smoothing` must be"),
        (lambda: WeightedKappa(n_samples=10**6), "`n_samples` must be at most 100,000"),
        (lambda: SampledMetric(max, n_samples=10**6), "`n_samples` must be at most 100,000"),
        (lambda: SampledMetric(max, n_groups=10**6), "`n_groups` must be at most 10,000"),
        (lambda: TopKAccuracy(10**9), "`k` must be at most 1,000,000"),
        (lambda: metrics.get("top-k=" + "9" * 5000), "needs a whole number"),
        (lambda: metrics.get("fbeta:1e300"), "`beta` must be a positive number, from"),
        (lambda: metrics.get("kappa:" + "[" * 100_000), "which must be rows of numbers"),
        (lambda: metrics.get("cost:[[0,1e300],[1,0]]"), "`costs` must be 0, or from"),
        (lambda: AUROC().draws([0.1, 0.9], n_draws=10**9, seed=0), "`n_draws` must be at most"),
        (
            lambda: calibration.brier_score([0, 1], [0.1, 0.9], n_bins=2**40),
            "`n_bins` must be at most",
        ),
        (
            lambda: calibration.AutoCalibration(cv=10**9).fit([0.1, 0.9], [0, 1]),
            "`cv` must be at most",
        ),
        (
            lambda: shift.MaximumLikelihoodShift(max_iter=10**9).fit([0.1, 0.9], [0.2, 0.3]),
            "`max_iter` must be at most",
        ),
    ],
)
def test_more_than_anybody_needs_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_sampled_matrices_of_many_classes_are_limited_too():
    kappa = WeightedKappa(solver="marginal", method="sampled", n_samples=20_000)
    with pytest.raises(ValueError, match="`n_samples` must be at most 13,421 for 100 classes"):
        kappa.choose(np.full((3, 100), 0.01), 1)


@pytest.mark.parametrize("name", ["x" * 5000, "\0", "/"])
def test_costs_of_a_name_that_no_file_can_have(name):
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        metrics.get(f"cost:{name}")


@pytest.mark.parametrize("beta", [2, 0.5, 1.23456789, 1 / 3, 1e6])
def test_a_name_tells_beta_to_the_last_digit(beta):
    assert metrics.get(FBeta(beta).name).beta == beta


class Picky:
    """A function that raises on some label vectors, as scikit-learn does where undefined."""

    __name__ = "picky"

    def __init__(self, fails):
        self.calls, self.fails = 0, fails

    def __call__(self, y_true, y_score, sample_weight=None):
        self.calls += 1
        if self.fails(self.calls):
            raise ValueError("Only one class present in y_true.")
        return float(np.mean((y_score > 0.5) == y_true))


def test_a_draw_that_raises_is_left_out_though_it_is_the_first():
    proba = np.linspace(0.1, 0.9, 9)
    values = SampledMetric(Picky(lambda call: call == 1)).draws(proba, n_draws=4, seed=0)
    assert np.isnan(values).tolist() == [True, False, False, False]
    assert np.isfinite(SampledMetric(Picky(lambda call: call == 1)).expected(proba))


def test_every_other_draw_that_raises_is_left_out_of_a_flow():
    y = np.arange(30) % 2
    p = np.clip(0.3 * y + 0.6 * np.linspace(0, 1, 30), 0.01, 0.99)
    metric = SampledMetric(Picky(lambda call: call % 2), n_samples=4)
    found = Abstainer(metric, budget=0.2, calibration="identity", shift="none").fit(p, y).decide(p)
    assert found.abstain.sum() <= 6


def test_a_function_that_always_raises_is_told():
    metric = SampledMetric(Picky(lambda call: True))
    with pytest.raises(ValueError, match="`function` raised an error on each of 100 label"):
        metric.expected(np.linspace(0.1, 0.9, 9))
