import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abstain.regions import Interval
from abstain.summaries import Atoms

PROBABILITIES = st.lists(st.sampled_from([0.0, 0.125, 0.3, 0.5, 0.9, 1.0]), min_size=1, max_size=9)


def same(one, other):
    np.testing.assert_array_equal(one.p, other.p)
    np.testing.assert_allclose(one.weight, other.weight)
    np.testing.assert_allclose(one.positive, other.positive)


def test_ties_are_one_atom():
    atoms = Atoms.from_proba(np.array([0.5, 0.25, 0.5]))
    np.testing.assert_array_equal(atoms.p, [0.25, 0.5])
    np.testing.assert_array_equal(atoms.weight, [1, 2])
    np.testing.assert_array_equal(atoms.positive, [0.25, 1.0])
    np.testing.assert_array_equal(atoms.below.negative, [0, 0.75, 1.75])


def test_labels_are_summed():
    atoms = Atoms.from_labels(np.array([1, 0, 0]), np.array([0.5, 0.25, 0.5]))
    np.testing.assert_array_equal(atoms.positive, [0, 1])


@given(PROBABILITIES, st.data())
def test_whole_weights_equal_repetition(p, data):
    counts = data.draw(st.lists(st.integers(0, 3), min_size=len(p), max_size=len(p)))
    if not any(counts):
        counts[0] = 1
    p = np.array(p)
    same(
        Atoms.from_proba(p, sample_weight=np.array(counts, dtype=float)),
        Atoms.from_proba(np.repeat(p, counts)),
    )


@given(PROBABILITIES, PROBABILITIES, st.sampled_from([None, 4, 1024]))
def test_merging_parts_equals_the_whole(one, other, bins):
    parts = Atoms.from_proba(np.array(one), bins=bins).merged(
        Atoms.from_proba(np.array(other), bins=bins)
    )
    same(parts, Atoms.from_proba(np.array(one + other), bins=bins))


def test_merging_different_bins_is_refused():
    p = np.array([0.5])
    with pytest.raises(ValueError, match="both are exact, or both are bins of one grid"):
        Atoms.from_proba(p, bins=4).merged(Atoms.from_proba(p))
    with pytest.raises(ValueError, match="bins are those of one grid"):
        Atoms.from_proba(np.array([0.1, 0.6]), bins=2).merged(
            Atoms.from_proba(np.array([0.3]), bins=4)
        )


def test_fine_bins_hold_the_exact_atoms():
    p = np.random.default_rng(0).random(50)
    exact, binned = Atoms.from_proba(p), Atoms.from_proba(p, bins=2**20)
    np.testing.assert_allclose(binned.positive, exact.positive)


@pytest.mark.parametrize("bins", [None, 8])
@given(p=PROBABILITIES, data=st.data())
def test_interval_withholds_exactly_the_atoms(bins, p, data):
    p = np.array(p)
    atoms = Atoms.from_proba(p, bins=bins)
    start = data.draw(st.integers(0, len(atoms)))
    end = data.draw(st.integers(start, len(atoms)))
    inside = Interval(*atoms.ends(start, end)).contains(p, np.zeros(len(p)))
    assert inside.sum() == atoms.weight[start:end].sum()


@pytest.mark.parametrize(("capacity", "ends"), [(0, [0, 1, 2, 3]), (1, [1, 1, 3]), (3, [2, 3])])
def test_windows_never_split_a_tie(capacity, ends):
    atoms = Atoms.from_proba(np.array([0.1, 0.4, 0.4, 0.8]))
    np.testing.assert_array_equal(atoms.windows(capacity).ends, ends)


def test_rows_of_no_weight_are_not_there():
    atoms = Atoms.from_proba(np.array([0.1, 0.4]), sample_weight=np.array([0.0, 2.0]))
    np.testing.assert_array_equal(atoms.p, [0.4])


def test_compressed_atoms_keep_the_masses_and_stay_small():
    p = np.random.default_rng(0).beta(0.3, 9, size=5000)
    atoms = Atoms.from_proba(p)
    small, _ = atoms.compressed(300)
    assert 100 < len(small) <= 301
    assert small.weight.sum() == pytest.approx(5000)
    assert small.positive.sum() == pytest.approx(atoms.positive.sum())
    assert small.positive.max() <= 0.02 * small.positive.sum()
    assert atoms.compressed(5000)[0] is atoms


def test_a_window_before_an_atom_at_one_does_not_take_it_in():
    atoms = Atoms(
        np.array([0.5, 0.75, 1.0]),
        np.array([1.0, 1.0, 300.0]),
        np.array([0.5, 0.8, 300.0]),
        np.array([0.75, 1.0, 1.0]),
    )
    assert atoms.ends(0, 2) == (0.5, np.nextafter(1.0, 0.0))
    assert atoms.ends(1, 3) == (0.75, 1.0)
