"""Reviewers: confusions given and measured, the posterior, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abstain.exceptions import ArgumentError
from abstain.team import Reviewer, combined


def drawn_rows(n, n_classes, seed, *, hang=0.0, right=0.85):
    """Rows of a calibrated model, and answers of a reader that hang on it or not."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_classes, 0.4), size=n)
    codes = (rng.random((n, 1)) > proba.cumsum(axis=1)[:, :-1]).sum(axis=1)
    base = np.where(np.eye(n_classes) > 0, right, (1 - right) / (n_classes - 1))
    chance = base[codes] * np.maximum(proba, 1e-4) ** hang
    chance /= chance.sum(axis=1, keepdims=True)
    answers = (rng.random((n, 1)) > chance.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return proba, codes, answers


def test_the_posterior_by_hand():
    reader = Reviewer([[0.9, 0.1], [0.3, 0.7]], classes=["well", "ill"])
    found = combined([[0.8, 0.2]], ["ill"], reader)
    assert found[0, 1] == pytest.approx(0.2 * 0.7 / (0.2 * 0.7 + 0.8 * 0.1))


def test_a_perfect_reviewer_has_the_last_word():
    found = combined([[0.8, 0.2], [1.0, 0.0], [0.4, 0.6]], [1, 1, None], Reviewer())
    assert found.tolist() == [[0, 1], [0, 1], [0.4, 0.6]]


def test_two_readers_are_one_after_the_other():
    first, second = Reviewer(accuracy=0.9), Reviewer([[0.8, 0.2], [0.1, 0.9]])
    both = combined([[0.6, 0.4]], {"a": [1], "b": [0]}, {"a": first, "b": second})
    one = combined(combined([[0.6, 0.4]], [1], first), [0], second)
    np.testing.assert_allclose(both, one)


@given(st.integers(2, 5), st.integers(0, 1000))
def test_posteriors_average_to_what_was_believed(n_classes, seed):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_classes), size=3)
    confusion = rng.dirichlet(np.ones(n_classes), size=n_classes)
    reader = Reviewer(confusion)
    chance = proba @ confusion
    mean = sum(chance[:, [a]] * combined(proba, np.full(3, a), reader) for a in range(n_classes))
    np.testing.assert_allclose(mean, proba, atol=1e-12)


def test_measured_counts_and_smoothing():
    y, answers = [0, 0, 0, 1, 1], [0, 0, 1, 1, None]
    reader = Reviewer.measured(y, answers, classes=[0, 1])
    assert reader.cases_.tolist() == [[2, 1], [0, 1]]
    # Right in 3 of 4 answers: (3 + 1) / (4 + 2); two cases of each class by that.
    right = 4 / 6
    np.testing.assert_allclose(
        reader.counts_ - reader.cases_, 2 * np.array([[right, 1 - right], [1 - right, right]])
    )
    np.testing.assert_allclose(reader.confusion_.sum(axis=1), 1)


def test_weights_equal_repetition():
    y, answers = [0, 1, 1], [0, 0, 1]
    weighed = Reviewer.measured(y, answers, classes=[0, 1], sample_weight=[2, 1, 3])
    repeated = Reviewer.measured([0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1], classes=[0, 1])
    np.testing.assert_allclose(weighed.confusion_, repeated.confusion_)


def test_a_new_reader_is_as_others_are_and_an_old_one_as_itself():
    _, y, good = drawn_rows(5_000, 3, 0, right=0.95)
    known = Reviewer.measured(y, good, classes=[0, 1, 2])
    new = Reviewer.measured(y[:10], 0 * good[:10], classes=[0, 1, 2], pooled_with=[known])
    alone = Reviewer.measured(y[:10], 0 * good[:10], classes=[0, 1, 2])
    assert np.trace(new.confusion_) > np.trace(alone.confusion_)
    old = Reviewer.measured(y, 0 * good, classes=[0, 1, 2], pooled_with=[known])
    assert old.confusion_[:, 0].min() > 0.98


def test_answers_that_hang_on_the_model_are_found_and_others_are_not():
    wrongly = 0
    for seed in range(30):
        proba, y, answers = drawn_rows(400, 3, seed)
        found = Reviewer.measured(y, answers, classes=[0, 1, 2], proba=proba)
        wrongly += found.p_value_ < 0.05
    # 5% of 30 are 1.5.
    assert wrongly <= 6
    proba, y, answers = drawn_rows(2_000, 3, 1, hang=0.5)
    found = Reviewer.measured(y, answers, classes=[0, 1, 2], proba=proba, by_score=True)
    assert found.p_value_ < 1e-6
    assert found.dependence_ == pytest.approx(0.5, abs=0.1)
    # The mean over the rows of a class is its confusion.
    chances = found.chances(proba)
    for k in range(3):
        np.testing.assert_allclose(chances[y == k, k].mean(axis=0), found.confusion_[k], atol=0.01)


def test_chances_stay_what_they_were_under_label_shift():
    proba, y, answers = drawn_rows(800, 2, 2, hang=0.7)
    found = Reviewer.measured(y, answers, classes=[0, 1], proba=proba, by_score=True)
    ratios = np.array([0.5, 1.5])
    moved = proba * ratios
    moved /= moved.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.chances(moved, ratios), found.chances(proba), rtol=1e-9)


def test_draws_scatter_about_the_confusion():
    _, y, answers = drawn_rows(300, 3, 3)
    found = Reviewer.measured(y, answers, classes=[0, 1, 2])
    drawn = found.drawn(4_000, 0)
    np.testing.assert_allclose(drawn.sum(axis=2), 1)
    np.testing.assert_allclose(drawn.mean(axis=0), found.confusion_, atol=0.005)
    assert (Reviewer(accuracy=0.9, classes=[0, 1, 2]).drawn(3, 0).std(axis=0) == 0).all()


def test_classes_in_another_order():
    reader = Reviewer([[0.9, 0.1], [0.3, 0.7]], classes=["b", "a"])
    turned = reader.for_classes(np.array(["a", "b"]))
    assert turned.confusion_.tolist() == [[0.7, 0.3], [0.1, 0.9]]


@pytest.mark.parametrize("by_score", [False, True])
def test_plain_data_and_back(by_score):
    proba, y, answers = drawn_rows(300, 3, 4, hang=0.4)
    for made in (
        Reviewer(),
        Reviewer(accuracy=0.8),
        Reviewer(np.eye(3), classes=["x", "y", "z"]),
        Reviewer.measured(y, answers, classes=[0, 1, 2], proba=proba, by_score=by_score),
    ):
        again = Reviewer.from_dict(made.to_dict())
        assert again.to_dict() == made.to_dict()
        one, other = (
            r.for_classes(np.arange(3)) if r.classes is None else r for r in (made, again)
        )
        np.testing.assert_array_equal(one.chances(proba), other.chances(proba))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Reviewer([[0.9, 0.2], [0.1, 0.9]]), "row 0 is .* divide counts"),
        (lambda: Reviewer([[0.9, 0.1]]), "must be a square"),
        (lambda: Reviewer(np.eye(2), accuracy=0.9), "not both"),
        (lambda: Reviewer(accuracy=1.2), r"in \[0, 1\]"),
        (lambda: Reviewer(np.eye(2), classes=["a", "b", "c"]), "each of the 3 classes"),
        (
            lambda: Reviewer.measured([0, 1], [0, 2], classes=[0, 1]),
            r"`opinions` has a label that is no class in 1 of 2 rows, first is row 1 \(2\)",
        ),
        (lambda: Reviewer.measured([0, 1], [None, ""], classes=[0, 1]), "no answer on a lab"),
        (lambda: Reviewer.measured([0, 1], [0], classes=[0, 1]), "one entry per row"),
        (lambda: Reviewer.measured([0], [0], classes=[0, 1], by_score=True), "needs the model's"),
        (
            lambda: Reviewer.measured(
                [0, 1], [0, 1], classes=[0, 1], of_referred=True,
                pooled_with=[Reviewer.measured([0, 1], [0, 1], classes=[0, 1])],
            ),
            "rows of the same kind",
        ),
        (
            lambda: combined([[0.5, 0.5]], ["a"], Reviewer(classes=["a", "b", "c"])),
            "a column for each of the 3 classes",
        ),
        (lambda: combined([[0.5, 0.5]], {"x": [0]}, {"y": Reviewer()}), "no reviewer of the name"),
        (lambda: combined([[0.5, 0.5]], [0], {"y": Reviewer()}), "mapping by name"),
    ],
)  # fmt: skip
def test_what_is_refused(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()
