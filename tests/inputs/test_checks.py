import numpy as np
import pytest

from abstain._inputs import (
    CheckedScores,
    check_budget,
    check_classes,
    check_labels,
    check_priors,
    check_proba,
    check_sample_weight,
    check_scores,
    check_seed,
    label_array,
)


def classes_of(y, n_columns, classes=None):
    return check_classes(label_array(y, "y"), n_columns, classes, "y")


def test_one_dimension_is_the_positive_class():
    assert check_scores([0.2, 1.0], scale="probabilities").tolist() == [[0.8, 0.2], [0.0, 1.0]]
    assert check_scores([-2.0, 3.0], scale="logits").tolist() == [[0.0, -2.0], [0.0, 3.0]]


def test_rows_nearly_summing_to_one_are_normalised_without_touching_the_input():
    given = np.array([[0.3, 0.7004]])
    assert check_proba(given).sum() == pytest.approx(1, abs=1e-15)
    assert given.tolist() == [[0.3, 0.7004]]


@pytest.mark.parametrize(
    ("scores", "scale", "message"),
    [
        (
            [0.1, np.nan, 0.3],
            "probabilities",
            "`scores` must be finite; NaN or infinity in 1 of 3 rows, first is row 1",
        ),
        (
            [[0.0, np.inf]],
            "logits",
            "`scores` must be finite; NaN or infinity in 1 of 1 rows, first is row 0",
        ),
        (
            [[0.5, 0.5], [0.5, 0.43]],
            "probabilities",
            r"rows must sum to 1; 1 of 2 rows, first is row 1 \(sum 0.93\)",
        ),
        (
            [[1.2, -0.2]],
            "probabilities",
            r"must not be negative; 1 of 1 rows, first is row 0 \(-0.2\)",
        ),
        ([0.5, 1.7], "probabilities", r'in \[0, 1\].*row 1 \(1.7\).*scale="logits"'),
        ([], "probabilities", "`scores` is empty"),
        ([[0.4], [0.6]], "probabilities", "has 1 column"),
        (np.zeros((2, 2, 2)), "logits", r"got shape \(2, 2, 2\)"),
        ([0.5], "odds", "`scale` must be"),
    ],
)
def test_bad_scores(scores, scale, message):
    with pytest.raises(ValueError, match=message):
        check_scores(scores, scale=scale)


def test_scores_must_be_numbers():
    with pytest.raises(TypeError, match="`scores` must be numbers"):
        check_scores(["high", "low"], scale="probabilities")


def test_wrong_number_of_columns():
    with pytest.raises(ValueError, match="each of the 3 classes; got 2 columns"):
        check_scores([0.1], scale="probabilities", n_classes=3)


def test_logits_of_certain_probabilities_are_finite_and_as_wide_as_the_precision():
    double = CheckedScores.of([1.0], scale="probabilities")
    assert double.logits[0, 0] == np.log(np.finfo(np.float64).eps)
    single = np.array([1.0], dtype=np.float32)
    assert CheckedScores.of(single, scale="probabilities").logits[0, 0] == np.log(2.0**-23)


def test_classes_are_the_sorted_labels_or_the_column_numbers_or_as_given():
    assert classes_of(["b", "a", "b"], 2).tolist() == ["a", "b"]
    assert classes_of([3, 0, 1], 4).tolist() == [0, 1, 2, 3]
    assert classes_of([0.0, 1.0], 2).tolist() == [0, 1]
    assert classes_of(["no"], 2, ["no", "yes"]).tolist() == ["no", "yes"]


@pytest.mark.parametrize(
    ("y", "classes", "message"),
    [
        (["a", "b"], None, r"scores have 3 columns but `y` has 2 distinct labels \('a', 'b'\)"),
        (["a"], ["a", "b"], "must name each of the 3 score columns; got 2"),
        (["a"], ["a", "b", "a"], "must be distinct"),
    ],
)
def test_bad_classes(y, classes, message):
    with pytest.raises(ValueError, match=message):
        classes_of(y, 3, classes)


def test_labels_of_any_kind_become_columns():
    classes = np.array(["benign", "malignant"])
    assert check_labels(["malignant", "benign"], classes=classes).tolist() == [1, 0]
    assert check_labels(np.array([1, 0]), n_classes=2).tolist() == [1, 0]
    assert check_labels([True, False], classes=np.array([False, True])).tolist() == [1, 0]


def test_a_label_without_a_column_is_named():
    with pytest.raises(ValueError, match=r"no score column stands for: 'c', first at row 2"):
        check_labels(["a", "b", "c"], classes=np.array(["a", "b"]))
    with pytest.raises(ValueError, match="2 rows, 3 labels"):
        check_labels([0, 1, 1], n_classes=2, n_rows=2)


@pytest.mark.parametrize("budget", [-0.1, 1, 1.0, 1.5, 15.0, float("nan")])
def test_a_budget_is_a_fraction_below_one(budget):
    with pytest.raises(ValueError, match=r"`budget` must be a fraction in \[0, 1\)"):
        check_budget(budget)


@pytest.mark.parametrize("budget", ["0.1", True, None])
def test_a_budget_is_a_number(budget):
    with pytest.raises(TypeError, match="`budget` must be a number"):
        check_budget(budget)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 2], "one weight per row; 3 rows"),
        ([1, -1, 1], r"must not be negative; 1 of 3 rows, first is row 1 \(-1\)"),
        ([0, 0, 0], "must not be zero everywhere"),
        ([1, np.nan, 1], "must be finite"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        check_sample_weight(weight, n_rows=3)


def test_one_prior_is_that_of_the_positive_class():
    assert check_priors(0.03, n_classes=2).tolist() == [0.97, 0.03]
    with pytest.raises(ValueError, match="sum to 1"):
        check_priors([0.5, 0.6], n_classes=2)
    with pytest.raises(ValueError, match="each of the 3 classes"):
        check_priors([0.5, 0.5], n_classes=3)


def test_a_seed_repeats_and_a_wrong_one_is_an_error():
    assert check_seed(3) == check_seed(3)
    assert check_seed(np.random.RandomState(0)) == check_seed(np.random.RandomState(0))
    with pytest.raises(ValueError, match="`random_state` must be"):
        check_seed("seven")


def test_a_percentage_is_that_very_fraction():
    assert check_budget("15%") == 0.15
    assert check_budget(" 7.5 % ") == 0.075
    with pytest.raises(ValueError, match=r"no number, such as 0\.15 or 15%"):
        check_budget("many%")
    with pytest.raises(TypeError, match="`budget` must be a number; got"):
        check_budget("0.15")
    with pytest.raises(ValueError, match="fraction in"):
        check_budget("100%")
