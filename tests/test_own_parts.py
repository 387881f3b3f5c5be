"""A part that is declared in one place: decided by, exported, saved and loaded like ours."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from abstain import Abstainer, Policy, calibration, regions, rules, scores, shift
from abstain.datasets import screening_clinic
from abstain.exceptions import PolicyError
from abstain.program import block, exp

CLINIC = screening_clinic(600, 600, random_state=0)
# As single precision has them, which is what ONNX is given.
NEW = CLINIC.scores_target[:200].astype(np.float32).astype(np.float64)

pytestmark = pytest.mark.usefixtures("forget")


class Cauchit(calibration.Calibrator):
    """The chance of x by a curve of heavier tails, 1 / 2 + x / (2 (1 + |x|))."""

    binary_only = True
    state: ClassVar = {"steepness_": ()}

    def _fit(self, logits, codes, weight):
        spread = np.average(np.abs(logits[:, 1] - logits[:, 0]), weights=weight)
        self.steepness_ = 1 / max(spread, 1e-9)

    def operations(self, logits):
        odds = (logits[1] - logits[0]) * self.steepness_
        positive = odds / (abs(odds) + 1.0) * 0.5 + 0.5
        return block(1.0 - positive, positive)


def decided(**options):
    given = {"budget": 0.2, "calibration": "platt", "shift": "none"} | options
    abstainer = Abstainer("accuracy", scale="logits", random_state=0, **given)
    return abstainer.fit(CLINIC.scores_val, CLINIC.y_val).decide(CLINIC.scores_target)


def by_every_way(policy, path):
    """Which of new rows a policy withholds: applied, loaded, by ONNX, SQL and plain Python."""
    policy.save(path)
    yield policy.apply(NEW).abstain
    yield Policy.load(path).apply(NEW).abstain
    yield run_onnx(policy.to_onnx(columns=1))
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("create table batch (logit double)")
        database.executemany("insert into batch values (?)", NEW[:, None].tolist())
        query = policy.to_sql("sqlite", table="batch", scores=["logit"])
        database.row_factory = sqlite3.Row
        yield [row["abstain"] for row in database.execute(query)]
    rule = {}
    exec(policy.to_python(columns=1), rule)
    yield [rule["decide"]([score])["abstain"] for score in NEW.tolist()]


def run_onnx(model):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(model.SerializeToString())
    names = [one.name for one in session.get_outputs()]
    found = session.run(None, {session.get_inputs()[0].name: NEW[:, None].astype(np.float32)})
    return found[names.index("abstain")].ravel()


def assert_same_everywhere(policy, path):
    applied, *others = by_every_way(policy, path)
    assert 0 < applied.sum() < len(NEW)
    for found in others:
        assert np.array_equal(np.asarray(found, dtype=bool), applied)


def test_a_calibrator(tmp_path, forget):
    calibration.register(Cauchit)
    assert_same_everywhere(decided(calibration="Cauchit").policy, tmp_path / "own.json")
    forget()
    with pytest.raises(
        PolicyError, match=r"`calibration` 'Cauchit' is not known.*calibration\.reg"
    ):
        Policy.load(tmp_path / "own.json")


@pytest.mark.filterwarnings("ignore:The policy withholds by your own score:UserWarning")
def test_a_score(tmp_path):
    @scores.register
    @scores.of_operations
    def surprise(proba, *, priors):
        return (proba * (1.0 - np.asarray(priors))).total()

    policy = decided(score="surprise").policy
    assert policy.to_dict()["withhold"]["parameters"].keys() == {"priors"}
    assert_same_everywhere(policy, tmp_path / "own.json")


def test_a_rule_and_a_region(tmp_path):
    @rules.register
    @dataclass(frozen=True)
    class Enough(rules.DecisionRule):
        kind, keys = "enough", {"enough": ()}
        enough: float

        def operations(self, proba):
            return (proba >= self.enough).first_true()

        def describe(self):
            return f"the first class of at least {self.enough:g}"

        def in_words(self, positive):
            return f"predicts {self.describe()}"

    @regions.register
    @dataclass(frozen=True, eq=False)
    class Weighed(regions.Region):
        kind, keys = "weighed", {"weights": ("classes",), "least": ()}
        weights: np.ndarray
        least: float

        def operations(self, proba, prediction):
            return (exp(proba) * self.weights).total().reaches(self.least)

        def describe(self):
            return f"weighed sum of at least {self.least:g}"

        def in_words(self, positive):
            return f"cases of {positive} are referred"

    own = replace(decided().policy, rule=Enough(0.4), region=Weighed(np.array([0.0, 1.0]), 1.2))
    assert_same_everywhere(own, tmp_path / "own.json")
    content = own.to_dict() | {"withhold": {"kind": "weighed", "weights": [1.0], "least": 1}}
    with pytest.raises(PolicyError, match=r"`withhold.weights` must have 2 numbers"):
        Policy.from_dict(content)


def test_a_shift_estimator(tmp_path):
    @shift.register
    class Halved(shift.ShiftEstimator):
        def __init__(self, *, by: float = 0.5, source_priors="mean-probability"):
            super().__init__(source_priors=source_priors)
            self.by = by

        def _fit(self, source, target):
            moved = self.source_priors_ * [1.0, self.by]
            self.priors_ = moved / moved.sum()

    policy = decided(shift=Halved(by=0.25)).policy
    assert_same_everywhere(policy, tmp_path / "own.json")
    again = Policy.load(tmp_path / "own.json")
    assert repr(again.shift) == "Halved(by=0.25)"
    assert again.adapt(NEW).priors == pytest.approx(policy.priors)


def test_what_is_not_registered_is_not_saved(tmp_path):
    policy = decided(calibration=Cauchit(scale="logits")).policy
    with pytest.raises(
        PolicyError, match=r"kept in a file: .* One of your own is known after abstain.calibration"
    ):
        policy.save(tmp_path / "own.json")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("room", "wrong"),
    [(calibration, Cauchit), (regions, 5), (rules, dict), (shift, shift.NoShift())],
)
def test_what_cannot_be_registered(room, wrong):
    if wrong is Cauchit:
        with pytest.raises(ValueError, match="'platt' is that of a built-in calibration"):
            room.register(type("Other", (Cauchit,), {"name": "platt"}))
    else:
        with pytest.raises(TypeError, match="must be a class that is made from"):
            room.register(wrong)


def test_what_is_made_from_a_built_in_part_has_a_name_of_its_own():
    class Careful(calibration.PlattScaling):
        def operations(self, logits):
            return super().operations(logits * 0.5)

    assert Careful.name == "Careful"
    with pytest.raises(PolicyError, match="'Careful' is not known"):
        Policy.from_dict(decided(calibration=Careful(scale="logits")).policy.to_dict())
