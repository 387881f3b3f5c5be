"""Dask's frames and arrays: the rule of one machine, whatever the partitions, and its columns."""

import pickle

import numpy as np
import pytest

from abstain import Abstainer
from abstain.datasets import screening_clinic

pd = pytest.importorskip("pandas")
dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")

bridge = pytest.importorskip("abstain.dask")

# Dask's own business with the newest pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning")

N = 1_200


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def clinic():
    return screening_clinic(600, N, random_state=0)


@pytest.fixture(scope="module")
def binary(clinic):
    abstainer = Abstainer(
        "sensitivity@specificity=0.9",
        budget=0.15,
        calibration="platt",
        scale="logits",
        random_state=0,
    )
    return abstainer.fit(clinic.scores_val, clinic.y_val)


@pytest.fixture(scope="module")
def frame(clinic):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "id": [f"row {at}" for at in range(N)],
            "score": clinic.scores_target,
            "times": rng.integers(1, 4, N).astype(float),
            "abstain": rng.random(N) < 0.5,
        },
        index=pd.Index(np.arange(N) * 2, name="visit"),
    )


@pytest.fixture(scope="module")
def ten():
    rng = np.random.default_rng(0)
    labels = np.array([f"c{at}" for at in range(10)])
    y_val, y = rng.integers(10, size=500), rng.integers(10, size=N)
    scores_val, scores = rng.normal(size=(500, 10)), rng.normal(size=(N, 10))
    scores_val[np.arange(500), y_val] += 2
    scores[np.arange(N), y] += 2
    abstainer = Abstainer("accuracy", budget=0.2, scale="logits", random_state=0)
    abstainer.fit(scores_val, labels[y_val], classes=labels)
    return abstainer, pd.DataFrame(scores, columns=[f"p_{label}" for label in labels])


def content(policy):
    """Return everything that a policy is but when it was made."""
    return {**policy.to_dict(), "created": ""}


def alone(abstainer, *scores, **how):
    return content(abstainer.decide_summary(abstainer.summarise(*scores, **how)))


def cut(frame, sizes):
    """Return a Dask frame of partitions of these sizes."""
    ends = np.cumsum(sizes)
    parts = [frame.iloc[end - size : end] for size, end in zip(sizes, ends, strict=True)]
    return dd.from_map(lambda at: parts[at], range(len(parts)), meta=frame.iloc[:0])


@pytest.mark.parametrize("sizes", [[N], [N // 3] * 3, [1, 0, N - 2, 1, 0], [60] * 20])
def test_the_rule_is_that_of_one_machine_whatever_the_partitions(sizes, binary, frame):
    decided = bridge.decide(cut(frame, sizes), binary, scores="score")
    assert content(decided.policy) == alone(binary, frame["score"].to_numpy())


def test_so_are_the_summary_and_the_rule_of_ten_classes(ten):
    abstainer, frame = ten
    parts = cut(frame, [N // 2, 0, N // 2])
    whole = abstainer.summarise(frame)
    assert bridge.summarise(parts, abstainer).to_bytes() == whole.to_bytes()
    assert content(bridge.decide(parts, abstainer).policy) == alone(abstainer, frame)


def test_weights_are_a_column(binary, frame):
    parts = dd.from_pandas(frame, npartitions=3)
    decided = bridge.decide(parts, binary, scores="score", sample_weight="times")
    expected = alone(binary, frame["score"].to_numpy(), frame["times"].to_numpy())
    assert content(decided.policy) == expected
    assert "times" in decided.frame.columns
    # Rows that count nothing, all in one partition.
    none = frame.assign(times=frame["times"].where(np.arange(N) >= 100, 0.0))
    found = bridge.summarise(
        cut(none, [100, N - 100]), binary, scores="score", sample_weight="times"
    )
    whole = binary.summarise(none["score"].to_numpy(), none["times"].to_numpy())
    assert found.to_bytes() == whole.to_bytes()


def test_a_single_row(binary, frame):
    one = frame.iloc[:1]
    policy = binary.decide(frame["score"].to_numpy()).policy
    made = bridge.apply(dd.from_pandas(one, npartitions=1), policy, scores="score").compute()
    assert len(made) == 1
    found = bridge.summarise(dd.from_pandas(one, npartitions=1), binary, scores="score")
    assert found.n_rows == 1


def as_one(policy, frame, **how):
    """Return what one machine makes, but for the share of a row in what all rows gain."""
    whole = policy.apply(frame, **how).to_frame()
    return whole.assign(gain=np.nan) if len(policy.classes) == 2 else whole


def test_columns_are_those_of_one_machine_and_known_before_any_row(binary, frame):
    parts = cut(frame, [500, 0, N - 500])
    decided = bridge.decide(parts, binary, scores="score")
    expected = as_one(decided.policy, frame.rename(columns={"score": "p_1"}))
    made = decided.frame.compute()
    assert [*decided.frame.columns] == [*expected.columns]
    assert made.dtypes.equals(decided.frame.dtypes)
    pd.testing.assert_frame_equal(made, expected, check_dtype=False)
    assert [*made.columns[:4]] == ["id", "times", "abstain", "abstain_abstain"]


def test_columns_of_ten_classes_have_a_gain_of_each_row(ten):
    abstainer, frame = ten
    decided = bridge.decide(dd.from_pandas(frame, npartitions=3), abstainer)
    made = decided.frame.compute()
    assert made.dtypes.equals(decided.frame.dtypes)
    pd.testing.assert_frame_equal(made, as_one(decided.policy, frame), check_dtype=False)


@pytest.mark.parametrize("missing", ["refer", "drop"])
def test_rows_without_a_score(missing, binary, frame):
    gaps = frame.assign(score=frame["score"].where(np.arange(N) % 7 > 0))
    parts = cut(gaps, [7, 0, 300, N - 307])
    decided = bridge.decide(parts, binary, scores="score", missing=missing)
    expected = alone(binary, gaps["score"].to_numpy(), missing=missing)
    assert content(decided.policy) == expected
    made = decided.frame.compute()
    assert made.dtypes.equals(decided.frame.dtypes)
    whole = as_one(decided.policy, gaps.rename(columns={"score": "p_1"}), missing=missing)
    pd.testing.assert_frame_equal(made, whole, check_dtype=False)
    with pytest.raises(ValueError, match="have no score"):
        bridge.decide(parts, binary, scores="score")


def test_columns_named_by_no_class_are_taken_in_their_order(ten):
    abstainer, frame = ten
    other = frame.rename(columns=lambda name: f"logit of {name}")
    parts = dd.from_pandas(other.assign(id=1), npartitions=2)
    decided = bridge.decide(parts, abstainer, scores=[*other.columns])
    assert content(decided.policy) == alone(abstainer, frame)
    backwards = [*frame.columns][::-1]
    again = bridge.decide(dd.from_pandas(frame, npartitions=2), abstainer, scores=backwards)
    assert content(again.policy) == alone(abstainer, frame)


def test_arrays_and_single_columns(binary, ten, frame):
    values = frame["score"].to_numpy()
    for given in (
        da.from_array(values, chunks=500),
        da.from_array(values[:, np.newaxis], chunks=500),
        dd.from_pandas(frame["score"], npartitions=2),
    ):
        decided = bridge.decide(given, binary)
        assert content(decided.policy) == alone(binary, values)
        assert decided.frame.columns[0] == "abstain"
        withheld = decided.policy.apply(values).abstain
        np.testing.assert_array_equal(decided.frame["abstain"].compute(), withheld)
    abstainer, scores = ten
    decided = bridge.decide(da.from_array(scores.to_numpy(), chunks=(500, 5)), abstainer)
    assert content(decided.policy) == alone(abstainer, scores)


def test_what_is_sent_is_small_and_holds_no_validation_data(clinic):
    many = screening_clinic(50_000, 100, random_state=0)
    abstainer = Abstainer("auroc", budget=0.1, calibration="platt", scale="logits", random_state=0)
    abstainer.fit(many.scores_val, many.y_val)
    assert len(pickle.dumps(abstainer.summariser())) < 20_000
    policy = abstainer.decide(many.scores_target).policy
    frame = pd.DataFrame({"score": many.scores_target})
    made = bridge.apply(dd.from_pandas(frame, npartitions=1), policy, scores="score")
    assert len(pickle.dumps(made.__dask_graph__())) < 40_000


def test_no_more_than_eight_summaries_are_together(binary, frame, monkeypatch):
    merged = []
    together = bridge.merge_summaries

    def spied(summaries):
        merged.append(len(summaries))
        return together(summaries)

    monkeypatch.setattr(bridge, "merge_summaries", spied)
    bridge.summarise(cut(frame, [20] * 60), binary, scores="score")
    assert max(merged) <= bridge.FAN_IN
    assert sorted(merged) == [4, *[8] * 8]


def test_no_column_beside_the_scores_is_read_to_choose(binary, frame, tmp_path):
    frame.to_parquet(tmp_path / "rows.parquet")
    read = []

    class Read(dask.callbacks.Callback):
        def _posttask(self, key, result, *_):
            if isinstance(result, pd.DataFrame):
                read.append([*result.columns])

    with Read():
        bridge.summarise(dd.read_parquet(tmp_path), binary, scores="score")
    assert read
    assert all(columns == ["score"] for columns in read)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"scores": "points"}, "`scores` must name columns that are there; 'points'"),
        ({"scores": ["score", "score"]}, "a column for each of 2 classes, each once"),
        ({"scores": "score", "sample_weight": "w"}, "`sample_weight` must name columns"),
        ({"scores": "score", "missing": "skip"}, '`missing` must be "error"'),
        ({}, "`scores` must have a column for each class"),
    ],
)
def test_errors_name_the_argument(how, message, binary, frame):
    with pytest.raises(ValueError, match=message):
        bridge.decide(dd.from_pandas(frame, npartitions=2), binary, **how)


def test_a_frame_in_memory_is_refused(binary, frame):
    with pytest.raises(TypeError, match="must be a Dask DataFrame or array; got DataFrame"):
        bridge.decide(frame, binary, scores="score")
