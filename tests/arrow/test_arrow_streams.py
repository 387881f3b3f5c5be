"""Streams of every kind give what one table gives; a source that ends is not read twice."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import abstain.arrow
from abstain import Abstainer
from abstain.datasets import screening_clinic, simulate_four_class_normal
from abstain.exceptions import AssumptionWarning

ROWS = 5_000


@pytest.fixture(scope="module")
def clinic():
    return screening_clinic(2_000, ROWS, random_state=0)


@pytest.fixture(scope="module")
def fitted(clinic):
    abstainer = Abstainer(
        "accuracy", budget=0.15, calibration="platt", scale="logits", random_state=0
    )
    return abstainer.fit(clinic.scores_val, clinic.y_val)


@pytest.fixture(scope="module")
def policy(fitted, clinic):
    return fitted.decide(clinic.scores_target).policy


@pytest.fixture(scope="module")
def table(clinic):
    return pa.table(
        {
            "id": np.arange(ROWS) + 100,
            "p_1": clinic.scores_target,
            "site": pa.array(["a", "b", None, "d"] * (ROWS // 4)),
        }
    )


def lazy_frame(table):
    polars = pytest.importorskip("polars")
    if not hasattr(polars.LazyFrame, "collect_batches"):
        pytest.skip("this Polars cannot collect in batches")
    return polars.from_arrow(table).lazy()


def relation(table):
    duckdb = pytest.importorskip("duckdb")
    return duckdb.from_arrow(table)


class Protocol:
    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def parquet_dataset(table, folder):
    for place, begin in enumerate(range(0, ROWS, 1_300)):
        pq.write_table(table.slice(begin, 1_300), folder / f"{place}.parquet", row_group_size=400)
    return ds.dataset(folder)


SOURCES = {
    "table": lambda table, _: table,
    "batches": lambda table, _: table.to_batches(max_chunksize=611),
    "dataset": parquet_dataset,
    "scanner": lambda table, folder: parquet_dataset(table, folder).scanner(batch_size=333),
    "Polars LazyFrame": lambda table, _: lazy_frame(table),
    "DuckDB relation": lambda table, _: relation(table),
    "protocol": lambda table, _: Protocol(table),
    "function": lambda table, _: lambda: table.to_reader(max_chunksize=700),
    "reader": lambda table, _: table.to_reader(max_chunksize=700),
    "generator": lambda table, _: (batch for batch in table.to_batches(max_chunksize=512)),
}
ONCE = ("reader", "generator")


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_source_is_decided_about_as_one_table(kind, table, policy, tmp_path):
    source = SOURCES[kind](table, tmp_path)
    found = abstain.arrow.apply(source, policy, batch_rows=600).read_all()
    whole = policy.apply(table).to_frame()
    assert found.column_names == whole.column_names
    for name in whole.column_names:
        assert found.column(name).to_pylist() == whole.column(name).to_pylist()


def test_types_are_those_of_to_frame_and_known_before_the_first_row(table, policy):
    def never():
        raise AssertionError("nothing is read yet")
        yield

    reader = pa.RecordBatchReader.from_batches(table.schema, never())
    made = abstain.arrow.apply(reader, policy)
    assert made.schema == policy.apply(table).to_frame().schema


def test_classes_that_are_text(tmp_path):
    rows = simulate_four_class_normal(2_000, random_state=0)
    names = np.array(["none", "mild", "severe", "worst"])
    fitted = Abstainer("accuracy", budget=0.2, calibration="temperature", random_state=0)
    fitted.fit(rows.proba, names[rows.y], classes=names)
    table = pa.table({f"p_{name}": rows.proba[:, k] for k, name in enumerate(names)})
    policy = fitted.decide(table).policy
    # In any order of columns, which are taken by their names.
    turned = table.select(table.column_names[::-1])
    found = abstain.arrow.apply(turned, policy, batch_rows=300).read_all()
    assert found.equals(policy.apply(table).to_frame())
    assert found.schema.field("prediction").type == pa.string()


def test_columns_are_named_and_those_of_the_user_keep_theirs(table, policy):
    renamed = table.rename_columns(["abstain", "logit", "p_1"])
    found = abstain.arrow.apply(renamed, policy, scores="logit").read_all()
    assert found.column_names[:3] == ["abstain", "p_1", "abstain_abstain"]
    assert found.column_names[-1] == "abstain_p_1"
    whole = policy.apply(table).to_frame()
    assert found.column("abstain_p_1").to_pylist() == whole.column("p_1").to_pylist()


def test_scores_in_the_order_they_are_named(clinic):
    logits = np.column_stack([-clinic.scores_val, clinic.scores_val]) / 2
    fitted = Abstainer("accuracy", budget=0.1, scale="logits", calibration="bcts", random_state=0)
    fitted.fit(logits, clinic.y_val)
    policy = fitted.decide(logits).policy
    table = pa.table({"no": logits[:, 0], "id": np.arange(len(logits)), "yes": logits[:, 1]})
    found = abstain.arrow.apply(table, policy, scores=["no", "yes"]).read_all()
    assert found.column_names[0] == "id"
    assert (found.column("p_1").to_numpy() == policy.apply(logits).proba[:, 1]).all()


@pytest.mark.parametrize("missing", ["refer", "drop"])
def test_rows_without_a_score(table, policy, missing):
    scores = table.column("p_1").to_pylist()
    scores[3] = scores[700] = scores[4_999] = None
    gapped = table.set_column(1, "p_1", pa.array(scores))
    found = abstain.arrow.apply(gapped, policy, missing=missing, batch_rows=500).read_all()
    whole = policy.apply(gapped, missing=missing).to_frame()
    for name in ("id", "abstain", "reason", "prediction"):
        assert found.column(name).to_pylist() == whole.column(name).to_pylist()
    assert len(found) == (ROWS if missing == "refer" else ROWS - 3)


def test_a_gap_is_an_error_that_says_where_it_is(table, policy):
    scores = table.column("p_1").to_pylist()
    scores[1_205] = None
    gapped = table.set_column(1, "p_1", pa.array(scores))
    with pytest.raises(ValueError, match=r"1 of 500 rows.*row 205.*row 1000 of the stream"):
        abstain.arrow.apply(gapped, policy, batch_rows=500).read_all()


def test_of_a_window_no_chunk_knows_the_gain(clinic, table):
    fitted = Abstainer("auroc", budget=0.15, calibration="platt", scale="logits", random_state=0)
    policy = fitted.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target).policy
    found = abstain.arrow.apply(table, policy).read_all()
    assert np.isnan(found.column("gain").to_numpy()).all()
    whole = policy.apply(table).to_frame().drop_columns("gain")
    assert found.drop_columns("gain").equals(whole)


def test_the_whole_stream_is_checked_once(table, fitted, clinic):
    few = fitted.decide(np.sort(clinic.scores_target)[:2_000]).policy
    with pytest.warns(AssumptionWarning) as heard:
        abstain.arrow.apply(table, few, batch_rows=250).read_all()
    more = [str(one.message) for one in heard if "more than the budget" in str(one.message)]
    assert len(more) == 1
    assert f"of {ROWS} rows" in more[0]


def test_an_empty_stream_gives_no_rows(table, policy):
    assert abstain.arrow.apply(table.slice(0, 0), policy).read_all().num_rows == 0


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (3, "`source` must be a PyArrow dataset"),
        ("batch.parquet", "`source` must be a PyArrow dataset"),
        ([], "a list that is empty"),
        ([{"p_1": 0.5}], "holds something else"),
        (iter([]), "which gives nothing"),
        (iter([1]), "which gives int"),
    ],
)
def test_what_is_no_stream_is_refused(source, said, policy):
    with pytest.raises(TypeError, match=said):
        abstain.arrow.apply(source, policy)


def test_batches_of_different_columns_are_refused(table, policy):
    batches = [table.to_batches()[0], table.select(["id", "p_1"]).to_batches()[0]]
    with pytest.raises(ValueError, match="batches of one schema; batch 1"):
        abstain.arrow.apply(batches, policy)
    with pytest.raises(ValueError, match="batches of one schema; batch 1"):
        abstain.arrow.apply(iter(batches), policy).read_all()


@pytest.mark.parametrize(
    ("scores", "said"), [("logit", "'logit' is none of them"), (["p_1", "q"], "'q' is none")]
)
def test_a_column_that_is_not_there(table, policy, scores, said):
    with pytest.raises(ValueError, match=said):
        abstain.arrow.apply(table, policy, scores=scores)


def test_an_error_of_the_source_comes_through(table, policy):
    def broken():
        yield table.to_batches()[0].slice(0, 10)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        abstain.arrow.apply(broken(), policy).read_all()


def test_a_reader_that_is_left_leaves_no_thread(table, policy):
    import threading

    before = threading.active_count()
    reader = abstain.arrow.apply(table, policy, batch_rows=100)
    reader.read_next_batch()
    del reader
    assert threading.active_count() == before


def same(one, other):
    """Whether two policies decide and estimate alike; each has the time it was made."""
    plain = [policy.to_dict() | {"created": None} for policy in (one, other)]
    return plain[0] == plain[1]


@pytest.mark.parametrize("kind", ["dataset", "Polars LazyFrame", "DuckDB relation", "function"])
def test_two_passes_are_one_summary_and_its_rule(kind, table, fitted, tmp_path):
    source = SOURCES[kind](table, tmp_path)
    policy, frame = abstain.arrow.decide(source, fitted, batch_rows=700)
    assert same(policy, fitted.decide_summary(fitted.summarise(table)))
    whole = policy.apply(table).to_frame()
    found = frame.read_all()
    for name in whole.column_names:
        assert found.column(name).to_pylist() == whole.column(name).to_pylist()


@pytest.mark.parametrize("kind", ONCE)
def test_what_can_be_read_once_is_summarised_and_not_decided_about(kind, table, fitted):
    summary = abstain.arrow.summarise(SOURCES[kind](table, None), fitted)
    assert summary.to_bytes() == fitted.summarise(table).to_bytes()
    with pytest.raises(ValueError, match="can be read only once, and deciding takes two passes"):
        abstain.arrow.decide(SOURCES[kind](table, None), fitted)


def test_weights_and_gaps_are_summarised_as_at_once(table, fitted):
    weights = np.resize([1.0, 2.0, 0.5], ROWS)
    scores = table.column("p_1").to_pylist()
    scores[17] = None
    gapped = table.set_column(1, "p_1", pa.array(scores)).append_column("w", pa.array(weights))
    found = abstain.arrow.summarise(
        gapped, fitted, sample_weight="w", missing="refer", batch_rows=99
    )
    whole = fitted.summarise(gapped.select(["p_1"]), weights, missing="refer")
    assert found.to_bytes() == whole.to_bytes()
    with pytest.raises(ValueError, match="`sample_weight` must name columns"):
        abstain.arrow.summarise(gapped, fitted, sample_weight="nonesuch")


def test_a_source_that_gives_other_rows_the_second_time(table, fitted):
    lengths = iter([ROWS, ROWS - 10])
    decided = abstain.arrow.decide(lambda: table.slice(0, next(lengths)).to_reader(), fitted)
    with pytest.raises(ValueError, match=r"gave 5000 rows .* and 4990 when it was applied"):
        decided.frame.read_all()


def test_nothing_to_decide_about(table, fitted):
    with pytest.raises(ValueError, match="`source` has no rows"):
        abstain.arrow.decide(table.slice(0, 0), fitted)


def test_a_draw_does_not_depend_on_how_the_stream_is_cut():
    from abstain.arrow import RowSample

    rows = np.arange(10_000.0)[:, None]
    drawn = []
    for size in (10_000, 137):
        sample = RowSample(500)
        for begin in range(0, len(rows), size):
            sample.add(rows[begin : begin + size])
        drawn.append(sample.scores[:, 0])
    assert (drawn[0] == drawn[1]).all()
    assert len(drawn[0]) == 500
    assert (np.diff(drawn[0]) > 0).all()
    # Fair: about as many from each tenth.
    assert np.bincount((drawn[0] // 1_000).astype(int)).min() > 25


def test_progress_shows_rows_per_second(table, policy, capsys, monkeypatch):
    abstain.arrow.apply(table, policy, batch_rows=500, progress=True).read_all()
    assert capsys.readouterr().err == ""  # it takes less than two seconds
    monkeypatch.setattr("abstain._numerics._terminal.PATIENCE", 0.0)
    monkeypatch.setattr("abstain._numerics._terminal.RATE_INTERVAL", 0.0)
    abstain.arrow.apply(table, policy, batch_rows=500, progress=True).read_all()
    shown = capsys.readouterr().err
    assert "deciding 5,000 rows, " in shown
    assert "rows/s" in shown
    assert shown.endswith("\r\x1b[K")
