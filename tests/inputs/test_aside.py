"""Which rows have no score or a known label, from whatever they came in."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from abstain._inputs import ClassOrder, read_scores, row_roles

CLASSES = np.array([0, 1])
ORDER = ClassOrder(CLASSES, CLASSES, 1)


@pytest.mark.parametrize(
    "scores",
    [
        [0.1, None, 0.3],
        np.array([0.1, np.nan, 0.3], dtype=np.float32),
        np.ma.masked_array([0.1, 0.2, 0.3], mask=[False, True, False]),
        pd.Series([0.1, None, 0.3], dtype="Float64"),
        pd.Series([0.1, pd.NA, 0.3], dtype=object),
        pl.Series([0.1, None, 0.3]),
        pa.chunked_array([[0.1, None, 0.3]]),
        pd.DataFrame({"p_1": [0.1, None, 0.3]}),
        pd.DataFrame({"p_1": pd.Series([0.1, pd.NA, 0.3], dtype=object)}),
        pd.DataFrame({"p_1": [0.1, None, 0.3]}, dtype="Float64"),
        pl.DataFrame({"p_1": [0.1, None, 0.3]}),
        pa.table({"p_1": [0.1, None, 0.3]}),
    ],
    ids=lambda scores: f"{type(scores).__module__}.{type(scores).__name__}",
)
def test_a_gap_is_a_gap_in_anything(scores):
    values, roles = row_roles(read_scores(scores, ORDER).values, missing="refer")
    np.testing.assert_array_equal(roles.missing, [False, True, False])
    np.testing.assert_allclose(roles.scored(values), [0.1, 0.3], rtol=1e-6)
    assert roles.rows is None
    assert roles.known is None
    _, dropped = row_roles(read_scores(scores, ORDER).values, missing="drop")
    np.testing.assert_array_equal(dropped.rows, [0, 2])
    assert dropped.missing is None
    assert not dropped.nothing


def test_any_gap_of_a_row_makes_it_one_and_precision_stays():
    scores = np.array([[0.2, 0.8], [np.nan, 0.4], [np.nan, np.nan]], dtype=np.float32)
    values, roles = row_roles(scores, missing="refer")
    np.testing.assert_array_equal(roles.missing, [False, True, True])
    assert values.dtype == np.float32
    assert row_roles(scores[:1], missing="error")[1].nothing


@pytest.mark.parametrize(
    "labels",
    [
        [1, None, np.nan, 0],
        pd.Series([1, pd.NA, None, 0], dtype="Int64"),
        pd.Series([1, None, None, 0], dtype="category"),
        pl.Series([1, None, None, 0]),
        pa.array([1, None, None, 0]),
        np.ma.masked_array([1, 7, 7, 0], mask=[False, True, True, False]),
        np.array([1.0, np.nan, np.nan, 0.0]),
    ],
    ids=lambda labels: f"{type(labels).__module__}.{type(labels).__name__}",
)
def test_labels_where_they_are_known(labels):
    _, roles = row_roles(np.full(4, 0.5), missing="error", y_target=labels, classes=CLASSES)
    np.testing.assert_array_equal(roles.codes, [1, -1, -1, 0])
    np.testing.assert_array_equal(roles.at, [1, 2])
    np.testing.assert_array_equal(roles.counts(None, 2), [1, 1])


def test_text_labels_are_unknown_where_empty():
    classes = np.array(["no", "yes"])
    labels = np.array(["yes", "", "no"])
    _, roles = row_roles(np.full(3, 0.5), missing="error", y_target=labels, classes=classes)
    np.testing.assert_array_equal(roles.codes, [1, -1, 0])
    _, nothing = row_roles(np.full(3, 0.5), missing="error", y_target=[""] * 3, classes=classes)
    assert nothing.nothing


def test_a_row_with_a_label_needs_no_score():
    scores = [0.1, None, None]
    _, roles = row_roles(scores, missing="drop", y_target=[None, 1, None], classes=CLASSES)
    np.testing.assert_array_equal(roles.rows, [0, 1])
    np.testing.assert_array_equal(roles.missing, [False, True])
    assert not roles.referred.any()
    row_roles(scores[:2], missing="error", y_target=[None, 1], classes=CLASSES)


@pytest.mark.parametrize(
    ("scores", "options", "error", "message"),
    [
        ([0.1], {"missing": "ignore"}, ValueError, '"error", "refer" or "drop"; got \'ignore\''),
        (
            [0.1, None, 0.2],
            {},
            ValueError,
            r'1 of 3 rows have no score .*, row 1\. Pass missing="refer"',
        ),
        ([None] * 7, {}, ValueError, r"7 of 7 rows .* rows 0, 1, 2, 3, 4, \.\.\."),
        ([[0.1, 0.9], [0.3]], {}, TypeError, "`scores` must be numbers"),
        ([0.1, 0.2], {"y_target": [1]}, ValueError, r"one entry per row.*2 rows, shape \(1,\)"),
        (
            [0.1, 0.2],
            {"y_target": [None, "ill"]},
            ValueError,
            r"no class in 1 of 2 rows, first is row 1 \('ill'\). The classes are 0, 1; leave",
        ),
    ],
)
def test_messages(scores, options, error, message):
    with pytest.raises(error, match=message):
        row_roles(scores, classes=CLASSES, **{"missing": "error", **options})
