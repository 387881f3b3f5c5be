"""A policy file loads forever: files of every version since the first decide as they did."""

import json
from pathlib import Path

import numpy as np
import pytest

from abstain import Policy, metrics
from abstain._schema import LIFTS, SCHEMA_VERSION, lifted
from abstain.exceptions import PolicyError

# That of ``policies/make.py``.
KEY = b"the key of the kept policy files"
FOLDERS = sorted(
    path for path in (Path(__file__).parents[1] / "policies").iterdir() if path.is_dir()
)
FILES = [
    path for folder in FOLDERS for path in folder.glob("*.json") if path.name != "expected.json"
]


@pytest.fixture(params=FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def golden(request):
    path = request.param
    expected = json.loads((path.parent / "expected.json").read_text(encoding="utf-8"))
    return path, expected[path.stem]


@pytest.mark.filterwarnings("ignore::abstain.exceptions.AssumptionWarning")
def test_it_decides_as_it_did(golden):
    path, expected = golden
    policy = Policy.load(path)
    decisions = policy.apply(np.array(expected["scores"]))
    assert decisions.abstain.astype(int).tolist() == expected["abstain"]
    assert decisions.prediction.tolist() == expected["prediction"]
    assert decisions.proba[:, -1] == pytest.approx(expected["proba"], abs=2e-9)
    assert policy.sha256 == json.loads(path.read_text(encoding="utf-8"))["sha256"]
    assert policy.metric.name in repr(policy)


def test_its_signature_stays_good(golden):
    path, _ = golden
    if "hmac_sha256" not in json.loads(path.read_text(encoding="utf-8")):
        with pytest.raises(PolicyError, match="is not signed"):
            Policy.load(path, key=KEY)
        return
    policy = Policy.load(path, key=KEY)
    policy.verify(json.loads(path.read_text(encoding="utf-8"))["hmac_sha256"], KEY)


def test_saved_again_it_stays_the_same_rule(golden, tmp_path, recwarn):
    path, expected = golden
    policy = Policy.load(path)
    policy.save(tmp_path / "again.json")
    again = Policy.load(tmp_path / "again.json")
    assert again.to_dict() == policy.to_dict()
    assert again.apply(expected["scores"]).abstain.astype(int).tolist() == expected["abstain"]


@pytest.mark.filterwarnings("ignore::abstain.exceptions.AssumptionWarning")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_it_estimates_and_adapts_where_it_could(folder):
    name = "temperature-accuracy-budget"
    policy = Policy.load(folder / f"{name}.json")
    scores = json.loads((folder / "expected.json").read_text(encoding="utf-8"))[name]["scores"]
    assert 0 < policy.apply(scores).estimate.after.value <= 1
    if policy.source is None:
        with pytest.raises(ValueError, match="cannot adapt"):
            policy.adapt(scores)
    else:
        assert policy.adapt(scores).apply(scores).abstain.sum() <= 0.2 * len(scores)


def test_the_files_are_of_every_kind():
    kept = [json.loads(path.read_text(encoding="utf-8")) for path in FILES]
    assert {one["calibration"]["name"] for one in kept} == {
        "bcts", "beta", "dirichlet", "identity", "isotonic", "nbvs", "platt", "temperature",
        "vector",
    }  # fmt: skip
    assert {one["withhold"]["kind"] for one in kept} == {
        "gain-threshold", "interval", "probability-boxes", "score-threshold", "top-share",
    }  # fmt: skip
    assert {one["decision"]["kind"] for one in kept} == {"argmax", "best-gain", "threshold"}
    assert {type(one["classes"][0]) for one in kept} == {bool, float, int, str}
    assert any(one.get("certificate") for one in kept)
    assert {one["schema_version"] for one in kept} == {*range(1, SCHEMA_VERSION + 1)}


def test_a_metric_of_its_makers_need_not_be_known():
    policy = Policy.load(FOLDERS[0] / "platt-own-max-probability.json")
    assert not policy.metric.known
    assert isinstance(policy.metric, metrics.Metric)


def plain_policy():
    return json.loads(FILES[0].read_text(encoding="utf-8"))


def test_there_is_a_step_up_from_every_version():
    assert sorted(LIFTS) == [*range(1, SCHEMA_VERSION)]


def test_old_data_climb_every_step_and_stay_as_they_were():
    data = plain_policy()
    before = json.dumps(data)

    def renamed(data):
        data["withheld"] = data.pop("withhold")
        return data

    def doubled(data):
        return {**data, "priors": [data["priors"], data["withheld"]["kind"]]}

    found = lifted(data, library="3.0", newest=3, lifts={1: renamed, 2: doubled})
    assert found["schema_version"] == 3
    assert found["priors"] == [data["priors"], data["withhold"]["kind"]]
    assert "withhold" not in found
    assert json.dumps(data) == before


def test_a_file_of_a_made_up_older_version_loads(monkeypatch, tmp_path):
    def named_anew(data):
        data["withhold"] = data.pop("keeps_back")
        return data

    lifts = {1: named_anew} | {step + 1: lift for step, lift in LIFTS.items()}
    monkeypatch.setattr(
        "abstain.policy._policy.lifted",
        lambda data, library: lifted(
            data, library=library, newest=SCHEMA_VERSION + 1, lifts=lifts
        ),
    )
    data = plain_policy()
    policy = Policy.from_dict(data | {"schema_version": 2})
    data["keeps_back"] = data.pop("withhold")
    assert Policy.from_dict(data).to_dict() == policy.to_dict()


def test_before_positive_classes_the_last_of_two_was_one():
    policy = Policy.from_dict(plain_policy())
    assert len(policy.classes) != 2 or policy.positive == policy.classes[-1]
    assert policy.columns.tolist() == policy.classes.tolist()


@pytest.mark.parametrize("version", [None, 0, -1, "1", 1.0, True])
def test_a_version_that_never_was(version):
    with pytest.raises(PolicyError, match="never was; the file is damaged"):
        Policy.from_dict(plain_policy() | {"schema_version": version})


def test_a_newer_file_says_what_to_install():
    data = plain_policy() | {"schema_version": SCHEMA_VERSION + 1, "library_version": "7.1"}
    with pytest.raises(PolicyError, match=r"A newer library made it: .*'abstain>=7.1'"):
        Policy.from_dict(data)
    with pytest.raises(PolicyError, match="reads versions 1 to 4"):
        lifted(data | {"schema_version": 9}, library="4.0", newest=4)
