import numpy as np
import pytest

from abstain import metrics
from abstain.metrics import AUROC, NetBenefit

NAMES = [
    "auroc",
    "average-precision",
    "net-benefit=0.3",
    "partial-auroc=0.2",
    "precision@recall=0.8",
    "recall@precision=0.8",
    "sensitivity@specificity=0.9",
    "specificity@sensitivity=0.9",
]


def withheld_by(region, p):
    return region.contains(np.column_stack([1 - p, p]), np.zeros(len(p), dtype=np.intp))


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_each_budget_is_the_choice_of_that_budget(name, rounded):
    metric = metrics.get(name)
    p = np.random.default_rng(0).beta(0.7, 1.5, size=400)
    p = p.round(2) if rounded else p
    budgets = [0, 0.01, 0.1, 0.25, 0.6]
    curve = metric.curve(p, budgets)
    np.testing.assert_array_equal(curve.budgets, budgets)
    for budget, value, weight, region in zip(
        budgets, curve.values, curve.withheld, curve.regions, strict=True
    ):
        mask = withheld_by(region, p)
        assert mask.sum() == weight <= budget * len(p)
        assert value == pytest.approx(metric.expected(p[~mask]), abs=1e-9)
        choice = metric.choose(np.column_stack([1 - p, p]), budget * len(p))
        assert choice.region == region
    assert curve.values[0] == pytest.approx(metric.expected(p))


@pytest.mark.parametrize("name", NAMES)
def test_more_budget_is_not_worse_on_a_large_batch(name):
    p = np.random.default_rng(1).beta(0.7, 1.5, size=20_000)
    values = metrics.get(name).curve(p, np.linspace(0, 0.6, 13)).values
    assert (np.diff(values) >= -1e-6).all()


def test_weights_make_the_budget_a_share_of_the_weight():
    p, weight = np.array([0.1, 0.4, 0.6, 0.9]), np.array([1.0, 3.0, 2.0, 2.0])
    curve = AUROC().curve(p, [0.25, 0.7], sample_weight=weight)
    assert (curve.withheld <= 0.7 * 8).all()
    assert curve.withheld[0] == 2.0


@pytest.mark.parametrize("budget", [1.0, -0.1])
def test_a_budget_is_a_fraction(budget):
    with pytest.raises(ValueError, match=r"`budget` must be a fraction in \[0, 1\)"):
        AUROC().curve([0.2, 0.8], [0.1, budget])


def test_net_benefit_withholds_people_at_the_threshold():
    p = np.random.default_rng(2).random(1000)
    region = NetBenefit(0.3).curve(p, [0.1]).regions[0]
    # Past the last row of those below the threshold, before the first of the others.
    assert p[p < 0.3].max() <= region.upper < p[p >= 0.3].min()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "net-benefit=0.3"])
def test_observed_windows_are_observed_values_without_them(name):
    rng = np.random.default_rng(3)
    p = np.sort(rng.random(40))
    y = (rng.random(40) < p).astype(int)
    metric = metrics.get(name)
    kept = [np.r_[0:start, start + 10 : 40] for start in range(31)]
    np.testing.assert_allclose(
        metric.observed_window_values(y, p, 10),
        [metric.observed(y[keep], p[keep]) for keep in kept],
    )


def test_average_precision_narrows_its_search_on_uneven_atoms(monkeypatch):
    rng = np.random.default_rng(4)
    p, weight = rng.beta(0.7, 1.5, size=3000), rng.uniform(0.5, 2, size=3000)
    metric = metrics.get("average-precision")
    all_windows = metric.curve(p, [0.2], sample_weight=weight)
    monkeypatch.setattr("abstain.metrics._areas.MOST_WORK", 0)
    narrowed = metric.curve(p, [0.2], sample_weight=weight)
    assert narrowed.values[0] == pytest.approx(all_windows.values[0], abs=1e-4)
