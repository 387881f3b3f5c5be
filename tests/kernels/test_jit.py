"""Compiled loops: one thread or many, small or large, a row comes out the same."""

import numba
import numpy as np

from abstain._kernels import adapt, confusion
from abstain._kernels._jit import SMALL


def test_a_row_does_not_depend_on_the_size_of_its_batch():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 2, 3, 4, 5], size=SMALL)
    gains, weights = rng.normal(size=(5, 5)), rng.random(5)
    prediction = proba.argmax(axis=1)
    large = confusion.linear_gain(proba, prediction, gains)
    small = confusion.linear_gain(proba[:100], prediction[:100], gains)
    assert (small == large[:100]).all()
    assert (adapt.adapted(proba[:100], weights) == adapt.adapted(proba, weights)[:100]).all()


def test_results_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 2, 3], size=SMALL)
    prediction = proba.argmax(axis=1)
    everything = np.empty(0), np.empty(0, dtype=np.bool_)
    threads = numba.get_num_threads()
    results = []
    for count in {1, threads}:
        numba.set_num_threads(count)
        results.append(confusion.expected_confusion(proba, prediction, *everything))
    numba.set_num_threads(threads)
    assert all((result == results[0]).all() for result in results)
