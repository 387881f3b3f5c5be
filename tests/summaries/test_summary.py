"""Summaries: what they keep of a batch, how they merge, and what bins and groups cost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abstain import Abstainer
from abstain.datasets import screening_clinic, simulate_four_class_normal
from abstain.metrics import AUROC, AveragePrecision, SensitivityAtSpecificity
from abstain.shift import MaximumLikelihoodShift
from abstain.summaries import BinarySummary, LabelledSummary, Moves, RowSummary, summarise


def both_columns(p):
    return np.column_stack([1 - p, p])


eighths = st.lists(st.integers(0, 8).map(lambda k: k / 8), min_size=1, max_size=12)


def same(one, other):
    np.testing.assert_allclose(one.class_sums, other.class_sums, atol=1e-12)
    assert one.n_rows == other.n_rows
    assert one.total == pytest.approx(other.total)
    assert one.counted == other.counted
    assert one.lightest == other.lightest
    np.testing.assert_allclose(one.atoms.weight, other.atoms.weight)
    np.testing.assert_array_equal(one.atoms.p, other.atoms.p)


@pytest.mark.parametrize("bins", [None, 4])
@given(eighths, eighths, eighths)
def test_merging_is_associative_and_commutative(bins, a, b, c):
    a, b, c = (summarise(np.array(part), bins=bins) for part in (a, b, c))
    same(a.merged(b).merged(c), a.merged(b.merged(c)))
    same(a.merged(b), b.merged(a))


@pytest.mark.parametrize("weighted", [False, True])
def test_parts_of_rows_merge_to_the_whole(weighted):
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), size=50)
    weight = rng.random(50) if weighted else None
    whole = summarise(proba, weight)
    cut = [
        summarise(proba[part], None if weight is None else weight[part])
        for part in (slice(0, 20), slice(20, 50))
    ]
    merged = cut[0].merged(cut[1])
    np.testing.assert_array_equal(merged.proba, whole.proba)
    np.testing.assert_allclose(merged.class_sums, whole.class_sums)
    assert merged.counted is (not weighted)


def test_atoms_and_rows_of_two_classes_are_the_same_batch():
    p = np.round(np.random.default_rng(0).random(200), 2)
    same(summarise(p), RowSummary(both_columns(p)))
    ratios = np.array([0.5, 2.0])
    moved = summarise(p).adapted(ratios), RowSummary(both_columns(p)).adapted(ratios)
    same(*moved)
    withheld = moved[0].compact > 0.4
    assert moved[0].only(~withheld).total == (moved[1].proba[:, 1] <= 0.4).sum()


def test_a_window_is_told_from_scattered_atoms():
    summary = summarise(np.linspace(0.1, 0.9, 6))
    marked = np.array([False, True, True, False, False, False])
    window = summary.window(marked)
    assert (window.starts.tolist(), window.ends.tolist()) == ([0, 1], [0, 3])
    assert summary.window(np.array([True, False, True, False, False, False])) is None
    assert summary.window(np.zeros(6, dtype=bool)).ends.tolist() == [0, 0]
    assert RowSummary(both_columns(np.array([0.1, 0.2]))).window(marked[:2]) is None


@pytest.mark.parametrize("rate", [0.3, 0.01])
def test_groups_of_atoms_move_the_proportions_by_less_than_a_millionth(rate):
    rng = np.random.default_rng(0)
    y = rng.random(300_000) < rate
    z = rng.normal(size=len(y)) + 2 * y - 3
    p = 1 / (1 + np.exp(-z))
    rows = both_columns(p[:4_000])
    labelled = LabelledSummary(rows, y[:4_000].astype(int))
    exact = MaximumLikelihoodShift().fit_summaries(labelled, RowSummary(both_columns(p)))
    for summary in (summarise(p), summarise(p, np.ones(len(p))), summarise(p, bins=2**18)):
        found = MaximumLikelihoodShift().fit_summaries(labelled, summary)
        assert found.priors_ == pytest.approx(exact.priors_, abs=1e-6)


@pytest.mark.parametrize(
    "metric", [SensitivityAtSpecificity, lambda **o: AUROC(**o), lambda **o: AveragePrecision(**o)]
)
def test_bins_decide_nearly_as_well_and_never_withhold_more(metric):
    make = metric if metric is not SensitivityAtSpecificity else lambda **o: metric(0.9, **o)
    clinic = screening_clinic(2_000, 50_000, random_state=1)
    found = {}
    for bins in (None, 2**18):
        abstainer = Abstainer(
            make(bins=bins), budget=0.15, calibration="platt", scale="logits", random_state=0
        )
        found[bins] = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    exact, binned = found[None], found[2**18]
    assert binned.priors == pytest.approx(exact.priors, abs=1e-6)
    assert binned.abstain.sum() <= 7_500
    kept = [exact.metric.expected(one.proba[~one.abstain]) for one in (binned, exact)]
    assert kept[0] == pytest.approx(kept[1], abs=1e-4)
    assert binned.assumption.fits
    assert exact.assumption.fits
    low, high = exact.estimate.after.interval
    assert abs(binned.estimate.after.value - exact.estimate.after.value) < 0.2 * (high - low)
    assert (binned.abstain == exact.abstain).mean() > 0.999


@pytest.mark.parametrize("metric", ["sensitivity@specificity=0.9", "auroc"])
def test_scores_on_the_edges_of_bins_keep_to_the_budget(metric):
    """Rounded scores lie on the edges, and equal ones stay together."""
    from abstain import metrics

    rng = np.random.default_rng(1)
    p = rng.integers(0, 65, size=5_000) / 64
    y_val = (rng.random(2_000) < 0.3).astype(int)
    p_val = np.clip(0.4 * y_val + 0.5 * rng.random(2_000), 0, 1)
    binned = metrics.get(metric).set_params(bins=64)
    for budget in (0.05, 0.2, 0.5):
        abstainer = Abstainer(binned, budget=budget, calibration="platt", random_state=0)
        decisions = abstainer.fit(p_val, y_val).decide(p)
        assert decisions.abstain.sum() <= budget * 5_000
        for value in np.unique(p):
            assert len(set(decisions.abstain[p == value].tolist())) == 1


def test_bins_are_taken_by_themselves_where_they_move_nothing(monkeypatch):
    clinic = screening_clinic(1_000, 3_000, random_state=0)
    seen = []
    monkeypatch.setattr("abstain.metrics._ranking.MANY_ROWS", 2_000)
    made = BinarySummary.adapted
    monkeypatch.setattr(
        BinarySummary,
        "adapted",
        lambda self, *a, **k: (seen.append(self.atoms.upper is not None), made(self, *a, **k))[1],
    )

    def decide(metric):
        seen.clear()
        abstainer = Abstainer(metric, budget=0.2, calibration="platt", scale="logits")
        abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
        return seen.copy()

    assert decide(AUROC(bins=None)) == [False]
    assert decide(AUROC()) == [True]
    # Bins so wide that they move the metric give way to the exact atoms.
    monkeypatch.setattr("abstain.metrics._ranking.BINS", 16)
    assert decide(AUROC()) == [True, False]
    # A number that was asked for stands.
    assert decide(AUROC(bins=16)) == [True]


@pytest.mark.parametrize("scale", ["probabilities", "logits"])
@pytest.mark.parametrize("calibration", ["identity", "temperature", "auto"])
def test_scores_are_never_changed_in_place(scale, calibration):
    source = simulate_four_class_normal(400, random_state=0)
    two = both_columns(np.linspace(0.01, 0.99, 400))
    y = (np.random.default_rng(0).random(400) < two[:, 1]).astype(int)
    for proba, labels, metric in ((source.proba, source.y, "accuracy"), (two, y, "auroc")):
        scores = proba if scale == "probabilities" else np.log(proba)
        before = scores.copy()
        abstainer = Abstainer(metric, budget=0.1, calibration=calibration, scale=scale)
        decisions = abstainer.fit(scores, labels).decide(scores)
        decisions.policy.apply(scores)
        np.testing.assert_array_equal(scores, before)


def test_a_complaint_about_many_rows_speaks_of_all_of_them():
    clinic = screening_clinic(500, 100, random_state=0)
    abstainer = Abstainer("auroc", budget=0.1, scale="logits", calibration="platt")
    abstainer.fit(clinic.scores_val, clinic.y_val)
    scores = np.zeros(200_000)
    scores[[70_000, 190_000]] = np.inf
    with pytest.raises(ValueError, match="2 of 200000 rows, first is row 70000"):
        abstainer.decide(scores)
    scores[[70_000, 190_000]] = np.nan
    with pytest.raises(ValueError, match="2 of 200000 rows have no score"):
        abstainer.decide(scores)


def test_of_two_batches_the_lightest_row_of_both_stays():
    heavy = summarise(np.array([0.7, 0.9]), np.array([2.0, 3.0]))
    light = summarise(np.array([0.1, 0.2]), np.array([0.5, 3.0]))
    for merged in (heavy.merged(light), light.merged(heavy)):
        assert merged.capacity(0.99) == 8.5 - 0.5


def test_moves_are_what_a_moved_summary_has():
    rng = np.random.default_rng(0)
    for k in (2, 4):
        proba = rng.dirichlet(np.ones(k), 20)
        used = rng.uniform(0.5, 2, k)
        slope, bias, ratios = (rng.uniform(0.5, 1.5, (3, k)) for _ in range(3))
        moved = Moves(slope, bias, ratios, used).of(proba)
        for r in range(3):
            source = RowSummary(proba).adapted(1 / used)
            expected = source.moved(slope[r], bias[r], ratios[r]).proba
            np.testing.assert_allclose(
                moved[r], expected[:, 1] if k == 2 else expected, atol=1e-12
            )
