"""What a policy file may hold: types, shapes, ranges and sizes, and no name of a file."""

import json
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from abstain import Abstainer, Policy
from abstain._schema import as_text, is_nested, listed
from abstain._schema._text import DEEPEST
from abstain.exceptions import PolicyError
from abstain.policy import POLICY

FOLDER = Path(__file__).parents[1] / "policies" / "0.1.0-schema-2"
SEVERAL, BINARY = "temperature-accuracy-budget", "platt-balanced-accuracy-target"


def plain(name=SEVERAL):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def changed(path, value, name=SEVERAL):
    data = plain(name)
    *outer, last = path.split(".")
    part = data
    for key in outer:
        part = part[key]
    part[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "name", "message"),
    [
        ("calibration.slope_", [1.0], SEVERAL, "must have 3 numbers"),
        ("calibration.slope_", 1.0, SEVERAL, "must be numbers"),
        ("calibration.bias_", [0.0, 0.0], SEVERAL, "must have 3 numbers"),
        ("calibration.bias_", [0.0, 0.0, None], SEVERAL, "got a NoneType in it"),
        ("calibration.bias_", [0.0, 0.0, True], SEVERAL, "got a bool in it"),
        ("calibration.bias_", [0.0, 0.0, 1e301], SEVERAL, "must be finite"),
        ("calibration.bias_", [0.0, 0.0, 10**400], SEVERAL, "too large"),
        ("calibration.matrix_", [[1.0] * 3], "dirichlet-kappa-cost", "must have 3 rows"),
        ("calibration.matrix_", [[1.0], [1.0] * 3], "dirichlet-kappa-cost", "same length"),
        ("calibration.matrix_", [1.0] * 3, "dirichlet-kappa-cost", "a row of it is no list"),
        ("calibration.name", "auto", SEVERAL, "`calibration` 'auto' is not known"),
        ("calibration.name", "platt", SEVERAL, "for two classes; there are 3"),
        ("calibration.scale", "log", SEVERAL, "one of probabilities, logits"),
        ("calibration.offsets_", [0, 1], "isotonic-f1-budget", "to the number of knots"),
        ("withhold.gains", [[1.0, 2.0, 3.0]], SEVERAL, "must have 3 rows"),
        ("withhold.gains", [[1.0] * 2] * 3, SEVERAL, "must have 3 numbers"),
        ("withhold.threshold", "high", SEVERAL, "null, or a number"),
        ("withhold", {"kind": "interval", "lower": 0.1, "upper": 0.2}, SEVERAL, "two classes"),
        ("withhold.k", 0, "temperature-top-k-2-budget", "from 1 to"),
        ("withhold.parameters", {}, "vector-balanced-accuracy-js-divergence", "must be priors"),
        ("withhold.parameters", {"p": 1}, "nbvs-accuracy-entropy", "means nothing there"),
        ("decision", {"kind": "threshold", "threshold": 0.5}, SEVERAL, "two classes"),
        ("priors.source", [0.5, 0.5, 0.5], SEVERAL, "must sum to 1"),
        ("priors.target", [1.5, -0.5, 0.0], SEVERAL, "from 0 to 1"),
        ("classes", ["crow", "jay", "jay"], SEVERAL, "must be distinct"),
        ("classes", ["crow", "jay", "\ud800"], SEVERAL, "half a character"),
        ("classes", ["crow", "jay", ["rook"]], SEVERAL, "got a list of 1"),
        ("columns", ["crow", "jay", "owl"], SEVERAL, "`columns` must be the classes"),
        ("positive", "jay", SEVERAL, "`positive` must be null"),
        ("metric", {"name": "auroc"}, SEVERAL, "is for two classes"),
        ("metric.estimation", {}, SEVERAL, "which means nothing to it"),
        ("metric", {"name": "cost"}, SEVERAL, "no 'costs'"),
        ("metric.name", 5, SEVERAL, "text of 1 to"),
        ("estimate.after.interval", [0.9, 0.1], SEVERAL, "the lower first"),
        ("estimate.after.level", 1, SEVERAL, "between 0 and 1"),
        ("certificate.counts", [[1, 2], [3, 4]], BINARY, "one for what was withheld"),
        ("certificate.counts", [[1, 2, -3], [3, 4, 5]], BINARY, "of at least 0"),
        ("certificate.confidence", 2, BINARY, "between 0 and 1"),
        ("selection.target", None, BINARY, "one of budget, target, cost and arms"),
        ("selection.target", 1.5, BINARY, r"must be in \[0, 1\]"),
        ("selection.target", {"sensitivity": 1.5}, BINARY, r"must be in \[0, 1\]"),
        ("selection.target", {}, BINARY, "1 to 1,000 names"),
        ("selection.decision", "oracle", BINARY, "one of auto, argmax, optimal"),
        ("shift.parameters.level", 2, SEVERAL, "from 0 to 1"),
        ("shift.parameters.depth", 2, SEVERAL, "means nothing there"),
        ("source.label", [7], SEVERAL, "must have 35 numbers, one for each of the rows"),
        ("source.weight", [0.0] * 35, SEVERAL, "above 0 for some row"),
        ("source.edges", [0.5, 0.4], SEVERAL, "must rise"),
        ("source.held_out.held_out", {}, SEVERAL, "must be null"),
        ("assumption.assumed", "luck", SEVERAL, "one of weighed"),
        ("created", "a" * 2_000, SEVERAL, r"\(2000 characters\)"),
        ("note", "mine", SEVERAL, "the key 'note', which means nothing there"),
        ("schema_version", 10**400, SEVERAL, "a whole number of 1329 bits"),
    ],
)
def test_a_value_that_may_not_be_there(path, value, name, message):
    with pytest.raises(PolicyError, match=message):
        Policy.from_dict(changed(path, value, name))


@pytest.mark.parametrize("key", [key for key in plain() if key != "sha256"])
def test_a_key_that_is_not_there(key):
    data = plain()
    del data[key]
    if key in ("estimate", "certificate", "assumption", "selection", "shift", "source"):
        assert Policy.from_dict(data).to_dict()[key] is None
        return
    with pytest.raises(PolicyError):
        Policy.from_dict(data)


@pytest.mark.parametrize("data", [None, 5, "x", [], {}, [{}], {"format": []}, b"{}"])
def test_what_is_no_policy_at_all(data):
    with pytest.raises(PolicyError, match="not a policy of abstain"):
        Policy.from_dict(data)


def test_gains_of_one_row_for_five_thousand_classes():
    data, k = plain(), 5_000
    data |= {
        "classes": [*range(k)],
        "columns": [*range(k)],
        "priors": {"source": [1 / k] * k, "target": [1 / k] * k},
        "withhold": {"kind": "gain-threshold", "gains": [[1.0] * k], "threshold": 0.5},
        "source": None,
    }
    data["calibration"] |= {"slope_": [1.0] * k, "bias_": [0.0] * k}
    with pytest.raises(PolicyError, match=r"`withhold.gains` must have 5000 rows"):
        Policy.from_dict(data)


def test_labels_stay_what_they_are():
    for labels in (["a", 1, 2.5], ["a\x00", "a", "b"], [2**63, -1, 0], [0.5, 1, 2]):
        data = plain() | {"classes": labels, "columns": labels}
        assert Policy.from_dict(data).to_dict()["classes"] == labels


NEVER = {"parameters": {}, "threshold": None}
OPENED: list[str] = []
sys.addaudithook(lambda event, given: OPENED.append(str(given[0])) if event == "open" else None)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("selection.target", {"cost:PATH": 0.5}),
        ("selection.target", {"cost": 0.5}),
        ("selection.score", "cost:PATH"),
        ("withhold", {"kind": "score-threshold", "score": "PATH"} | NEVER),
        ("metric", {"name": "cost:PATH"}),
        ("metric", {"name": "cost:PATH", "costs": [[0, 1], [2, 0]]}),
        ("metric", {"name": "kappa:PATH"}),
        ("metric", {"name": "accuracy:PATH"}),
        ("metric", {"name": "PATH"}),
        ("calibration.name", "PATH"),
        ("shift.name", "PATH"),
        ("certificate.bounds", {"cost:PATH": {"value": 0.5, "observed": 0.5, "n": 1}}),
    ],
)
def test_no_name_opens_a_file(path, value, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("secret words")
    data = changed(path, json.loads(json.dumps(value).replace("PATH", str(secret))), BINARY)
    if not path.startswith("certificate"):
        data["certificate"] = None
    OPENED.clear()
    said = ""
    try:
        policy = Policy.from_dict(data)
        said = repr(policy) + policy._repr_html_()
        policy.apply([0.1, 0.9])
        policy.adapt(np.linspace(0.01, 0.99, 60), drop_certificate=True)
    except (PolicyError, ValueError) as error:
        said += str(error)
    assert "secret words" not in said
    assert not [one for one in OPENED if "secret" in one]


def test_a_target_by_a_file_takes_the_matrix_in(tmp_path):
    (tmp_path / "costs.csv").write_text("0,1\n5,0\n")
    p = np.linspace(0.01, 0.99, 80)
    y = (p > 0.5).astype(int)
    target = {f"cost:{tmp_path / 'costs.csv'}": 4.0}
    abstainer = Abstainer("accuracy", target=target, calibration="identity", random_state=0)
    policy = abstainer.fit(p, y).decide(p).policy
    assert policy.to_dict()["selection"]["target"] == {"cost:[[0,1],[5,0]]": 4.0}
    (tmp_path / "costs.csv").unlink()
    assert Policy.from_dict(policy.to_dict()).adapt(p).selection == policy.selection


def test_metrics_of_the_makers_may_have_plain_keys_of_their_own():
    data = changed("metric", {"name": "mine", "own": True, "strictness": 0.5}, BINARY)
    assert Policy.from_dict(data).to_dict()["metric"]["strictness"] == 0.5
    data["metric"]["strictness"] = [[[[]]]]
    with pytest.raises(PolicyError, match=r"`metric.strictness` must be text, a number"):
        Policy.from_dict(data)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "it is empty"),
        (b" \n ", "it is empty"),
        (pickle.dumps({"kind": "policy"}), "is a pickle, which is never loaded"),
        (b"\xff\xfe\x00", "utf-8"),
        ("{}".encode("utf-16"), "utf-8"),
        (b"\xef\xbb\xbf{}", "BOM"),
        (b"[" * 100_000, "more than 16 deep"),
        (b'{"a":' * 100_000, "more than 16 deep"),
        (b"[" * 50_000 + b"]" * 50_000, "more than 16 deep"),
        (b'["\\"' + b"[" * 50_000, "do not close"),
        (b"9" * 5_000, "digits"),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' stands twice"),
        (b'{"a": NaN}', "NaN is not a number"),
        (b"null", "not a policy"),
        (b"\x00" * 100, "Expecting value"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else repr(value[:12]),
)
def test_bytes_that_are_no_policy(raw, message, tmp_path):
    (tmp_path / "x.json").write_bytes(raw)
    with pytest.raises(PolicyError, match=message):
        Policy.load(tmp_path / "x.json")


def test_infinity_by_a_large_exponent(tmp_path):
    text = as_text(plain()).replace('"level": 0.9', '"level": 1e999')
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(PolicyError, match="between 0 and 1; got inf"):
        Policy.load(tmp_path / "x.json")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(PolicyError, match="is a folder"):
        Policy.load(tmp_path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        Policy.load(tmp_path / "no.json")


def test_more_than_a_policy_can_be_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("abstain._schema._text.LARGEST_FILE", 1_000)
    with pytest.raises(PolicyError, match="more than 1,000 bytes"):
        Policy.load("/dev/zero" if Path("/dev/zero").exists() else FOLDER / f"{SEVERAL}.json")
    with pytest.raises(PolicyError, match="too large to be kept"):
        Policy.from_dict(plain()).save(tmp_path / "x.json")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("text", "deep"),
    [
        ("[]", False), ("[[]]", False), ('{"a": [1, 2], "b": [[3]]}', False), ("[[[[]]]]", True),
        ('["[[[[[[["]', False), (r'["\"[[[[["]', False), (r'["\\", [[[[]]]]]', True), ("[", True),
        ("]", True), ('"', True), ("", False),
    ],
)  # fmt: skip
def test_depth_is_told_before_parsing(text, deep):
    assert is_nested(text.encode(), 3) == deep


def test_the_schema_itself_is_not_too_deep():
    assert max(path.count(".") for path, _ in listed(POLICY)) + 3 < DEEPEST


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    from dataclasses import replace

    policy = Policy.from_dict(plain())
    wrong = replace(policy, priors=policy.priors * 2)
    with pytest.raises(PolicyError, match=r"`priors.target` must sum to 1"):
        wrong.save(tmp_path / "x.json")
    assert not [*tmp_path.iterdir()]


KEY, OTHER = bytes(range(32)), bytes(range(1, 33))


@pytest.fixture
def policy():
    return Policy.from_dict(plain())


def test_a_signature_is_the_hmac_of_the_checksum(policy):
    import hashlib
    import hmac

    message = f"abstain-policy {policy.sha256}".encode()
    assert policy.sign(KEY) == hmac.new(KEY, message, hashlib.sha256).hexdigest()
    policy.verify(policy.sign(KEY), KEY)


@pytest.mark.parametrize("signed", ["", "0" * 64, "é", None, 5, b"x"])
def test_a_wrong_signature_is_refused(policy, signed):
    with pytest.raises(PolicyError, match="sign"):
        policy.verify(signed, KEY)


def test_another_key_and_another_policy_are_refused(policy):
    from dataclasses import replace

    with pytest.raises(PolicyError, match="does not have the signature"):
        policy.verify(policy.sign(OTHER), KEY)
    with pytest.raises(PolicyError, match="does not have the signature"):
        replace(policy, version="9.9").verify(policy.sign(KEY), KEY)


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        ("a secret of enough characters", TypeError, r"bytes.fromhex\(text\)"),
        (None, TypeError, "must be bytes"),
        (b"short", ValueError, "16 bytes or more; got 5"),
    ],
)
def test_a_key_that_is_none(policy, key, error, message):
    with pytest.raises(error, match=message):
        policy.sign(key)


def test_a_signed_file(policy, tmp_path):
    path = tmp_path / "signed.json"
    policy.save(path, key=KEY)
    content = json.loads(path.read_text())
    assert content["hmac_sha256"] == policy.sign(KEY)
    loaded = Policy.load(path, key=KEY)
    assert loaded.to_dict() == Policy.load(path).to_dict() == policy.to_dict()
    loaded.verify(content["hmac_sha256"], KEY)
    with pytest.raises(PolicyError, match="signed with another"):
        Policy.load(path, key=OTHER)


def test_a_key_asks_for_a_signature(policy, tmp_path):
    policy.save(tmp_path / "plain.json")
    with pytest.raises(PolicyError, match="is not signed, and a key was given"):
        Policy.load(tmp_path / "plain.json", key=KEY)


def test_malice_has_the_right_checksum_and_no_signature(policy, tmp_path):
    path = tmp_path / "signed.json"
    policy.save(path, key=KEY)
    signed = json.loads(path.read_text())["hmac_sha256"]
    other = changed("withhold.threshold", None)
    del other["sha256"]
    path.write_text(as_text(other))
    assert Policy.load(path).region.threshold == np.inf
    content = json.loads(path.read_text()) | {"hmac_sha256": signed}
    path.write_text(json.dumps(content))
    with pytest.raises(PolicyError, match="not what was signed"):
        Policy.load(path, key=KEY)
    # With the checksum that was signed, it is not that of the content.
    path.write_text(json.dumps(content | {"sha256": policy.sha256}))
    with pytest.raises(PolicyError, match="checksum does not match"):
        Policy.load(path, key=KEY)
