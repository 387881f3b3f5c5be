"""DataFrames in, DataFrames out; tensors moved to memory once."""

import numpy as np
import pytest

from abstain import Abstainer, Policy
from abstain.datasets import screening_clinic, simulate_four_class_normal

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

N = 400
MAKERS = {
    "pandas": lambda data: pandas.DataFrame(data, index=np.arange(N) * 2),
    "polars": polars.DataFrame,
    "pyarrow": pyarrow.table,
}
# Not in alphabetical order: the order of the columns must not be taken for it.
NAMES = np.array(["none", "mild", "bad", "awful"])


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


@pytest.fixture(scope="module")
def simulation():
    return simulate_four_class_normal(N, random_state=0)


@pytest.fixture(scope="module")
def by_arrays(simulation):
    abstainer = abstainer_of("kappa:quadratic").fit(
        simulation.proba, NAMES[simulation.y], classes=NAMES
    )
    return abstainer.decide(simulation.proba)


def abstainer_of(metric, **parameters):
    return Abstainer(
        metric, budget=0.2, calibration="temperature", shift="none", random_state=0, **parameters
    )


def columns_of(simulation, prefix="p_"):
    return {
        f"{prefix}{name}": values for name, values in zip(NAMES, simulation.proba.T, strict=True)
    }


def column(frame, name):
    return (
        np.asarray(frame[name]).tolist() if hasattr(frame, "columns") else frame[name].to_pylist()
    )


def test_classes_are_the_names_of_the_columns_and_their_order_is_free(make, simulation, by_arrays):
    columns = columns_of(simulation)
    abstainer = abstainer_of("kappa:quadratic").fit(make(columns), NAMES[simulation.y])
    assert abstainer.classes_.tolist() == NAMES.tolist()
    turned = make(dict(reversed(columns.items())))
    assert (abstainer.decide(turned).abstain == by_arrays.abstain).all()


def test_the_id_and_the_index_come_back(make, simulation, by_arrays):
    ids = [f"patient {number}" for number in range(N)]
    frame = make({"who": ids, **columns_of(simulation)})
    result = by_arrays.policy.apply(frame).to_frame()
    assert type(result) is type(frame)
    assert column(result, "who") == ids
    assert column(result, "abstain") == by_arrays.abstain.tolist()
    assert column(result, "p_awful") == by_arrays.proba[:, 3].tolist()
    if hasattr(frame, "index"):
        assert (result.index == frame.index).all()
    reasons = {reason for reason in column(result, "reason") if reason}
    assert reasons == {by_arrays.policy.region.describe()}
    kept_gain = np.array(column(result, "gain"))[~by_arrays.abstain]
    assert kept_gain.max() < np.array(column(result, "gain"))[by_arrays.abstain].min()


def test_columns_may_be_named_without_the_prefix_or_by_numbers(simulation):
    plain = pandas.DataFrame(columns_of(simulation, prefix=""))
    assert abstainer_of("kappa").fit(plain, NAMES[simulation.y]).classes_.tolist() == list(NAMES)
    numbered = pandas.DataFrame(simulation.proba[:, ::-1], columns=[3, 2, 1, 0])
    fitted = abstainer_of("kappa").fit(numbered, simulation.y)
    assert fitted.classes_.tolist() == [3, 2, 1, 0]


def test_one_score_column_beside_an_id(make):
    clinic = screening_clinic(N, N, random_state=0)
    abstainer = abstainer_of("auroc", scale="logits")
    frame = make({"who": list(range(N)), "p_ill": clinic.scores_val})
    by_frame = abstainer.fit(frame, clinic.y_val).decide(frame)
    by_array = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_val)
    assert (by_frame.abstain == by_array.abstain).all()
    gains = np.unique(column(by_frame.to_frame(), "gain"))
    expected, proba = by_frame.metric.expected, by_frame.proba
    improvement = expected(proba[~by_frame.abstain]) - expected(proba)
    assert gains == pytest.approx([0, improvement / by_frame.abstain.sum()])


def test_an_array_gives_a_frame_too(by_arrays):
    frame = by_arrays.to_frame()
    assert list(frame.columns) == [
        "abstain", "reason", "prediction", "gain", "p_none", "p_mild", "p_bad", "p_awful",
    ]  # fmt: skip


def test_a_missing_class_is_named(by_arrays, simulation):
    columns = columns_of(simulation)
    del columns["p_mild"]
    with pytest.raises(ValueError, match="p_none, p_mild, p_bad, p_awful; its columns are p_none"):
        by_arrays.policy.apply(pandas.DataFrame(columns))


def test_a_single_score_is_of_the_class_it_is_named_by(make):
    clinic = screening_clinic(N, N, random_state=0)
    names = np.array(["healthy", "ill"])
    abstainer = abstainer_of("auroc", scale="logits")
    abstainer.fit(make({"p_ill": clinic.scores_val}), names[clinic.y_val])
    assert abstainer.positive_ == "ill"
    plain = abstainer.decide(clinic.scores_target)
    for name, sign in [("p_ill", 1), ("ill", 1), ("score", 1), ("p_healthy", -1)]:
        found = abstainer.decide(make({name: sign * clinic.scores_target}))
        np.testing.assert_allclose(found.proba, plain.proba, rtol=1e-12)


def test_carried_columns_keep_their_types(by_arrays, simulation):
    days = pandas.date_range("2024-01-01", periods=N, tz="UTC")
    frame = pandas.DataFrame(columns_of(simulation)).assign(
        site=pandas.Categorical(["N", "S"] * (N // 2)),
        day=days,
        age=pandas.array([None, 7] * (N // 2), dtype="Int64"),
    )
    result = by_arrays.policy.apply(frame).to_frame()
    carried = ["site", "day", "age"]
    pandas.testing.assert_frame_equal(result[carried], frame[carried])
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    kept = by_arrays.policy.apply(table).to_frame().select(carried)
    assert kept.cast(table.select(carried).schema).equals(table.select(carried))
    assert kept.schema.types == table.select(carried).schema.types


class Tensor:
    """What a tensor on a device looks like to the door: it must be moved, once."""

    dtype = "torch.float32"

    def __init__(self, values):
        self.values, self.moves = values, 0

    def detach(self):
        return self

    def cpu(self):
        self.moves += 1
        return self

    def numpy(self):
        return self.values


def test_tensors_are_moved_once(by_arrays, simulation):
    tensor = Tensor(simulation.proba)
    assert (by_arrays.policy.apply(tensor).abstain == by_arrays.abstain).all()
    assert tensor.moves == 1


def test_a_policy_file_keeps_the_names(by_arrays, simulation, tmp_path):
    by_arrays.policy.save(tmp_path / "policy.json")
    frame = pandas.DataFrame(dict(reversed(columns_of(simulation).items())))
    again = Policy.load(tmp_path / "policy.json").apply(frame)
    assert (again.abstain == by_arrays.abstain).all()
