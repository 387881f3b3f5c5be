"""Promises are judged rightly: rules, populations, broken and declined, and the verdict."""

import numpy as np
import pytest
from benchmarks.honesty.sets import Pool
from benchmarks.honesty.shifts import drawn
from benchmarks.proof import targets
from benchmarks.proof._mapie import _some_of, accuracy_control, between, rates_control


def numbered(n=3_000):
    """A pool whose scores tell the row, right where they are far from one half."""
    p = (np.arange(n) + 0.5) / n
    y = (np.random.default_rng(0).uniform(size=n) < p).astype(int)
    return Pool("numbered", p, y, "probabilities")


@pytest.mark.parametrize("shift", ["none", "label"])
def test_validation_batch_and_the_others_share_no_row(shift):
    part, others = drawn(numbered(), shift, 0, size=500)
    rows = np.concatenate([part.scores_val, part.scores, numbered().scores[others]])
    assert len(part.y_val) == 500
    assert len(part.y) <= 500
    assert len(np.unique(rows)) == len(rows) == 3_000


def test_the_threshold_at_validation_by_hand():
    proba = np.array([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]])
    # Right, right, wrong, right: three of four are 0.75, two of two are 1.
    y = np.array([0, 1, 0, 1])
    all_kept = targets.threshold_at(proba, y, 0.75)(proba)
    np.testing.assert_array_equal(all_kept, [0, 1, 1, 1])
    np.testing.assert_array_equal(
        targets.threshold_at(proba, y, 0.8)(proba), [0, 1, np.nan, np.nan]
    )
    assert targets.threshold_at(proba, 1 - y, 0.9) is None


def test_equal_probabilities_are_kept_together():
    proba = np.array([[0.1, 0.9], [0.3, 0.7], [0.3, 0.7]])
    # The second would do, but the third has the same probability and is wrong.
    rule = targets.threshold_at(proba, np.array([1, 1, 0]), 0.9)
    np.testing.assert_array_equal(rule(proba), [1, np.nan, np.nan])


def test_values_of_the_kept_by_hand():
    y, predicted = np.array([0, 0, 1, 1]), np.array([0, np.nan, 0, 1])
    assert targets._accuracy(y, predicted, np.ones(4)) == pytest.approx(2 / 3)
    assert targets._accuracy(y, predicted, np.array([3, 9, 1, 1])) == pytest.approx(0.8)
    assert targets._lower_rate(y, predicted, np.ones(4)) == 0.5
    assert targets._accuracy(y, np.full(4, np.nan), np.ones(4)) == np.inf


def test_the_population_gets_the_proportions_of_a_moved_batch():
    part, others = drawn(numbered(), "label", 3, size=500)
    pool = numbered()
    bench = targets.Bench(part, pool.scores[others], pool.y[others], moved=True)
    share = bench.weight @ bench.y / bench.weight.sum()
    assert share == pytest.approx(part.y.mean())
    assert (targets.Bench(part, bench.scores, bench.y, moved=False).weight == 1).all()


def test_a_rule_is_judged_on_both():
    part, others = drawn(numbered(), "none", 0, size=500)
    pool = numbered()
    bench = targets.Bench(part, pool.scores[others], pool.y[others], moved=False)
    judged = bench.judged(lambda p: np.where(p > 0.5, 1.0, np.nan), targets._accuracy, 0.6)
    kept = bench.scores > 0.5
    assert judged.population == pytest.approx(bench.y[kept].mean() - 0.6)
    assert judged.withheld == pytest.approx((part.scores <= 0.5).mean())
    assert bench.judged(None, targets._accuracy, 0.6) is None


def test_broken_and_declined_are_counted_apart():
    judged = [targets.Judged(-0.01, 0.02, 0.2), targets.Judged(0.01, -0.02, 0.4), None, None]
    line = targets._summed(judged)
    assert (line["runs"], line["declined"], line["broken"]) == (4, 2, 0.5)
    assert line["±"] == pytest.approx(np.sqrt(0.25 / 2))
    assert line["withheld"] == pytest.approx(0.3)
    assert line["with declined as all"] == pytest.approx(2.6 / 4)
    assert np.isnan(targets._summed([None])["broken"])


def lines(broken, declined, withheld):
    counts = (40, 40 - declined, broken, broken, withheld * (40 - declined))
    return targets._shares(*counts)


def made_up(**figures):
    """Lines of two sets alike, from (broken, declined, withheld) of each method."""
    rows = [
        {"promise": targets.ACCURACY, "shift": shift, "method": method} | lines(*these)
        for shift, methods in figures.items()
        for method, these in methods.items()
    ]
    return {"clinic": rows, "imdb": rows}


def test_the_verdict_says_losses_first():
    found = made_up(
        none={"ours": (0, 0, 0.3), "MAPIE": (0, 0, 0.2)},
        label={"ours": (20, 0, 0.3), "MAPIE": (30, 0, 0.2)},
    )
    said = targets.verdict(found)
    assert said.startswith("**MAPIE withholds less** for accuracy, no shift")
    assert "**Ours breaks its promise too often** for accuracy, label shift: 0.500" in said
    assert "MAPIE breaks it in 0.750 ± 0.048 of runs for accuracy, label shift" in said
    pooled = targets.pooled(found)[targets.ACCURACY, "label", "ours"]
    assert (pooled["runs"], pooled["broken"]) == (80, 0.5)
    assert targets.headline(found)[2] == "ours breaks some promises too often"


def test_the_verdict_of_promises_kept():
    found = made_up(
        none={"ours": (1, 0, 0.2), "MAPIE": (0, 10, 0.3)},
        label={"ours": (1, 0, 0.2), "MAPIE": (30, 0, 0.3)},
    )
    said = targets.verdict(found)
    assert said.startswith(
        "Ours withholds 0.275 of the rows less than MAPIE for accuracy, no shift"
    )
    assert targets.headline(found)[2] == "ours keeps its promises"


def test_between_two_thresholds_rows_are_withheld():
    p = np.array([0.1, 0.3, 0.5, 0.7])
    predicted = between(np.column_stack([1 - p, p]), 0.3, 0.6)
    np.testing.assert_array_equal(predicted, [0, np.nan, np.nan, 1])


@pytest.mark.parametrize("split", [False, True])
def test_mapie_withholds_the_least_certain_for_accuracy(split):
    pytest.importorskip("mapie", reason="MAPIE is a peer of the proof")
    pool = numbered()
    proba = pool.proba[np.random.default_rng(1).permutation(3_000)]
    y = pool.y[np.random.default_rng(1).permutation(3_000)]
    settings = {"confidence": 0.9, "batch": proba, "split": split}
    rule = accuracy_control(proba, y, target=0.85, **settings)
    predicted = rule(proba)
    kept = ~np.isnan(predicted)
    assert 0.2 < kept.mean() < 1
    assert proba.max(axis=1)[kept].min() > proba.max(axis=1)[~kept].max()
    assert (predicted == y)[kept].mean() > 0.85
    assert accuracy_control(proba, 1 - y, target=0.85, **settings) is None


def test_mapie_withholds_a_middle_for_both_rates():
    pytest.importorskip("mapie", reason="MAPIE is a peer of the proof")
    pool = numbered()
    order = np.random.default_rng(1).permutation(3_000)
    proba, y = pool.proba[order], pool.y[order]
    rule = rates_control(proba, y, target=0.8, confidence=0.9, batch=proba, split=False)
    predicted = rule(proba)
    assert np.isnan(predicted).any()
    assert targets._lower_rate(y, predicted, np.ones(3_000)) > 0.8


def test_thresholds_that_keep_no_row_of_a_class_are_not_given_to_mapie():
    y = np.array([0, 1, 0, 1])
    assert _some_of(np.array([True, True, False, False]), y, split=False)
    assert not _some_of(np.array([True, True, False, False]), y, split=True)
    assert not _some_of(np.array([True, False, True, False]), y, split=False)
