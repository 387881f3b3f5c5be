"""Check, then adapt: what is assumed, the doubts about it, and the frozen form of both."""

import json

import numpy as np
import pytest

from abstain import shift
from abstain.shift import (
    Assumption,
    AutoShift,
    KnownPriors,
    MaximumLikelihoodShift,
    NoShift,
    assumption_of,
)
from abstain.summaries import LabelledSummary, RowSummary

SOURCE = np.array([0.5, 0.3, 0.2])


def drawn(rng, priors, n, *, spread=1.0):
    k = len(priors)
    y = rng.choice(k, size=n, p=priors)
    x = spread * rng.normal(size=(n, k)) + 1.5 * np.eye(k)[y]
    odds = np.exp(1.5 * x) * SOURCE[:k]
    return odds / odds.sum(axis=1, keepdims=True), y


def batches(seed=0, n=1000):
    rng = np.random.default_rng(seed)
    source, y = drawn(rng, SOURCE, n)
    moved, _ = drawn(rng, SOURCE[::-1], n)
    pool, _ = drawn(rng, SOURCE, 4 * n)
    top = pool.max(axis=1)
    # The uncertain half four times as likely, without replacement.
    late = rng.exponential(size=len(pool)) / np.where(top <= np.median(top), 4.0, 1.0)
    return source, y, moved, pool[np.argsort(late)[:n]]


def test_adapts_under_label_shift():
    source, y, moved, _ = batches()
    auto = AutoShift().fit(source, moved, y)
    likelihood = MaximumLikelihoodShift(prior_rows=10).fit(source, moved, y)
    assert auto.assumed == "weighed"
    assert auto.world_weights_[[1, 3]].sum() > 0.5
    np.testing.assert_allclose(auto.under["label"].ratios, likelihood.weights_, rtol=1e-5)
    # By the mean of the logarithms: most of the way.
    assert np.abs(auto.priors_ - likelihood.priors_).max() < 0.2
    assert auto.settled().get_params() == likelihood.get_params()
    low, high = auto.priors_interval().T
    assert (low <= np.array(SOURCE[::-1]) + 0.02).all()
    assert (high >= np.array(SOURCE[::-1]) - 0.02).all()


def test_adapts_next_to_nothing_where_the_scores_alone_moved():
    source, y, _, uncertain = batches()
    auto = AutoShift().fit(source, uncertain, y)
    assert auto.world_weights_[1] < 0.05
    likelihood = MaximumLikelihoodShift(prior_rows=10).fit(source, uncertain, y)
    off = [np.abs(np.log(one.weights_)).max() for one in (auto, likelihood)]
    assert off[0] < 0.7 * off[1]
    np.testing.assert_allclose(auto.mean_proba_, uncertain.mean(axis=0))
    assert auto.under["scores"].ratios.tolist() == [1, 1, 1]


def test_labels_of_the_source_are_not_needed():
    source, y, moved, _ = batches()
    without, found = (AutoShift().fit(source, moved, codes) for codes in (None, y))
    np.testing.assert_allclose(without.world_weights_, found.world_weights_)
    with pytest.raises(ValueError, match="`hedge`"):
        AutoShift(hedge=2).fit(source, moved)


def test_is_kept_in_a_policy():
    stored = json.loads(json.dumps(shift.to_dict(AutoShift(hedge=0.05))))
    assert repr(shift.from_dict(stored)) == "AutoShift(hedge=0.05)"
    assert isinstance(shift.get("auto"), AutoShift)
    # What switched once is no parameter any more.
    old = {"name": "auto", "parameters": {"level": 0.01, "prior_rows": 10.0}}
    assert repr(shift.from_dict(old)) == "AutoShift()"


def assumed(estimator, source, y, target, *, compact=False, classes=None):
    labelled = LabelledSummary(source, y)
    if compact:
        labelled = labelled.compact()
    batch = RowSummary(np.ascontiguousarray(target))
    return assumption_of(estimator.fit_summaries(labelled, batch), labelled, batch, classes)


@pytest.mark.parametrize("compact", [False, True])
def test_all_is_well_under_label_shift(compact):
    source, y, moved, _ = batches()
    found = assumed(AutoShift(), source, y, moved, compact=compact)
    assert found.doubts == ()
    assert found.assumed == "weighed"
    assert found.fits
    assert found.p_value == found.check.p_value
    assert found.check.fits
    assert sum(found.worlds.values()) == pytest.approx(1)
    assert found.worlds["label"] == max(found.worlds.values())
    assert found.summary().startswith("Most likely label shift (")


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize(
    ("estimator", "name", "words"),
    [
        (MaximumLikelihoodShift(), "label-shift", "adapted all the same"),
        (KnownPriors([0.2, 0.2, 0.6]), "known-proportions", "to the given proportions all the"),
    ],
)
def test_label_shift_rejected(estimator, name, words, compact):
    source, y, _, uncertain = batches()
    found = assumed(estimator, source, y, uncertain, compact=compact)
    assert found.assumed == name
    (doubt,) = found.doubts
    assert doubt.startswith("Label shift does not explain the batch")
    assert words in doubt
    assert "Label some rows" in doubt
    assert "does not explain" in found.summary()


def test_no_shift_rests_on_less():
    source, y, _, uncertain = batches()
    found = assumed(NoShift(), source, y, uncertain)
    assert found.assumed == "no-shift"
    assert found.doubts == ()
    assert "No shift was assumed." in found.summary()


@pytest.mark.parametrize("compact", [False, True])
def test_scores_of_another_model(compact):
    source, y, moved, _ = batches()
    for power in (4.0, 0.2):
        other = moved**power / (moved**power).sum(axis=1, keepdims=True)
        found = assumed(AutoShift(), source, y, other, compact=compact)
        assert any("same model" in doubt for doubt in found.doubts)
        found = assumed(MaximumLikelihoodShift(), source, y, other, compact=compact)
        assert "another model" in found.doubts[0]
        assert "the same `scale`" in found.doubts[0]
    narrow = source[(source.max(axis=1) < 0.7)]
    out = assumed(NoShift(), narrow, y[source.max(axis=1) < 0.7], source[source.max(axis=1) > 0.8])
    assert "100% of the batch scores outside the range" in out.doubts[0]


def test_weak_scores_leave_the_proportions_open():
    rng = np.random.default_rng(0)
    p = np.clip(0.5 + 0.03 * rng.normal(size=600), 0, 1)
    y = (rng.uniform(size=600) < p).astype(int)
    source = np.column_stack([1 - p, p])
    (doubt,) = assumed(AutoShift(), source, y, source[:300]).doubts
    assert "The class proportions are uncertain" in doubt
    assert "shift=KnownPriors" in doubt


def test_classes_that_vanish_or_fill_the_batch():
    source, y, _, _ = batches()
    rng = np.random.default_rng(1)
    only, _ = drawn(rng, [0.0, 0.0, 1.0], 300)
    found = assumed(MaximumLikelihoodShift(), source, y, only[only[:, 2] > 0.3], classes="abc")
    assert any("Class c seems to fill the whole batch." in doubt for doubt in found.doubts)
    two, _ = drawn(rng, [0.5, 0.5, 0.0], 600)
    for estimator in (MaximumLikelihoodShift(), AutoShift()):
        found = assumed(estimator, source, y, two[two[:, 2] < 0.1], classes="abc")
        if found.assumed == "label-shift":
            assert any("Class c seems to have vanished" in doubt for doubt in found.doubts)


def test_too_few_validation_rows():
    rng = np.random.default_rng(2)
    source, y = drawn(rng, SOURCE, 40)
    batch, _ = drawn(rng, SOURCE, 200)
    said = " ".join(assumed(AutoShift(), source, y, batch, classes="abc").doubts)
    assert "There are only 40 labelled rows" in said
    source, y = drawn(rng, [0.57, 0.4, 0.03], 120)
    few = np.bincount(y, minlength=3)
    assert few[2] < 10
    said = " ".join(assumed(AutoShift(), source, y, batch, classes="abc").doubts)
    assert f"what a class looks like: c ({few[2]})" in said
    said = assumed(NoShift(), source[:2], y[:2], batch).doubts[0]
    assert said.startswith("There are fewer labelled rows (2) than classes (3)")


def test_what_cannot_be_checked():
    rng = np.random.default_rng(3)
    source, y = drawn(rng, SOURCE, 500)
    rare, _ = drawn(rng, [0.0, 0.0, 1.0], 7)
    assert assumed(AutoShift(), source, y, rare).p_value is None
    found = assumed(MaximumLikelihoodShift(), source, y, rare)
    assert found.p_value is None
    assert "Too few rows" in found.summary()
    assert any("whether by label shift cannot be checked" in doubt for doubt in found.doubts)
    same = assumed(NoShift(), source, y, rare)
    assert not any("cannot be checked" in doubt for doubt in same.doubts)


def test_assumptions_are_plain_data():
    source, y, _, uncertain = batches()
    found = assumed(AutoShift(), source, y, uncertain, classes="abc")
    assert "predicted class a" in " ".join(found.check.cells)
    again = Assumption.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.to_dict() == found.to_dict()
    assert again.summary() == found.summary()
    assert again.worlds == found.worlds
    unchecked = Assumption.from_dict(Assumption("no-shift").to_dict())
    assert unchecked.check is None
    assert "not checked" in unchecked.summary()
    with pytest.raises(ValueError, match="`assumed` must be one of"):
        Assumption.from_dict({"assumed": "luck", "check": None, "doubts": []})


@pytest.mark.slow
def test_small_batches_of_uncertain_rows_are_found_and_others_left_alone():
    rng = np.random.default_rng(5)
    alarms = np.zeros(3)
    repeats = 200
    for _ in range(repeats):
        source, y = drawn(rng, SOURCE, 600)
        same, _ = drawn(rng, SOURCE, 150)
        coarse = np.round(drawn(rng, SOURCE[::-1], 300)[0], 1)
        coarse /= coarse.sum(axis=1, keepdims=True)
        rounded = np.round(source, 1)
        rounded /= rounded.sum(axis=1, keepdims=True)
        pool, _ = drawn(rng, SOURCE, 1200)
        top = pool.max(axis=1)
        late = rng.exponential(size=len(pool)) / np.where(top <= np.median(top), 4.0, 1.0)
        alarms += [
            shift.check_label_shift(source, same, y, level=0.05, warn=False).p_value < 0.05,
            shift.check_label_shift(rounded, coarse, y, level=0.05, warn=False).p_value < 0.05,
            shift.check_label_shift(source, pool[np.argsort(late)[:300]], y, warn=False).p_value
            < 0.01,
        ]
    rates = alarms / repeats
    # Two standard errors of a rate of 0.05 are 0.03.
    assert rates[0] < 0.09
    assert rates[1] < 0.09
    assert rates[2] > 0.8
