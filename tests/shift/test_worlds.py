"""The worlds: each is told where it is, and a weight is how often it is right."""

import numpy as np
import pytest

from abstain.datasets import simulate_binary_normal
from abstain.shift import WORLDS, AutoShift
from abstain.shift._cells import Cells, share_unseen
from abstain.shift._worlds import weigh
from abstain.summaries import LabelledSummary, RowSummary

PRIOR = np.array([4.0, 4.0, 2.0, 2.0])


def weighed(source, target, prior=PRIOR, hedge=0.2):
    return weigh(source, target, prior, hedge)


def drawn(n, seed):
    made = simulate_binary_normal(
        n, positive_rate=0.3, mean_negative=-0.7, mean_positive=0.9, sd_negative=1.0,
        random_state=seed,
    )  # fmt: skip
    return made.proba, made.y


def batch(world, seed, n=1000, *, by_class=5.0, by_score=4.0):
    """Rows of a pool, thinned as a world has it: by class, by certainty, by neither or both."""
    proba, y = drawn(12 * n, 1000 + seed)
    rng = np.random.default_rng(seed)
    keep = np.ones(len(y))
    if world in ("label", "both"):
        keep *= np.where(y == 1, *rng.permutation([1.0, 1 / by_class]))
    if world in ("scores", "both"):
        odd = np.abs(proba[:, 1] - 0.5) < np.median(np.abs(proba[:, 1] - 0.5))
        keep *= np.where(odd, 1.0, 1 / by_score)
    rows = np.flatnonzero(rng.random(len(y)) < keep)[:n]
    return proba[rows], y[rows]


def labelled(seed=0, n=1000):
    return LabelledSummary(*drawn(n, seed))


@pytest.mark.parametrize("world", ["nothing", "label", "scores", "both"])
def test_each_world_is_found(world):
    found = np.mean(
        [weighed(labelled(seed), RowSummary(batch(world, seed)[0])).weights for seed in range(20)],
        axis=0,
    )
    assert found.sum() == pytest.approx(1)
    assert WORLDS[int(found.argmax())] == world
    assert found.max() > 0.5


def test_weights_are_how_often_they_are_right():
    said, right = [], []
    for seed in range(60):
        for number, world in enumerate(WORLDS):
            odds = np.exp(np.abs(np.random.default_rng(seed).normal(0, [1.2, 0.9])))
            rows, _ = batch(world, seed, n=500, by_class=odds[0], by_score=odds[1])
            weights = weighed(labelled(seed), RowSummary(rows), np.ones(4), 0.0).weights
            said += weights.tolist()
            right += (np.arange(4) == number).tolist()
    said, right = np.array(said), np.array(right, dtype=float)
    # Never far more sure than it is right; 240 batches leave so much to chance.
    for low, high in ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0)):
        here = (said >= low) & (said < high)
        assert right[here].mean() == pytest.approx(said[here].mean(), abs=0.2)


def test_whole_weights_are_repetition_and_the_order_of_rows_is_nothing():
    source, target = labelled(n=400), batch("both", 3, n=300)[0]
    twice = np.random.default_rng(0).integers(1, 3, size=400)
    heavy = LabelledSummary(source.proba, source.codes, twice.astype(float))
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(400), twice))
    repeated = LabelledSummary(source.proba[rows], source.labels[rows])
    again = RowSummary(np.repeat(target, 2, axis=0)[::-1])
    np.testing.assert_allclose(
        weighed(heavy, RowSummary(target, np.full(len(target), 2.0))).evidence,
        weighed(repeated, again).evidence,
        atol=1e-6,
    )


@pytest.mark.parametrize("digits", [None, 2])
def test_the_last_digit_moves_nothing(digits):
    source, target = labelled(), batch("label", 1)[0]
    rng = np.random.default_rng(0)

    def fitted(by):
        sets = []
        for proba in (source.proba, target):
            p = proba[:, 1] if digits is None else proba[:, 1].round(digits)
            p = p * (1 + by * rng.choice([-1, 1], size=len(p)))
            sets.append(np.column_stack([1 - p, p]))
        found = AutoShift().fit(*sets, source.codes)
        return np.concatenate([found.world_weights_, found.priors_])

    np.testing.assert_allclose(fitted(1e-12), fitted(0.0), atol=1e-7)


def test_of_many_classes_their_order_is_nothing():
    rng = np.random.default_rng(0)
    sets = [rng.dirichlet([0.8, 0.5, 0.3, 0.3], size=n) for n in (600, 500)]
    order = np.array([2, 0, 3, 1])
    here, there = (
        weighed(LabelledSummary(val[:, at]), RowSummary(new[:, at]))
        for at in (np.arange(4), order)
        for val, new in [sets]
    )
    np.testing.assert_allclose(here.evidence, there.evidence, atol=1e-6)
    np.testing.assert_allclose(
        here.explained["both"].tilt[order], there.explained["both"].tilt, atol=1e-5
    )


def test_cells_are_about_even():
    source = labelled(n=2000)
    cells = Cells.of(source)
    counts = np.bincount(cells.number(source.proba), minlength=len(cells))
    assert len(cells) == 24
    assert counts.min() >= 10


def test_a_batch_of_another_model_is_unseen_and_unexplained():
    source = labelled()
    other = np.tile([1e-9, 1 - 1e-9], (500, 1))
    assert share_unseen(source, other, np.ones(500)) > 0.99
    assert share_unseen(source, batch("nothing", 0)[0], np.ones(1000)) < 0.01
    assert weighed(source, RowSummary(other)).p_value < 1e-3
    assert weighed(source, RowSummary(batch("both", 0)[0])).p_value > 0.05


def test_who_knows_says_so():
    source, target = labelled(), batch("scores", 0)[0]
    known = AutoShift(prior=(0, 1, 0, 0), hedge=0.0).fit(source.proba, target, source.codes)
    np.testing.assert_allclose(known.world_weights_, [0, 1, 0, 0])
    np.testing.assert_allclose(known.weights_, known.under["label"].ratios)
    still = AutoShift(prior=(1, 0, 0, 0)).fit(source.proba, target, source.codes)
    np.testing.assert_allclose(still.weights_, 1)
    with pytest.raises(ValueError, match="`prior` must be four numbers"):
        AutoShift(prior=(1, 2)).fit(source.proba, target, source.codes)


def many_classes(world, seed, n=3000, n_classes=200):
    """Calibrated rows of more classes than have cells of their own, as a world has them."""
    rng = np.random.default_rng([seed, n])
    tilt = np.exp(1.2 * rng.standard_normal(n_classes) * (world == "label"))
    y = rng.choice(n_classes, size=2 * n, p=tilt / tilt.sum())
    x = rng.standard_normal((2 * n, n_classes))
    x[np.arange(2 * n), y] += 3.5
    proba = np.exp(3.5 * (x - x.max(axis=1, keepdims=True)))
    proba /= proba.sum(axis=1, keepdims=True)
    odd = proba.max(axis=1) < np.median(proba.max(axis=1))
    keep = np.where(odd | (world != "scores"), 1.0, 0.25)
    rows = np.flatnonzero(rng.random(2 * n) < keep)[:n]
    return proba[rows], y[rows]


@pytest.mark.parametrize("world", ["nothing", "label", "scores"])
def test_worlds_of_classes_that_share_cells(world):
    source = LabelledSummary(*many_classes("nothing", 0))
    target, y = many_classes(world, 1)
    found = weighed(source, RowSummary(target))
    assert len(Cells.of(source)) <= 256
    assert WORLDS[found.weights.argmax()] == world
    assert found.weights.max() > 0.7
    both = found.explained["both"]
    assert both.tilt.shape == (128,)
    draws = both.ratio_draws(*[np.full((9, 200), 1 / 200)] * 3, np.random.default_rng(0))
    assert draws.shape == (8, 200)
    np.testing.assert_allclose(draws.mean(axis=1), 1)
    if world == "label":
        now = np.bincount(y, minlength=200)
        assert np.corrcoef(np.log(both.by_class), np.log(now + 1))[0, 1] > 0.4
