"""Simulated shifts have the proportions asked for, and splits keep groups together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abstain.evaluation import dirichlet_priors, grouped_split, shifted_rows, tweak_one_priors


@given(st.integers(0, 1_000), st.integers(2, 5), st.booleans())
def test_the_counts_are_the_proportions_rounded(seed, n_classes, replace):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=200)])
    priors = dirichlet_priors(n_classes, random_state=rng)
    rows = shifted_rows(y, priors, replace=replace, random_state=rng)
    counts = np.bincount(y[rows], minlength=n_classes)
    assert np.abs(counts - priors * len(rows)).max() <= 1
    if replace:
        assert len(rows) == len(y)
    else:
        assert len(set(rows.tolist())) == len(rows)


def test_labels_of_any_kind_and_one_number_for_two_classes():
    y = np.array(["well"] * 90 + ["ill"] * 10)
    rows = shifted_rows(y, 0.25, size=40, random_state=0)  # sorted: ill, well
    assert (y[rows] == "well").sum() == 10


def test_tweaked_and_drawn_proportions():
    assert tweak_one_priors(4, 0.7, tweaked=2).tolist() == pytest.approx([0.1, 0.1, 0.7, 0.1])
    drawn = np.array([dirichlet_priors(3, concentration=0.1, random_state=k) for k in range(50)])
    assert drawn.sum(axis=1) == pytest.approx(np.ones(50))
    assert np.mean(drawn.max(axis=1)) > 0.7


def test_shift_errors():
    with pytest.raises(ValueError, match="at least two classes"):
        shifted_rows([0, 0], [1.0])
    with pytest.raises(ValueError, match="needs more rows of class"):
        shifted_rows([0, 0, 1], [0.5, 0.5], size=4, replace=False)
    with pytest.raises(ValueError, match="`concentration` must be above 0"):
        dirichlet_priors(3, concentration=0)
    with pytest.raises(ValueError, match="`tweaked` must be a class from 0 to 2"):
        tweak_one_priors(3, 0.5, tweaked=3)


@given(st.integers(0, 1_000), st.floats(0.2, 0.8))
def test_groups_stay_together_and_labels_are_balanced(seed, fraction):
    rng = np.random.default_rng(seed)
    patients = np.repeat(rng.permutation(100), 2)
    y = rng.choice(3, size=200, p=[0.6, 0.3, 0.1])
    first, second = grouped_split(patients, y=y, fraction=fraction, random_state=seed)
    assert not set(patients[first].tolist()) & set(patients[second].tolist())
    assert sorted([*first.tolist(), *second.tolist()]) == list(range(200))
    assert len(first) / 200 == pytest.approx(fraction, abs=0.12)
    again = grouped_split(patients, y=y, fraction=fraction, random_state=seed)
    assert (again[0] == first).all()


def test_split_errors():
    with pytest.raises(ValueError, match="`fraction` must be between 0 and 1"):
        grouped_split([1, 2], fraction=1.0)
    with pytest.raises(ValueError, match="at least two groups"):
        grouped_split([1, 1])
    with pytest.raises(ValueError, match="one-dimensional"):
        grouped_split([[1, 2]])
    with pytest.raises(ValueError, match="same number of rows"):
        grouped_split([1, 2], y=[0])
