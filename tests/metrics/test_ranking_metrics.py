import json

import numpy as np
import pytest
import ranking_reference as reference
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from abstain import metrics
from abstain.metrics import AUROC, SensitivityAtSpecificity
from abstain.regions import Interval
from abstain.rules import Argmax, Threshold

METRICS = {
    "auroc": reference.auroc,
    "average-precision": reference.average_precision,
    "net-benefit=0.3": reference.net_benefit(0.3),
    "partial-auroc=0.3": reference.sklearn_partial_auroc,
    "precision@recall=0.8": reference.precision_at_recall(0.8),
    "recall@precision=0.6": reference.recall_at_precision(0.6),
    "sensitivity@specificity=0.5": reference.sensitivity_at_specificity(0.5),
    "sensitivity@specificity=0.9": reference.sensitivity_at_specificity(0.9),
    "specificity@sensitivity=0.8": reference.specificity_at_sensitivity(0.8),
}
# Expectations of ratios are not the ratios of expectations; both are close on large batches.
ONE_CLASS_IS_ENOUGH = {
    "net-benefit=0.3",
    "average-precision",
    "precision@recall=0.8",
    "recall@precision=0.6",
}
every_metric = pytest.mark.parametrize("name", METRICS)

# Few distinct values, so that ties are common. What rounding alone tells apart is tied too, which
# the reference does not know.
probabilities = st.lists(
    st.sampled_from([0.0, 0.01, 0.2, 0.35, 0.5, 0.62, 0.9, 0.999, 1.0])
    | st.floats(0.001, 0.999, allow_nan=False).map(lambda p: round(p, 9)),
    min_size=1,
    max_size=10,
)


def columns(p):
    p = np.asarray(p, dtype=float)
    return np.column_stack([1 - p, p])


@every_metric
@given(p=probabilities, data=st.data())
def test_every_window_equals_brute_force(name, p, data):
    metric, slow = metrics.get(name), METRICS[name]
    capacity = data.draw(st.integers(0, len(p)))
    np.testing.assert_allclose(
        metric.window_values(p, capacity),
        reference.window_values(slow, p, capacity),
        atol=1e-9,
    )


@every_metric
@given(p=probabilities, data=st.data())
def test_every_window_equals_brute_force_with_weights(name, p, data):
    metric, slow = metrics.get(name), METRICS[name]
    some = st.sampled_from([0.25, 0.5, 1.0, 1.3, 2.0, 7.5])
    weight = data.draw(st.lists(some, min_size=len(p), max_size=len(p)))
    capacity = data.draw(st.floats(0, sum(weight)))
    np.testing.assert_allclose(
        metric.window_values(p, capacity, sample_weight=weight),
        reference.window_values(slow, p, capacity, weight),
        atol=1e-9,
    )


@every_metric
@given(p=probabilities, data=st.data())
def test_what_rounding_alone_tells_apart_is_tied(name, p, data):
    metric = metrics.get(name)
    capacity = data.draw(st.integers(0, len(p)))
    # Whether a class is there at all hangs on the ends, which stay.
    moved = np.nextafter(p, data.draw(st.sampled_from([0.0, 1.0])))
    nearly = np.where(np.isin(p, [0.0, 1.0]), p, moved)
    twice = metric.window_values([*p, *p], capacity)
    np.testing.assert_allclose(metric.window_values([*p, *nearly], capacity), twice, atol=1e-9)


@every_metric
@given(p=probabilities, data=st.data())
def test_observed_equals_brute_force(name, p, data):
    metric, slow = metrics.get(name), METRICS[name]
    y = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(p), max_size=len(p))))
    weight = data.draw(st.lists(st.sampled_from([1.0, 2.5]), min_size=len(p), max_size=len(p)))
    np.testing.assert_allclose(
        metric.observed(y, p, sample_weight=weight),
        slow(y, np.array(p), np.array(weight)),
        atol=1e-12,
    )


@every_metric
@given(p=probabilities, data=st.data())
def test_whole_weights_equal_repetition(name, p, data):
    metric = metrics.get(name)
    counts = data.draw(st.lists(st.integers(1, 3), min_size=len(p), max_size=len(p)))
    capacity = data.draw(st.integers(0, sum(counts)))
    np.testing.assert_allclose(
        metric.window_values(p, capacity, sample_weight=counts),
        metric.window_values(np.repeat(p, counts), capacity),
        atol=1e-9,
    )


@every_metric
@given(p=probabilities, data=st.data())
def test_choice_is_the_best_window_within_capacity(name, p, data):
    metric, slow = metrics.get(name), METRICS[name]
    capacity = data.draw(st.integers(0, len(p) - 1))
    choice = metric.choose(columns(p), capacity, decision="argmax")
    withheld = choice.region.contains(columns(p), np.zeros(len(p), dtype=np.intp))
    assert withheld.sum() <= capacity
    assert isinstance(choice.rule, Argmax)
    best = np.append(reference.window_values(slow, p, capacity), metric.expected(p))
    if not np.isnan(best).all():
        after = slow(*reference.doubled(np.array(p)[~withheld]))
        assert after == pytest.approx(np.nanmax(best), abs=1e-9)


def test_auroc_of_soft_labels_is_that_of_doubled_data():
    p = np.random.default_rng(0).random(200).round(2)
    y, score, weight = reference.doubled(p)
    assert AUROC().expected(p) == pytest.approx(roc_auc_score(y, score, sample_weight=weight))


def test_auroc_near_the_papers_exclusive_sum():
    p = np.sort(np.random.default_rng(1).random(2000))
    below = np.cumsum(1 - p) - (1 - p)
    papers = (p * below).sum() / (p.sum() * (1 - p).sum())
    assert AUROC().expected(p) == pytest.approx(papers, abs=1 / 2000)


def test_sensitivity_by_hand():
    # Negatives at 0.1, 0.2, 0.6; a specificity of 2/3 allows the one at 0.6 above.
    y, p = [0, 0, 1, 0, 1], [0.1, 0.2, 0.5, 0.6, 0.7]
    assert SensitivityAtSpecificity(2 / 3).observed(y, p) == 1.0
    assert SensitivityAtSpecificity(0.7).observed(y, p) == 0.5
    assert SensitivityAtSpecificity(1.0).observed(y, p) == 0.5
    assert SensitivityAtSpecificity(0.0).observed(y, p) == 1.0


@pytest.mark.parametrize("negatives", [10, 100, 1000])
@pytest.mark.parametrize("level", [0.9, 0.7, 0.99, 0.3])
def test_levels_agree_with_whole_numbers(negatives, level):
    allowed = round((1 - level) * negatives * 1000) // 1000
    p = np.linspace(0.01, 0.99, negatives + 1)
    y = np.zeros(negatives + 1)
    y[-1 - allowed] = 1
    assert SensitivityAtSpecificity(level).observed(y, p) == 1.0


@every_metric
def test_one_class_only_is_undefined(name):
    metric = metrics.get(name)
    only_positives = metric.observed([1, 1], [0.3, 0.6])
    assert np.isnan(only_positives) == (name not in ONE_CLASS_IS_ENOUGH)
    only_negatives = metric.observed([0, 0], [0.3, 0.6])
    assert np.isnan(only_negatives) == (name != "net-benefit=0.3")


@every_metric
@pytest.mark.parametrize("p", [[0.3] * 5, [0.0, 1.0], [0.5], [1e-9] * 3 + [0.4, 1 - 1e-9]])
def test_degenerate_batches_choose_within_capacity(name, p):
    metric = metrics.get(name)
    for capacity in range(len(p)):
        region = metric.choose(columns(p), capacity).region
        assert region.contains(columns(p), np.zeros(len(p), dtype=np.intp)).sum() <= capacity


def test_nothing_is_withheld_without_gain():
    choice = AUROC().choose(columns([0.0, 0.0, 1.0, 1.0]), 2)
    assert choice.region == Interval.empty()


def test_optimal_rule_is_the_operating_threshold():
    p = np.sort(np.random.default_rng(2).random(500))
    metric = SensitivityAtSpecificity(0.9)
    choice = metric.choose(columns(p), 50, decision="optimal")
    withheld = choice.region.contains(columns(p), np.zeros(500, dtype=np.intp))
    assert isinstance(choice.rule, Threshold)
    kept = p[~withheld]
    above = kept >= choice.rule.threshold
    assert kept[above].sum() / kept.sum() == pytest.approx(metric.expected(kept))
    assert (1 - kept[~above]).sum() / (1 - kept).sum() >= 0.9


@every_metric
def test_bins_choose_nearly_as_well(name):
    metric = metrics.get(name)
    binned = metric.restored({"estimation": {"bins": 4096}})
    p = np.random.default_rng(3).beta(0.5, 2, size=20_000)
    exact, coarse = (m.choose(columns(p), 3000).region for m in (metric, binned))
    nobody = np.zeros(len(p), dtype=np.intp)
    after = [metric.expected(p[~r.contains(columns(p), nobody)]) for r in (exact, coarse)]
    assert after[1] == pytest.approx(after[0], abs=1e-3)


@every_metric
def test_draws_average_to_the_expected_value(name):
    metric = metrics.get(name)
    p = np.random.default_rng(4).beta(1, 2, size=4000)
    draws = metric.draws(columns(p), n_draws=200, seed=7)
    assert draws.mean() == pytest.approx(
        metric.expected(p), abs=4 * draws.std() / 200**0.5 + 0.003
    )
    np.testing.assert_array_equal(draws, metric.draws(columns(p), n_draws=200, seed=7))
    assert (draws != metric.draws(columns(p), n_draws=200, seed=8)).any()


@every_metric
def test_draws_of_merged_atoms_spread_alike(name):
    metric = metrics.get(name)
    p = np.random.default_rng(5).beta(1, 8, size=60_000)
    draws = metric.draws(columns(p), n_draws=100, seed=1)
    rng = np.random.default_rng(6)
    plain = [metric.observed(rng.random(len(p)) < p, p) for _ in range(60)]
    assert draws.mean() == pytest.approx(np.mean(plain), abs=4 * np.std(plain) / 60**0.5)
    assert draws.std() == pytest.approx(np.std(plain), rel=0.4)


@pytest.mark.parametrize("name", METRICS)
def test_names_round_trip(name):
    metric = metrics.get(name)
    assert metric.name == name
    assert metric.to_dict() == {"name": name}
    binned = metric.restored({"estimation": {"bins": 256}})
    assert metrics.from_dict(json.loads(json.dumps(binned.to_dict()))).bins == 256


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.get("sensitivity@specificity"), "needs its specificity, as in 'sens"),
        (lambda: metrics.get("sensitivity@specificity=high"), "got 'high'"),
        (lambda: metrics.get("sensitivity@specificity=99"), r"must be in \[0, 1\]; got 99"),
        (lambda: metrics.get("auroc=0.5"), "takes no argument; got '0.5'"),
        (lambda: AUROC(bins=1000), "`bins` must be a power of two, such as 65536 and at most"),
        (lambda: AUROC().expected([0.2, 1.2]), r"probabilities in \[0, 1\]"),
        (lambda: AUROC().expected([[0.2, 0.3, 0.5]]), "is for two classes; the scores have 3"),
    ],
)
def test_errors_say_what_to_do(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@every_metric
@pytest.mark.parametrize("rare", ["positives", "negatives"])
def test_a_class_that_is_nearly_absent_keeps_its_digits(name, rare):
    metric, slow = metrics.get(name), METRICS[name]
    p = np.array([1e-8, 5e-8, 2e-7, 1e-6, 3e-6, 4e-6])
    p = p if rare == "positives" else 1 - p
    np.testing.assert_allclose(
        metric.window_values(p, 2), reference.window_values(slow, p, 2), rtol=1e-6, atol=1e-12
    )
