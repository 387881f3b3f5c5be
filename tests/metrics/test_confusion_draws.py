"""What is summed over drawn labels, and how draws move to other proportions."""

import numpy as np
import pytest

from abstain.metrics._confusion_draws import (
    _GroupSums,
    moved_counts,
    moved_shares,
)
from abstain.summaries import Moves, summarise


@pytest.mark.parametrize("n_groups", [4, 60])
def test_sums_over_few_and_many_groups_are_the_same(n_groups):
    rng = np.random.default_rng(0)
    group = rng.integers(n_groups - 1, size=200)
    values = rng.random((3, 200))
    found = _GroupSums(group, n_groups).of(values)
    expected = [np.bincount(group, weights=row, minlength=n_groups) for row in values]
    np.testing.assert_allclose(found, expected)
    assert not _GroupSums(group[:0], n_groups).of(values[:, :0]).any()


def test_what_never_comes_true_does_not_overflow():
    # Warnings are errors here: a probability of 1e-310 moved to 0.5 would grow without bound.
    proba = np.array([[1.0, 1e-310], [0.7, 0.3]])
    summary, prediction, withheld = summarise(proba, None), np.array([0, 1]), np.zeros(2, bool)
    moves = Moves(np.zeros((1, 2)), np.zeros((1, 2)), np.ones((1, 2)), np.ones(2))  # to 0.5 each
    kept, _ = moved_shares(summary, prediction, withheld, moves)
    assert np.isfinite(kept).all()
    assert np.isfinite(moved_counts(np.array([[[1.0, 0.0], [0.0, 1.0]]]), kept)).all()
