"""Rows that are no scores go to a person; names and labels are quoted, whatever they hold."""

import sqlite3
from dataclasses import replace

import numpy as np
import pytest
import sqlglot

from abstain import calibration
from abstain.regions import ScoreThreshold
from abstain.rules import Argmax
from abstain.sql import to_sql

from .cases import choose_by_score, of_four, of_two
from .engines import InSQLite, applied, assert_decides_alike, columns_of

DIALECTS = ["bigquery", "databricks", "duckdb", "postgres", "snowflake", "spark", "sqlite"]
HOSTILE = [
    "'; DROP TABLE t; --",
    'a"b',
    "back\\slash\\'",
    "new\nline",
    "`tick`",
    "ünïcödé 🙂",
    "",
    "/* no */ -- comment",
]
NO_SCORES = [np.nan, np.inf, -np.inf, None]


def assert_to_a_person(found, rows, labels):
    for row in rows:
        assert bool(found["abstain"][row]) is True
        assert found["prediction"][row] is None
        assert all(found[f"p_{label}"][row] is None for label in labels)


def test_what_is_no_score_goes_to_a_person(engine):
    for scale, wrong in (("logits", NO_SCORES), ("probabilities", [*NO_SCORES, -1e-9, 1.0000001])):
        policy, scores = of_two("bcts", scale)
        some = scores[:5]
        engine.load({"s0": np.array([*some, *wrong], dtype=object).astype(float)})
        found = engine.run(policy.to_sql(engine.dialect, table="t", scores=["s0"]))
        assert [bool(one) for one in found["abstain"][:5]] == applied(
            policy, some
        ).abstain.tolist()
        assert_to_a_person(found, range(5, 5 + len(wrong)), policy.classes)


def test_of_many_columns_too(engine):
    policy, scores = of_four("bcts")
    given = np.repeat(scores[:1], 8, axis=0)
    for row, value in enumerate([np.nan, np.inf, -np.inf, -0.1, 1e308, 0.9, -0.0], 1):
        given[row, row % 4] = value
    given[7] = [0.0, 0.25, 0.25, 0.5005]
    engine.load(columns_of(given))
    found = engine.run(policy.to_sql(engine.dialect, table="t", scores=[*columns_of(given)]))
    refused = []
    for row in range(len(given)):
        try:
            expected = applied(policy, given[row : row + 1])
        except ValueError:
            refused.append(row)
        else:
            assert found["prediction"][row] == expected.prediction[0]
            assert bool(found["abstain"][row]) == expected.abstain[0]
    assert refused == [1, 2, 3, 4, 5, 6]
    assert_to_a_person(found, refused, policy.classes)


def test_immense_logits(postgres):
    """Differences, products and exponentials beyond all numbers are no errors anywhere."""
    policy, _ = of_two("bcts", "logits")
    most = float(np.finfo(np.float64).max)
    line = np.array([most, -most, 5e-324, -5e-324, 0.0, 750.0, -750.0, 1e101])
    pairs = np.array([(a, b) for a in line for b in line])
    for scores in (line, pairs):
        expected = applied(policy, scores)
        postgres.load(columns_of(scores))
        query = policy.to_sql("postgres", table="t", scores=[*columns_of(scores)])
        found = postgres.run(query)
        assert [*found["prediction"]] == expected.prediction.tolist()
        assert [*found["abstain"]] == expected.abstain.tolist()


@pytest.mark.parametrize(
    "slopes", [(3e-100, 3e-100), (1e-100, 3e-100), (2e-101, 1e-3), (1e-9, -1.0)]
)
@pytest.mark.parametrize("name", ["vector", "beta"])
def test_no_logit_is_wider_than_the_widest(engine, name, slopes):
    """However flat the curve: of 1e300 it has the value that it has of 1e100, as in ``apply``."""
    policy, _ = of_two(name, "logits")
    state = {**policy.calibrator.to_dict(), "slope_": slopes, "bias_": [0.0, 0.3]}
    flat = replace(policy, calibrator=calibration.from_dict(state, classes=policy.classes))
    most = float(np.finfo(np.float64).max)
    scores = np.array([1.0, 1e99, 1e100, 1.01e100, 5e199, most])
    scores = np.append(scores, -scores)
    engine.load(columns_of(scores))
    assert_decides_alike(engine, flat, scores)


def test_the_last_digit_tells_which_class_is_most_probable(engine):
    policy, _ = of_four("temperature")
    state = {"name": "identity", "scale": "logits", "slope_": [1.0] * 4, "bias_": [0.0] * 4}
    policy = replace(
        policy,
        calibrator=calibration.from_dict(state, classes=policy.classes),
        priors=policy.source_priors,
        rule=Argmax(),
    )
    # What an exponential of these is when rounded is beyond doubt.
    scores = np.array([[0.0, 4e-16, 0.0, -1.0], [-4e-16, 0.0, -2.6e-16, 0.0], [0.0] * 4])
    engine.load(columns_of(scores))
    assert applied(policy, scores).prediction.tolist() == ["b", "b", "a"]
    assert_decides_alike(engine, policy, scores)


def test_text_in_sqlite_is_no_score():
    policy, _ = of_two("bcts", "probabilities")
    engine = InSQLite()
    engine.connection.execute("CREATE TABLE t (id, s0)")
    engine.connection.executemany(
        "INSERT INTO t VALUES (?, ?)", [(0, "none"), (1, b"0.5"), (2, "0.5"), (3, 1), (4, 0.25)]
    )
    found = engine.run(policy.to_sql("sqlite", table="t", scores=["s0"]))
    expected = applied(policy, np.array([1.0, 0.25]))
    assert_to_a_person(found, [0, 1, 2], policy.classes)
    assert [bool(one) for one in found["abstain"][3:]] == expected.abstain.tolist()
    engine.close()


def relabelled(labels):
    policy, scores = of_two("bcts")
    labels = np.array(labels)
    return replace(policy, classes=labels, columns=labels, positive=labels.tolist()[1]), scores


@pytest.mark.parametrize("label", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_labels_come_out_as_they_are(engine, label):
    policy, scores = relabelled(["other", label])
    engine.load(columns_of(scores))
    found = engine.run(policy.to_sql(engine.dialect, table="t", scores=["s0"]))
    assert set(found["prediction"]) == {"other", label}
    assert f"p_{label}" in found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_hostile_labels_are_quoted_in_every_dialect(dialect):
    labels = [f"{label}{i}" for i, label in enumerate(HOSTILE)]
    for two in (labels[:2], labels[2:4], labels[4:6], labels[6:]):
        policy, _ = relabelled(two)
        query = policy.to_sql(dialect, table="t", scores=["s0"], probabilities=False)
        (tree,) = sqlglot.parse(query, dialect=dialect)
        literals = {one.name for one in tree.find_all(sqlglot.exp.Literal) if one.is_string}
        assert set(two) <= literals
        assert not [*tree.find_all(sqlglot.exp.Drop)]


@pytest.mark.parametrize(
    ("labels", "kind"),
    [([3, 7], int), ([0.5, 1.5], float), ([False, True], (bool, int)), (["no", "yes"], str)],
)
def test_labels_keep_their_kind(engine, labels, kind):
    policy, scores = relabelled(labels)
    engine.load(columns_of(scores))
    found = engine.run(policy.to_sql(engine.dialect, table="t", scores=["s0"]))
    assert set(found["prediction"]) == set(labels)
    assert all(isinstance(one, kind) for one in found["prediction"])


def test_hostile_names_of_tables_and_columns(engine):
    policy, scores = of_two("bcts")
    for name in ['a"b', "x; DROP TABLE t; --", "with space", "select", "back\\slash"]:
        quoted = '"' + name.replace('"', '""') + '"'
        engine.load(columns_of(scores[:20]))
        engine.connection.execute(f"CREATE TABLE {quoted} AS SELECT id, s0 AS {quoted} FROM t")
        found = engine.run(policy.to_sql(engine.dialect, table=(name,), scores=[name]))
        assert [*found][:2] == ["id", name]
        expected = applied(policy, scores[:20]).abstain.tolist()
        assert [bool(one) for one in found["abstain"]] == expected


def test_columns_that_come_out(engine):
    policy, scores = of_four("bcts")
    engine.load({"prediction": scores[:, 0], **columns_of(scores)})
    names = [*columns_of(scores)]
    ours = ["p_a", "p_b", "p_c", "p_d", "prediction", "abstain", "policy"]

    def columns(**options):
        query = policy.to_sql(engine.dialect, table="t", scores=names, **options)
        return [*engine.run(query)]

    assert columns(keep=["id"]) == ["id", *ours]
    assert columns(keep=["s1", "id"], probabilities=False) == ["s1", "id", *ours[-3:]]
    renamed = [f"abstain_{one}" for one in ours]
    assert columns(keep=["id", "prediction"]) == ["id", "prediction", *renamed]
    assert columns(prefix="rule_")[6:] == [f"rule_{one}" for one in ours]
    assert columns(prefix="rule_")[:6] == ["id", "prediction", *names]


def test_names_that_would_be_the_same():
    policy, _ = relabelled(["A", "a"])
    query = policy.to_sql("duckdb", table="t", scores=["s0"])
    assert '"p_A"' in query
    assert '"p_a_1"' in query
    policy, _ = relabelled(["x" * 70, "x" * 71])
    names = sqlglot.parse_one(
        policy.to_sql("postgres", table="t", scores=["s0"]), dialect="postgres"
    ).named_selects
    assert len(set(names)) == len(names)
    assert all(len(name.encode()) <= 63 for name in names)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_says_double_and_natural_logarithm(dialect):
    double = {"bigquery": "FLOAT64", "postgres": "DOUBLE PRECISION", "sqlite": "REAL"}
    for policy, names in ((of_two("beta")[0], ["s0"]), (of_four("isotonic")[0], list("wxyz"))):
        query = policy.to_sql(dialect, table="a.b", scores=names)
        (tree,) = sqlglot.parse(query, dialect=dialect)
        assert f"AS {double.get(dialect, 'DOUBLE')})" in query
        assert "LN(" in query
        assert "LOG(" not in query
        assert "GREATEST_IGNORE" not in query
        kinds = {one.args["to"].this.name for one in tree.find_all(sqlglot.exp.Cast)}
        # Nothing of less precision, and no decimal number outside of a cast but in SQLite.
        assert kinds <= {"DOUBLE", "FLOAT"}
        numbers = {one.name for one in tree.find_all(sqlglot.exp.Literal) if not one.is_string}
        if dialect != "sqlite":
            assert all(one.isdigit() for one in numbers)


def test_what_cannot_be_expressed_is_explained():
    policy, scores = of_two("bcts")
    proba = policy.predict_proba(scores)

    def with_score(name):
        return replace(policy, region=ScoreThreshold(name, 0.5))

    given = {"table": "t", "scores": ["s0"]}
    random = replace(policy, region=choose_by_score("random", proba, 10))
    with pytest.raises(TypeError, match="No operations are known for 'random': it is a hash"):
        to_sql(random, "duckdb", **given)
    with pytest.raises(TypeError, match="'dropout-variance': it cannot be told from one pred"):
        to_sql(with_score("dropout-variance"), "duckdb", **given)
    with pytest.raises(TypeError, match="it is a function of your own"):
        to_sql(with_score(lambda p: p[:, 0]), "duckdb", **given)
    with pytest.raises(ValueError, match=r"`dialect` must be one of bigquery, .*; got 'oracle'"):
        to_sql(policy, "oracle", **given)
    with pytest.raises(TypeError, match="`dialect` must be a name"):
        to_sql(policy, None, **given)
    with pytest.raises(ValueError, match="`table` must be a name such as"):
        to_sql(policy, "duckdb", table="a.b.c.d", scores=["s0"])
    with pytest.raises(ValueError, match="`table` must not hold an empty name"):
        to_sql(policy, "duckdb", table="a..b", scores=["s0"])
    with pytest.raises(ValueError, match=r"`scores` must name one column per class, .*; got 3"):
        to_sql(policy, "duckdb", table="t", scores=["a", "b", "c"])
    with pytest.raises(ValueError, match="`scores` names a column twice"):
        to_sql(policy, "duckdb", table="t", scores=["a", "a"])
    with pytest.raises(ValueError, match="a zero byte or half a character"):
        to_sql(policy, "duckdb", table="t", scores=["a\x00"])
    with pytest.raises(ValueError, match="begin with 'abstain__'"):
        to_sql(policy, "duckdb", table="t", scores=["abstain__1"])
    with pytest.raises(ValueError, match='`dtype` must be "float64" or "float32"'):
        to_sql(policy, "duckdb", dtype="f4", **given)
    with pytest.raises(ValueError, match="Pass another prefix"):
        to_sql(policy, "duckdb", keep=["x_abstain"], prefix="x_", **given)
    with pytest.raises(ValueError, match="nothing says which of 'a' and 'b' is the positive"):
        to_sql(replace(relabelled(["a", "b"])[0], positive=None), "duckdb", **given)


def test_a_table_with_a_column_called_rowid_keeps_its_rows():
    policy, scores = of_four("bcts")
    engine = InSQLite()
    engine.load(
        {**columns_of(scores[:60]), "rowid": np.array([f"case {i % 3}" for i in range(60)])}
    )
    found = engine.run(policy.to_sql("sqlite", table="t", scores=[*columns_of(scores[:60])]))
    assert len(found["abstain"]) == 60
    assert [*found["rowid"][:2]] == ["case 0", "case 1"]


def test_a_view_without_row_numbers_is_no_silence():
    policy, scores = of_four("bcts")
    engine = InSQLite()
    columns = columns_of(scores[:60])
    engine.load(columns)
    engine.connection.execute("CREATE VIEW seen AS SELECT * FROM t")
    with pytest.raises(sqlite3.OperationalError):
        engine.run(policy.to_sql("sqlite", table="seen", scores=[*columns]))
    kept = policy.to_sql("sqlite", table="seen", scores=[*columns], keep=["id", *columns])
    assert len(engine.run(kept)["abstain"]) == 60
