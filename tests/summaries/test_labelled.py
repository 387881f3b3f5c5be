"""The compact source a policy carries, and the check of label shift that it allows."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from abstain import shift
from abstain.datasets import simulate_binary_normal, simulate_four_class_normal
from abstain.shift import LabelShiftCheck, label_shift_check
from abstain.summaries import LabelledSummary, RowSummary


def binary(n, rate, seed):
    """Rows of a classifier that learned at 30% positives, wherever they come from."""
    drawn = simulate_binary_normal(n, positive_rate=rate, random_state=seed)
    back = np.array([0.7 / (1 - rate), 0.3 / rate])
    return shift.adapt_proba(drawn.proba, back), drawn.y


@pytest.mark.parametrize("weighted", [False, True])
def test_compact_rows_keep_what_estimators_read(weighted):
    proba, y = binary(3_000, 0.3, 0)
    weight = np.random.default_rng(0).integers(0, 3, 3_000).astype(float) if weighted else None
    compact = LabelledSummary(proba, y, weight).compact()
    full = np.ones(3_000) if weight is None else weight
    assert len(compact.codes) <= 4 * 512
    assert compact.weight.sum() == pytest.approx(full.sum())
    for label in range(2):
        here, there = y == label, compact.codes == label
        assert compact.weight[there].sum() == pytest.approx(full[here].sum())
        assert np.average(compact.proba[there], axis=0, weights=compact.weight[there]) == (
            pytest.approx(np.average(proba[here], axis=0, weights=full[here]))
        )
        for predicted in range(2):
            mass = full[here & (proba.argmax(axis=1) == predicted)].sum()
            assert compact.weight[there & (compact.proba.argmax(axis=1) == predicted)].sum() == (
                pytest.approx(mass)
            )


def test_rows_of_few_classes_are_kept_to_seven_digits():
    drawn = simulate_four_class_normal(3_000, random_state=0)
    proba = np.vstack([drawn.proba, [[1, 0, 0, 0], [1 - 3e-300, 1e-300, 1e-300, 1e-300]]])
    compact = LabelledSummary(proba, np.append(drawn.y, [0, 0])).compact()
    assert compact.proba == pytest.approx(proba, rel=1e-6, abs=0)
    assert len(str(compact.proba[:3_000].tolist())) < 0.65 * len(str(drawn.proba.tolist()))


def test_of_many_classes_real_rows_stand_for_all():
    rng = np.random.default_rng(0)
    y = rng.integers(40, size=6000)
    logits = rng.normal(size=(6000, 40))
    logits[np.arange(6000), y] += 3
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    weight = rng.integers(3, size=6000).astype(float)
    compact = LabelledSummary(proba, y, weight).compact()
    assert len(compact.labels) <= 3_750
    assert cdist(compact.proba, proba).min(axis=1).max() < 1e-6
    full, few = (
        np.bincount(codes, weights=w)
        for codes, w in ((y, weight), (compact.codes, compact.weight))
    )
    assert few == pytest.approx(full)
    certain = [np.average(p.max(axis=1), weights=w) for p, w in
               ((proba, weight), (compact.proba, compact.weight))]  # fmt: skip
    assert certain[1] == pytest.approx(certain[0], abs=0.005)


@pytest.mark.parametrize("name", ["em", "bbse-hard", "bbse-soft", "rlls-hard", "rlls-soft"])
def test_estimators_find_the_same_from_compact_rows(name):
    proba, y = binary(4_000, 0.3, 0)
    target, _ = binary(3_000, 0.6, 1)
    compact = LabelledSummary(proba, y).compact()
    whole = shift.get(name).fit(proba, target, y)
    again = shift.get(name).fit(
        compact.proba, target, compact.codes, sample_weight_source=compact.weight
    )
    assert again.priors_ == pytest.approx(whole.priors_, abs=2e-3)


def test_a_source_round_trips():
    proba, y = binary(500, 0.3, 0)
    compact = LabelledSummary(proba, y).compact()
    again = LabelledSummary.from_dict(compact.to_dict())
    assert again.to_dict() == compact.to_dict()
    assert (again.cells(proba) == compact.cells(proba)).all()


def check(labelled, proba, weight=None):
    return label_shift_check(labelled, RowSummary(proba, weight))


def test_label_shift_passes_and_something_else_does_not():
    proba, y = binary(4_000, 0.3, 0)
    source = LabelledSummary(proba, y).compact()
    passed = [check(source, binary(2_000, 0.7, seed)[0]).fits for seed in range(20)]
    assert sum(passed) >= 18
    target, _ = binary(2_000, 0.7, 5)
    logit = 0.5 * np.log(target[:, 1] / target[:, 0])
    p = 1 / (1 + np.exp(-logit))
    found = check(source, np.column_stack([1 - p, p]))
    assert not found.fits
    assert "What the classes look like has changed" in found.summary()


def test_weights_equal_repetition():
    proba, y = binary(4_000, 0.3, 0)
    source = LabelledSummary(proba, y).compact()
    target, _ = binary(500, 0.5, 1)
    weight = np.arange(500) % 3
    weighted = check(source, target, weight.astype(float))
    repeated = check(source, np.repeat(target, weight, axis=0))
    assert weighted.degrees_of_freedom == repeated.degrees_of_freedom
    assert weighted.statistic == pytest.approx(repeated.statistic, rel=0.2)


def test_few_rows_cannot_tell():
    proba, y = binary(200, 0.3, 0)
    found = check(LabelledSummary(proba, y).compact(), proba[:3])
    assert found.degrees_of_freedom == 0
    assert found.fits
    assert "too few rows" in found.summary()
    assert LabelShiftCheck.from_dict(found.to_dict()).fits


def test_a_check_of_an_earlier_file_is_read():
    old = {"p_value": None, "statistic": 1.5, "degrees_of_freedom": 3}
    assert "cannot be checked" in LabelShiftCheck.from_dict(old).summary()
    failed = LabelShiftCheck.from_dict(old | {"p_value": 1e-5})
    assert not failed.fits
    assert "does not explain" in failed.summary()


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.3, 0.6])
def test_the_check_raises_no_more_false_alarms_than_it_may(rate):
    alarms = 0
    for seed in range(400):
        proba, y = binary(2_000, 0.3, 2 * seed)
        labelled = LabelledSummary(proba, y).compact()
        alarms += not check(labelled, binary(2_000, rate, 2 * seed + 1)[0]).fits
    print(f"\nfalse alarms at {rate}: {alarms}/400")
    assert alarms <= 12


def test_some_rows_that_stand_for_all_know_no_more_than_they_are():
    rng = np.random.default_rng(0)
    y = rng.integers(40, size=9_000)
    logits = rng.normal(size=(9_000, 40)) + 3 * np.eye(40)[y]
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    whole = LabelledSummary(proba[:6_000], y[:6_000])
    some = LabelledSummary.from_dict(whole.compact().to_dict())
    assert some.thinned == pytest.approx(1.6, rel=0.01)
    batch = RowSummary(proba[6_000:])
    exact, kept = (label_shift_check(one, batch).p_value for one in (whole, some))
    assert min(exact, kept) > 0.01
