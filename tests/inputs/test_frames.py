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


@pytest.mark.parametrize("taken", ["abstain", "prediction", "gain", "reason", "p_none"])
def test_a_column_called_as_one_of_ours_is_kept(make, simulation, by_arrays, taken):
    given = [f"mine {row}" for row in range(N)]
    scores = columns_of(simulation, prefix="" if taken == "p_none" else "p_")
    result = by_arrays.policy.apply(make({taken: given, **scores})).to_frame()
    assert column(result, taken) == given
    ours = {name: f"abstain_{name}" if name == taken else name for name in ("abstain", "p_none")}
    assert column(result, ours["abstain"]) == by_arrays.abstain.tolist()
    assert column(result, ours["p_none"]) == by_arrays.proba[:, 0].tolist()


@pytest.mark.parametrize("name", [5, None, 1.5, ("a", 1), pandas.Timestamp("2020-01-01")])
def test_a_column_may_be_called_anything(simulation, by_arrays, name):
    frame = pandas.DataFrame({name: np.arange(N), **columns_of(simulation)})
    assert by_arrays.policy.apply(frame).to_frame().iloc[:, 0].tolist() == [*range(N)]


def test_columns_of_one_name_are_refused(simulation, by_arrays):
    frame = pandas.DataFrame(columns_of(simulation))
    twice = pandas.concat([frame, frame], axis=1)
    with pytest.raises(ValueError, match="columns of different names; there are several called"):
        by_arrays.policy.apply(twice)
    with pytest.raises(ValueError, match="columns of different names"):
        abstainer_of("kappa").fit(twice, NAMES[simulation.y])


@pytest.mark.parametrize("scores", [{"id": [0, 1] * 10}, {"score": [0.5] * 20}])
def test_an_id_is_not_taken_for_a_logit(scores):
    logits = np.linspace(-1, 1, 20)
    abstainer = abstainer_of("auroc", scale="logits").fit(logits, np.arange(20) % 2)
    frame = pandas.DataFrame({**scores, "other": logits})
    with pytest.raises(ValueError, match=r"is no class .* and may be an id"):
        abstainer.decide(frame)


@pytest.mark.parametrize("labels", [[1, 2], [0, 5], [0, 2], ["0", "x"]])
def test_numbers_of_columns_are_no_classes(labels):
    """The second column of a frame without names is called 1, and is not of class 1."""
    p = np.linspace(0.05, 0.95, 40)
    proba, y = np.column_stack([1 - p, p]), np.array(labels, dtype=object)[(p > 0.5).astype(int)]
    abstainer = abstainer_of("accuracy")
    plain = abstainer.fit(proba, y, classes=labels).decide(proba)
    frame = pandas.DataFrame(proba)
    found = abstainer.fit(frame, y, classes=labels).decide(frame)
    assert found.prediction.tolist() == plain.prediction.tolist() == y.tolist()
    np.testing.assert_array_equal(found.proba, plain.proba)


@pytest.mark.parametrize("kind", ["datetime64[ns]", "timedelta64[s]", complex, str, "S4"])
def test_what_is_no_number_is_no_score(simulation, by_arrays, kind):
    wrong = np.ones((4, 4)).astype(kind)
    for call in (by_arrays.policy.apply, lambda s: abstainer_of("kappa").fit(s, [0, 1, 2, 3])):
        with pytest.raises(TypeError, match="must be numbers; got"):
            call(wrong)


def test_what_is_masked_is_missing(simulation, by_arrays):
    masked = np.ma.masked_array(simulation.proba, mask=np.zeros((N, 4), dtype=bool))
    masked[3, 1] = np.ma.masked
    with pytest.raises(ValueError, match="1 of 400 rows have no score"):
        by_arrays.policy.apply(masked)
    with pytest.raises(ValueError, match="must be finite; NaN or infinity in 1 of 400 rows"):
        abstainer_of("kappa").fit(masked, simulation.y)
    with pytest.raises(ValueError, match="`sample_weight` must be finite"):
        abstainer_of("kappa").fit(simulation.proba, simulation.y, masked[:, 1])
