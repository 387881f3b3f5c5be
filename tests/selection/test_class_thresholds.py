"""Thresholds per class against a search that computes the metric anew for every interval."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from abstain import Abstainer
from abstain.datasets import screening_clinic
from abstain.metrics import AUROC, Accuracy, ErrorRate, RankingMetric, SensitivityAtSpecificity
from abstain.regions import Interval
from abstain.selection import choose_class_thresholds
from abstain.summaries import LabelledSummary, RowSummary, summarise

METRICS = [AUROC(), SensitivityAtSpecificity(0.75), Accuracy(), ErrorRate()]


def two_columns(p):
    return np.column_stack([1 - p, p])


def intervals(p, capacity):
    """Every interval around 0.5 that fits, and that the capacity stops at one end at least."""
    values, counts = np.unique(p, return_counts=True)
    half, n = np.searchsorted(values, 0.5), len(values)
    for start in range(half + 1):
        for end in range(max(start + 1, half), n + 1):
            room = capacity - counts[start:end].sum()
            before = counts[start - 1] if start else 0
            after = counts[end] if end < n else 0
            if room >= 0 and (room < max(before, after) or end - start == n):
                yield values[start], values[end - 1]


def brute_force(metric, p, capacity, y_val, p_val):
    """The best value on the validation set over all intervals around 0.5 that fill."""
    found = []
    for lower, upper in intervals(p, capacity):
        kept = (p_val < lower) | (p_val > upper)
        if len(set(y_val[kept])) == 2 or not isinstance(metric, RankingMetric):
            value = metric.observed(y_val[kept], two_columns(p_val[kept]))
            found.append(value if metric.greater_is_better else -value)
    return max(found, default=None)


@settings(max_examples=60)
@example(9089, 10, AUROC())  # the best would be an interval that could still grow
@example(5, 10, AUROC())  # the best has room at its upper end, and two are tied at the lower
@given(st.integers(0, 10_000), st.integers(1, 12), st.sampled_from(METRICS))
def test_as_good_as_the_search_over_all_intervals(seed, capacity, metric):
    rng = np.random.default_rng(seed)
    p = np.round(rng.uniform(size=25), 2)
    p_val = np.round(rng.uniform(size=40), 2)
    y_val = (rng.uniform(size=40) < p_val).astype(int)
    y_val[:2] = [0, 1]
    labelled = LabelledSummary(two_columns(p_val), y_val)
    found = choose_class_thresholds(metric, summarise(p), capacity, labelled)
    inside = (p >= found.lower) & (p <= found.upper)
    assert inside.sum() <= capacity
    wanted = brute_force(metric, p, capacity, y_val, p_val)
    if wanted is None or not inside.any():
        return
    kept = (p_val < found.lower) | (p_val > found.upper)
    value = metric.observed(y_val[kept], two_columns(p_val[kept]))
    assert (value if metric.greater_is_better else -value) == pytest.approx(wanted)


def test_whole_weights_equal_repetition():
    rng = np.random.default_rng(0)
    p, p_val = rng.uniform(size=200), rng.uniform(size=300)
    y_val = (rng.uniform(size=300) < p_val).astype(int)
    weight = rng.integers(1, 4, size=300)
    for metric in METRICS:
        weighted = LabelledSummary(two_columns(p_val), y_val, weight.astype(float))
        repeated = LabelledSummary(two_columns(np.repeat(p_val, weight)), np.repeat(y_val, weight))
        assert choose_class_thresholds(metric, summarise(p), 40, weighted) == (
            choose_class_thresholds(metric, summarise(p), 40, repeated)
        )


def test_no_room_and_many_classes():
    p = two_columns(np.array([0.5, 0.5, 0.5]))
    y = np.array([0, 1, 1])
    labelled = LabelledSummary(p, y)
    assert choose_class_thresholds(AUROC(), RowSummary(p), 2, labelled) == Interval.empty()
    three = np.ones((3, 3)) / 3
    with pytest.raises(ValueError, match="is for two classes; the scores have 3"):
        choose_class_thresholds(Accuracy(), RowSummary(three), 1, LabelledSummary(three, y))


def test_the_whole_flow_and_back_from_a_file(tmp_path):
    from abstain import Policy

    clinic = screening_clinic(2_000, 2_000, random_state=0)
    abstainer = Abstainer(
        "sensitivity@specificity=0.9",
        budget=0.2,
        score="class-thresholds",
        calibration="platt",
        scale="logits",
        random_state=0,
    ).fit(clinic.scores_val, clinic.y_val)
    decisions = abstainer.decide(clinic.scores_target)
    withheld = decisions.proba[decisions.abstain, 1]
    assert decisions.abstain.sum() == 400
    assert withheld.min() <= 0.5 <= withheld.max() or decisions.proba[:, 1].max() < 0.5
    decisions.policy.save(tmp_path / "policy.json")
    again = Policy.load(tmp_path / "policy.json").apply(clinic.scores_target)
    assert (again.abstain == decisions.abstain).all()
