"""Summaries of rows that stay where they are: they merge exactly, and travel as bytes."""

import hashlib
import json
import pickle
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import abstain.summaries._sample as sample
from abstain.summaries import Bins, Sample, Summary, lower_edges

CI_EXAMPLES = settings(max_examples=25, deadline=None)
NEAR_THE_ENDS = st.builds(
    lambda exponent, mantissa: mantissa * 2.0**exponent,
    st.integers(-60, 0),
    st.floats(0.5, 1.0),
)
PROBABILITIES = st.lists(
    st.one_of(st.floats(0, 1), NEAR_THE_ENDS, NEAR_THE_ENDS.map(lambda q: 1 - q)),
    min_size=1,
    max_size=40,
).map(np.array)


@pytest.fixture
def few_rows(monkeypatch):
    """Let a sample be one of few rows."""
    monkeypatch.setattr(sample, "_MOST_ROWS", 50)


def simplex(n, k, seed, scale=2.0):
    z = scale * np.random.default_rng(seed).normal(size=(n, k))
    shares = np.exp(z - z.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def of(proba, weight=None, maker="a"):
    return Summary.of(proba, weight, maker)


def in_parts(proba, weight, cuts):
    parts = np.split(np.arange(len(proba)), sorted(cuts))
    return [of(proba[at], None if weight is None else weight[at]) for at in parts if len(at)]


def merged(parts):
    first, *others = parts
    for one in others:
        first = first.merge(one)
    return first


@CI_EXAMPLES
@given(
    PROBABILITIES,
    st.booleans(),
    st.lists(st.integers(0, 40), max_size=4),
    st.randoms(use_true_random=False),
)
def test_of_two_classes_parts_and_order_do_not_matter(p, weighted, cuts, random):
    weight = np.random.default_rng(len(p)).choice([0.0, 0.3, 1.0, 2.5, 7.0], len(p))
    weight = weight if weighted else None
    parts = in_parts(p, weight, [cut % len(p) for cut in cuts])
    random.shuffle(parts)
    whole = of(p, weight)
    assert merged(parts).to_bytes() == whole.to_bytes()
    assert merged(parts[::-1]).to_bytes() == whole.to_bytes()


@CI_EXAMPLES
@given(st.integers(3, 12), st.booleans(), st.lists(st.integers(0, 200), max_size=5), st.data())
def test_of_more_classes_parts_and_order_do_not_matter(k, weighted, cuts, data):
    proba = simplex(200, k, k).round(1 if k % 2 else 9)
    proba /= proba.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(k)
    weight = rng.choice([0.0, 0.3, 1.0, 2.5], 200) if weighted else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample, "_MOST_ROWS", data.draw(st.sampled_from([20, 60, 1000])))
        parts = in_parts(proba, weight, cuts)
        order = data.draw(st.permutations(range(len(parts))))
        whole = of(proba, weight).to_bytes()
        assert merged([parts[i] for i in order]).to_bytes() == whole
        right = parts[order[-1]]
        for i in order[-2::-1]:
            right = parts[i].merge(right)
        assert right.to_bytes() == whole


@CI_EXAMPLES
@given(PROBABILITIES)
def test_bins_hold_the_rows_that_belong_to_them(p):
    atoms = Bins.of(p, None).atoms
    order = np.sort(p)
    assert atoms.weight.sum() == len(p)
    assert (np.searchsorted(atoms.p, order, side="right") >= 1).all()
    assert atoms.positive.sum() == pytest.approx(p.sum(), rel=1e-6, abs=1e-15)
    assert (atoms.middle >= order[0] - 1e-15).all()
    assert (atoms.middle <= order[-1]).all()
    assert np.isin(atoms.p, p).all()


@CI_EXAMPLES
@given(st.floats(0, 1), st.integers(1, 5))
def test_equal_rows_are_an_atom_at_their_probability(p, n):
    atoms = Bins.of(np.full(n, p), None).atoms
    assert atoms.p.tolist() == [p]
    # Within a rounding of 1 the bins are as narrow as numbers are.
    assert atoms.middle[0] == pytest.approx(p, abs=0 if p < 1 - 1e-9 else 1e-15)


def test_lower_edges_are_those_of_the_bins():
    edges = lower_edges()
    assert (np.diff(edges) > 0).all()
    inside = np.concatenate([edges[:-1] + 0.25 * np.diff(edges), [0.5]])
    found = Bins.of(np.sort(inside), None).filled
    assert set(np.searchsorted(edges, inside, side="right") - 1) == {*found.tolist()}


def test_a_whole_weight_equals_repetition():
    p = np.random.default_rng(0).random(300)
    repeats = np.random.default_rng(1).integers(0, 4, 300)
    heavy, long = of(p, repeats.astype(float)), of(np.repeat(p, repeats))
    assert (heavy.part.cells[:, :2] == long.part.cells[:, :2]).all()
    assert heavy.total_weight == long.n_rows == long.total_weight
    proba = simplex(300, 4, 0)
    heavy, long = of(proba, repeats.astype(float)), of(np.repeat(proba, repeats, axis=0))
    assert (heavy.part.moments[0] == long.part.moments[0]).all()


def test_some_rows_stand_for_all_with_their_moments(monkeypatch):
    monkeypatch.setattr(sample, "_MOST_ROWS", 500)
    sample_of = simplex(5000, 3, 0)
    rows = of(sample_of).batch(ranks=False)
    assert len(rows.proba) <= 500 + 6
    assert rows.n_rows == 5000
    assert rows.counted
    assert rows.total == pytest.approx(5000)
    # The products of whole steps sum to those of all rows.
    assert rows.class_sums / 5000 == pytest.approx(sample_of.mean(axis=0), abs=2e-4)


def test_a_class_of_which_no_row_is_kept_is_there_by_its_mean(few_rows):
    common = np.tile([0.9, 0.06, 0.04], (5000, 1)) + 1e-6 * simplex(5000, 3, 1)
    common /= common.sum(axis=1, keepdims=True)
    rare = np.array([[0.1, 0.2, 0.7], [0.1, 0.3, 0.6]])
    for seed in range(4):
        rows = of(np.concatenate([np.roll(common, seed, axis=0), rare])).batch(ranks=False)
        weight = rows.weight[rows.proba.argmax(axis=1) == 2].sum()
        assert weight == pytest.approx(2)


def test_many_rows_that_are_alike_are_one():
    rows = np.repeat(np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]]), [1000, 2], axis=0)
    batch = of(rows).batch(ranks=False)
    assert sorted(batch.weight.tolist()) == [2, 1000]
    assert batch.n_rows == 1002


def test_bytes_come_back_the_same():
    rng = np.random.default_rng(0)
    for proba in (rng.random(500), simplex(500, 5, 0), simplex(100, 30, 0)):
        for weight in (None, rng.gamma(2, 1, len(proba)) + 0.01):
            one = of(proba, weight)
            again = Summary.from_bytes(one.to_bytes())
            assert again.to_bytes() == one.to_bytes()
            assert pickle.loads(pickle.dumps(one)).to_bytes() == one.to_bytes()
            assert repr(again) == repr(one)


def test_small_parts_are_few_bytes():
    assert len(of(np.array([0.2, 0.3])).to_bytes()) < 700


def resealed(data, change):
    """The bytes with changed facts, and a checksum that fits them."""
    head = struct.Struct("<15sBI")
    magic, version, length = head.unpack_from(data)
    told = json.loads(data[head.size : head.size + length])
    change(told)
    text = json.dumps(told, sort_keys=True).encode()
    body = head.pack(magic, version, len(text)) + text + data[head.size + length : -32]
    return body + hashlib.sha256(body).digest()


def test_damaged_bytes_are_refused():
    data = of(np.random.default_rng(0).random(50)).to_bytes()
    for broken, said in (
        (b"", "do not begin"),
        (b"x" * 100, "do not begin"),
        (data[:-1], "cut or damaged"),
        (data + b"1", "cut or damaged"),
        (data[:60] + b"?" + data[61:], "cut or damaged"),
        (data[:15] + b"\x09" + data[16:], "version 9"),
    ):
        with pytest.raises(ValueError, match=said):
            Summary.from_bytes(broken)
    with pytest.raises(TypeError, match="must be bytes"):
        Summary.from_bytes("text")


def set_fact(name, value):
    return lambda told: told["facts"].update({name: value})


@pytest.mark.parametrize(
    "change",
    [
        set_fact("n_rows", 51),
        set_fact("n_rows", -1),
        set_fact("n_rows", 1.5),
        set_fact("units", 3),
        set_fact("weighted", True),
        set_fact("weighted", 1),
        set_fact("n_classes", 3),
        set_fact("n_classes", 0),
        set_fact("lightest", None),
        set_fact("lightest", -1.0),
        set_fact("more", 1),
        lambda told: told["facts"].pop("maker"),
        lambda told: told["arrays"].update(bins=[-1]),
        lambda told: told["arrays"].update(bins=[10**9]),
        lambda told: told["arrays"].update(sums=[1, 1]),
        lambda told: told["arrays"].pop("ends"),
        lambda told: told.update(facts=[]),
        lambda told: told.pop("arrays"),
    ],
)
def test_bytes_of_a_stranger_are_refused(change):
    data = of(np.random.default_rng(0).random(50)).to_bytes()
    with pytest.raises(ValueError, match="no summary"):
        Summary.from_bytes(resealed(data, change))


@pytest.mark.parametrize("where", range(12))
def test_changed_numbers_are_refused_or_harmless(where):
    rng = np.random.default_rng(where)
    for proba in (rng.random(60), simplex(60, 3, where)):
        data = bytearray(of(proba).to_bytes()[:-32])
        for _ in range(30):
            at = int(rng.integers(40, len(data)))
            changed = data[:at] + bytes([data[at] ^ int(rng.integers(1, 256))]) + data[at + 1 :]
            sealed = bytes(changed) + hashlib.sha256(bytes(changed)).digest()
            try:
                found = Summary.from_bytes(sealed)
            except ValueError:
                continue
            assert np.isfinite(found.batch(ranks=False).proba).all()


def test_only_summaries_of_one_fit_merge():
    one = of(np.array([0.2, 0.3]))
    with pytest.raises(ValueError, match="one fitted abstainer made both"):
        one.merge(of(np.array([0.2, 0.3]), maker="b"))
    with pytest.raises(TypeError, match="must be a Summary"):
        one.merge(3)


def test_weights_out_of_reach_are_refused():
    for weight in (1e-9, 1e9):
        with pytest.raises(ValueError, match="Multiply all weights"):
            of(np.array([0.2, 0.3]), np.array([1.0, weight]))
    heavy = of(np.full(2, 0.2), np.full(2, 1e6))
    for _ in range(17):
        heavy = heavy.merge(heavy)
    with pytest.raises(ValueError, match="total weight below"):
        heavy.merge(heavy)


def test_a_sample_of_no_rows_merges_with_any():
    for proba, nothing in (
        (simplex(20, 3, 0), np.empty((0, 3))),
        (np.random.default_rng(0).random(20), np.empty(0)),
    ):
        whole = of(proba).to_bytes()
        assert of(nothing).merge(of(proba)).to_bytes() == whole
        assert of(proba).merge(of(nothing)).to_bytes() == whole
        assert Summary.from_bytes(of(nothing).to_bytes()).n_rows == 0


def test_the_number_of_rows_that_are_kept():
    assert sample.most_rows(3) == sample.most_rows(10) == 524_288
    assert sample.most_rows(100) == 52_428
    assert isinstance(of(simplex(5, 3, 0)).part, Sample)
