"""Rules that are signed with a key, on the command line."""

from pathlib import Path

import pytest

from abstain import Policy
from abstain.datasets import screening_clinic

from .tables import write_columns

SIGNED = ("--key-file", "policy.key")


@pytest.fixture
def key(abstain):
    clinic = screening_clinic(600, 300, random_state=0)
    columns = {"logit": clinic.scores_val, "ill": clinic.y_val}
    write_columns(Path("validation.csv"), columns)
    write_columns(Path("target.csv"), {"logit": clinic.scores_target, "ill": clinic.y_target})
    Path("policy.key").write_bytes(bytes(range(32)))
    code, _, err = abstain(
        "run", "validation.csv", "target.csv", "--scores", "logit", "--scale", "logits",
        "--label", "ill", "--calibration", "platt", "--metric", "auroc", "--budget", "0.1",
        "--policy", "signed.json", *SIGNED,
    )  # fmt: skip
    assert code == 0, err
    return bytes(range(32))


@pytest.mark.parametrize(
    "command",
    [
        ("apply", "signed.json", "target.csv"),
        ("adapt", "signed.json", "target.csv", "--out", "adapted.json"),
        ("evaluate", "signed.json", "target.csv", "--label", "ill"),
        ("report", "signed.json", "target.csv"),
    ],
    ids=lambda command: command[0],
)
def test_who_reads_a_rule_can_ask_for_the_signature(abstain, key, command):
    command = (*command, "--scores", "logit")
    code, _, err = abstain(*command, *SIGNED)
    assert code == 0, err
    for written in set(command) & {"adapted.json"}:
        assert Policy.load(written, key=key).sha256 == Policy.load(written).sha256
        Path(written).unlink()
    Path("policy.key").write_bytes(bytes(32))
    code, _, err = abstain(*command, *SIGNED, *(["--force"] if command[0] == "report" else []))
    assert code == 1
    assert "does not have the signature of this key" in err


def test_a_rule_without_a_signature_is_refused_where_one_is_asked_for(abstain, key, monkeypatch):
    Policy.load("signed.json").save("plain.json")
    monkeypatch.setenv("ABSTAIN_KEY_FILE", "policy.key")
    code, _, err = abstain("apply", "plain.json", "target.csv", "--scores", "logit")
    assert code == 1
    assert "is not signed" in err


@pytest.mark.parametrize(("content", "held"), [(b"", "holds 0"), (b"short", "holds 5"),
                                               (bytes(5000), "holds more")])  # fmt: skip
def test_what_is_no_key(abstain, key, content, held):
    Path("policy.key").write_bytes(content)
    code, _, err = abstain("apply", "signed.json", "target.csv", "--scores", "logit", *SIGNED)
    assert code == 2
    assert held in err


def test_the_key_is_never_written_over(abstain, key):
    code, _, err = abstain(
        "adapt", "signed.json", "target.csv", "--scores", "logit", *SIGNED,
        "--out", "policy.key", "--force",
    )  # fmt: skip
    assert code == 2
    assert Path("policy.key").read_bytes() == key, err
