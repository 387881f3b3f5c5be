"""Pieces of rows on threads: one or many, alone or in a batch, a row comes out the same."""

import os
import threading
import time

import numpy as np
import pytest

from abstain._kernels import atoms, confusion, label_draws, proportions, softmax
from abstain._kernels._pieces import n_threads, over_rows, summed_over_rows
from abstain.metrics import get

NOTHING = np.empty(0)
ALL = np.empty(0, dtype=np.bool_)


def test_results_come_in_the_order_of_the_pieces(monkeypatch):
    monkeypatch.setenv("ABSTAIN_NUM_THREADS", "3")

    def slow_at_first(begin, end):
        time.sleep(0.01 if begin == 0 else 0)
        return begin, end

    pieces = over_rows(slow_at_first, 38, size=3)
    assert pieces == [(k, min(k + 3, 38)) for k in range(0, 38, 3)]


def test_several_threads_take_part_and_none_stays(monkeypatch):
    monkeypatch.setenv("ABSTAIN_NUM_THREADS", "3")
    before = threading.active_count()
    # Each piece waits for two others, so three threads must be at work at once.
    meeting = threading.Barrier(3)
    over_rows(lambda begin, end: meeting.wait(timeout=30), 12, size=1)
    assert threading.active_count() == before


def test_few_pieces_run_in_the_calling_thread(monkeypatch):
    monkeypatch.setenv("ABSTAIN_NUM_THREADS", "8")
    names = over_rows(lambda begin, end: threading.current_thread().name, 3, size=1)
    assert set(names) == {threading.current_thread().name}


def test_without_more_threads_the_calling_one_does_it_all(monkeypatch):
    monkeypatch.setenv("ABSTAIN_NUM_THREADS", "4")

    def none_left(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none_left)
    assert over_rows(lambda begin, end: begin, 40, size=1) == [*range(40)]


@pytest.mark.parametrize("bad", [0, 39])
def test_an_error_in_any_piece_is_raised(bad, monkeypatch):
    monkeypatch.setenv("ABSTAIN_NUM_THREADS", "2")

    def fail(begin, end):
        if begin == bad:
            raise ZeroDivisionError("here")

    with pytest.raises(ZeroDivisionError, match="here"):
        over_rows(fail, 40, size=1)


def test_no_rows_are_one_empty_piece():
    assert over_rows(lambda begin, end: (begin, end), 0, size=10) == [(0, 0)]


def test_sums_are_those_of_all_pieces():
    (total,) = summed_over_rows(lambda a, b: (np.arange(a, b).sum(),), 1000, size=7, most_blocks=5)
    assert total == 499_500


def test_the_number_of_threads_can_be_set(monkeypatch):
    monkeypatch.delenv("ABSTAIN_NUM_THREADS", raising=False)
    assert n_threads() >= 1
    monkeypatch.setenv("ABSTAIN_NUM_THREADS", "5")
    assert n_threads() == 5
    for wrong in ("0", "-1", "many", "²", "1.5", "9" * 5_000, "1000000"):
        monkeypatch.setenv("ABSTAIN_NUM_THREADS", wrong)
        with pytest.raises(ValueError, match="ABSTAIN_NUM_THREADS must be a whole number"):
            n_threads()


def batch(n, n_classes):
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.arange(1, n_classes + 1), size=n)
    return proba, proba.argmax(axis=1), rng.random(n), rng.normal(size=(n_classes, n_classes))


def of_rows(proba, prediction, weight, gains):
    """All kernels of rows of classes."""
    k = proba.shape[1]
    logits, slope, bias = np.log(proba), gains[0], gains[1]
    kept = weight > 0.3
    return [
        softmax.scaled_softmax(logits, slope, bias),
        *softmax.scaling_derivatives(
            logits, prediction, weight, np.eye(k), (slope, bias), False, 16
        ),
        *softmax.linear_softmax_loss(logits, prediction, weight, gains, bias, 16),
        proportions.adapted(proba, np.abs(slope)),
        confusion.linear_gain(proba, prediction, gains),
        confusion.best_gain(proba, gains),
        confusion.expected_confusion(proba, prediction, weight, kept),
        *confusion.confusion_moments(proba, prediction, weight, kept),
        confusion.top_share(proba, 2),
        *proportions.mixture_derivatives(proba, weight, np.abs(slope)),
        proportions.expected_classes(proba, weight, np.abs(slope)),
        label_draws.row_numbers(proba, 3),
        label_draws.confusion_draws(proba, prediction, NOTHING, 0, 0, 3),
        label_draws.label_draw(proba, 0, 1),
        label_draws.mean_drawn_entry(proba, prediction, np.stack([gains, -gains]), 0),
    ]


RANKING = (
    "auroc",
    "partial-auroc=0.1",
    "sensitivity@specificity=0.9",
    "specificity@sensitivity=0.9",
    "precision@recall=0.8",
    "recall@precision=0.8",
    "net-benefit=0.2",
)


def of_atoms(p, weight):
    """All kernels of atoms and windows."""
    total = np.concatenate([[0.0], np.cumsum(weight)])
    positive, negative = atoms.prefix_sums(weight, weight * p)
    return [
        total,
        positive,
        negative,
        atoms.window_ends(total, np.arange(len(p)), 0.1 * total[-1]),
        *(get(name).window_values(p, 400_000.0, sample_weight=weight) for name in RANKING),
        *atoms.binned(p, weight, NOTHING, 1024),
        atoms.drawn_positives(weight, p, 0, 3, 1),
        atoms.drawn_positives(np.ones(len(p)), p, 0, 3, 1),
    ]


@pytest.mark.parametrize("n_classes", [3, 20])
def test_rows_do_not_depend_on_the_number_of_threads(n_classes, monkeypatch):
    given = batch(1_000_000 // n_classes, n_classes)  # 16 pieces
    results = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("ABSTAIN_NUM_THREADS", threads)
        results.append(of_rows(*given))
    for one, two, five in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, five)


def test_atoms_do_not_depend_on_the_number_of_threads(monkeypatch):
    rng = np.random.default_rng(0)
    p, weight = np.sort(rng.random(400_000)), rng.integers(1, 40, size=400_000) / 2
    monkeypatch.setenv("ABSTAIN_NUM_THREADS", "1")
    on_one = of_atoms(p, weight)
    monkeypatch.setenv("ABSTAIN_NUM_THREADS", "2")
    for one, two in zip(on_one, of_atoms(p, weight), strict=True):
        np.testing.assert_array_equal(one, two)


PER_ROW = {
    "scaled_softmax": lambda P, j, G: softmax.scaled_softmax(np.log(P), G[0], G[1]),
    "adapted": lambda P, j, G: proportions.adapted(P, np.abs(G[0])),
    "linear_gain": confusion.linear_gain,
    "best_gain": lambda P, j, G: confusion.best_gain(P, G),
    "top_share": lambda P, j, G: confusion.top_share(P, 3),
    "row_numbers": lambda P, j, G: label_draws.row_numbers(P, 1),
}


@pytest.mark.parametrize("n_classes", [2, 3, 10, 33, 300])
@pytest.mark.parametrize("name", PER_ROW)
def test_a_row_does_not_depend_on_the_size_of_its_batch(name, n_classes):
    function = PER_ROW[name]
    proba, prediction, _, gains = batch(200_000 // n_classes, n_classes)
    large = function(proba, prediction, gains)
    for size in (1, 2, 3, 7, 64, 65, 100):
        begin = size * 3
        part = slice(begin, begin + size)
        np.testing.assert_array_equal(function(proba[part], prediction[part], gains), large[part])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_may_fork_after_a_large_batch(monkeypatch):
    monkeypatch.setenv("ABSTAIN_NUM_THREADS", "2")
    given = batch(200_000, 5)
    expected = of_rows(*given)
    child = os.fork()
    if child == 0:
        # Nothing of pytest may run in the child, whatever happens.
        try:
            same = all(
                np.array_equal(a, b) for a, b in zip(expected, of_rows(*given), strict=True)
            )
            os._exit(0 if same else 1)
        finally:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
