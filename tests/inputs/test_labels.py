"""Labels at the door: none is made of nothing, and no two become one."""

import datetime

import numpy as np
import pytest

from abstain import Abstainer, AbstainingClassifier
from abstain._inputs import check_labels, label_array

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

PROBA = np.tile([[0.2, 0.8], [0.7, 0.3], [0.6, 0.4], [0.1, 0.9]], (3, 1))


def fitted(y, **more):
    how = {"calibration": "identity", "shift": "none", "random_state": 0}
    return Abstainer("accuracy", budget=0.25, **how).fit(PROBA, y, **more)


@pytest.mark.parametrize(
    "gap", [None, np.nan, np.float32("nan"), pandas.NaT, pandas.NA, np.datetime64("NaT", "D"), ""]
)
@pytest.mark.parametrize("make", [list, pandas.Series, lambda v: np.array(v, dtype=object)])
def test_a_gap_is_no_class(gap, make):
    y = make([1, 0, 0, 1] * 2 + [1, 0, gap, 1])
    with pytest.raises(ValueError, match=r"has no label .* in 1 of 12 rows, first is row 10"):
        fitted(y)


@pytest.mark.parametrize(
    "y",
    [
        np.ma.masked_array([1, 0, 0, 1] * 3, mask=[1] + [0] * 11),
        ["a", "b", "b", "a"] * 2 + ["a", "b", float("nan"), "a"],
        polars.Series([1, 0, 0, 1] * 2 + [1, 0, None, 1]),
        pyarrow.array(["a", "b", "b", "a"] * 2 + ["a", "b", None, "a"]),
        pandas.array([1, 0, 0, 1] * 2 + [1, 0, None, 1], dtype="Int64"),
        pandas.Categorical(["a", "b", "b", "a"] * 2 + ["a", "b", None, "a"]),
    ],
    ids=["masked", "text", "polars", "pyarrow", "Int64", "category"],
)
def test_a_gap_in_any_container_is_no_class(y):
    with pytest.raises(ValueError, match="has no label"):
        fitted(y)


def test_nothing_masked_is_like_an_array():
    y = np.array([1, 0, 0, 1] * 3)
    found = fitted(np.ma.masked_array(y)).decide(np.ma.masked_array(PROBA))
    np.testing.assert_array_equal(found.proba, fitted(y).decide(PROBA).proba)


@pytest.mark.parametrize(
    "labels",
    [
        [1e300, 2e300],
        [2**53, 2**53 + 1],
        [2**63, 2**63 + 1],
        [0.1, 0.1 + 2**-56],
        [2**53 + 1, 0.5],
        [1, "a"],
        ["nan", "None"],
        ["x" * 300, "x" * 301],
        [b"a".decode(), "A"],
    ],
    ids=str,
)
def test_labels_stay_apart(labels):
    codes = np.array([1, 0, 0, 1] * 3)
    y = [labels[code] for code in codes]
    found = fitted(y, classes=labels)
    assert found.classes_.tolist() == labels
    assert check_labels(y, classes=labels).tolist() == codes.tolist()
    assert found.decide(PROBA).prediction.tolist() == y


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([True, 1], "both booleans and numbers"),
        ([1, "1"], "labels that read the same; got 1, of type int, and '1', of type str"),
        (["a", b"a"], "must be text, whole numbers, fractions or booleans; row 0 is"),
        ([1j, 2j], "must be text, whole numbers, fractions or booleans"),
        ([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)], "a date"),
        (["a\0", "a"], "the character NUL"),
        (["\ud800", "a"], "half a character"),
        ([10**30, 10**31], "must be text, whole numbers"),
        ([(1, 2), (3, 4)], "a tuple"),
    ],
)
def test_what_cannot_be_told_apart_is_refused(labels, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fitted([labels[code] for code in [1, 0, 0, 1] * 3])


@pytest.mark.parametrize("kind", ["datetime64[ns]", "timedelta64[s]", "S2", complex, "f8,f8"])
def test_arrays_of_no_labels_are_refused(kind):
    with pytest.raises(TypeError, match="must be text, whole numbers, fractions or booleans"):
        label_array(np.zeros(4, dtype=kind), "y")


def test_a_classifier_refuses_a_gap():
    sklearn = pytest.importorskip("sklearn.linear_model")
    X, y = np.arange(12.0)[:, None], [1, 0] * 5 + [None, 1]
    with pytest.raises(ValueError, match="`y` has no label"):
        AbstainingClassifier(sklearn.LogisticRegression(), cv=2).fit(X, y)


def test_whole_numbers_that_came_as_fractions_find_their_columns():
    """Columns named by 1 and 0 are those of 1.0 and 0.0, in whichever order they stand."""
    y = np.array([1, 0, 0, 1] * 3)
    frame = pandas.DataFrame({"p_1": PROBA[:, 1], "p_0": PROBA[:, 0]})
    found = fitted(y).decide(PROBA)
    how = {"calibration": "identity", "shift": "none", "random_state": 0}
    other = Abstainer("accuracy", budget=0.25, **how).fit(frame, y.astype(float)).decide(frame)
    assert other.prediction.tolist() == found.prediction.tolist()
