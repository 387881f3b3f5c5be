"""Policy files that were changed: read and used, or refused with one error, and nothing else."""

import json
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from abstain import Policy
from abstain.exceptions import PolicyError

from .machine import Defect, fuzzed, outcome
from .policies import as_file, bytes_of_a_file, changed, originals

opened: list[str] | None = None


def _notice(event, arguments):
    if opened is not None and event in ("open", "os.listdir", "os.scandir", "subprocess.Popen"):
        opened.append(str(arguments[0]))


# A hook cannot be taken away again; it looks at nothing unless it is asked to.
sys.addaudithook(_notice)


@contextmanager
def nothing_opened():
    """Fail where the body opens a file; what Python imports late is not meant."""
    global opened
    opened = []
    try:
        yield
        found = [
            path for path in opened if not path.endswith((".py", ".pyc", ".so", "__pycache__"))
        ]
    finally:
        opened = None
    wrong = [path for path in found if "/etc/" in path or "/dev/" in path or ".." in path]
    if wrong:
        raise Defect(f"opened {wrong}")


def scores_for(policy, n=8):
    """Return ordinary scores of the policy's scale."""
    k = len(policy.classes)
    rng = np.random.default_rng(1)
    z = 2 * rng.normal(size=(n, min(k, 50)))
    z = np.column_stack([z, np.zeros((n, k - z.shape[1]))])
    if policy.calibrator.scale == "logits":
        return z
    p = np.exp(z)
    return p / p.sum(axis=1, keepdims=True)


def used(policy, *, adapted=True):
    """Use a policy in every way there is; adapting takes most of the time."""
    repr(policy), policy._repr_html_()
    again = outcome(lambda: Policy.from_dict(json.loads(json.dumps(policy.to_dict()))))
    if isinstance(again, Exception):
        raise Defect(f"what was read cannot be read again: {again}") from again
    assert again.to_dict() == policy.to_dict()
    few = scores_for(policy)
    outcome(lambda: policy.predict_proba(few))
    outcome(
        lambda: policy.apply(few),
        looked_at=lambda found: (found.proba, found.abstain, found.prediction, found.priority),
    )
    outcome(
        lambda: policy.apply(few).to_frame(), looked_at=lambda frame: frame["abstain"].to_numpy()
    )
    if not adapted:
        return
    many = scores_for(policy, 120)
    outcome(lambda: policy.apply(few, at_most=1).estimate, looked_at=repr)
    outcome(lambda: policy.apply(many).estimate, looked_at=repr)
    other = outcome(lambda: policy.adapt(many, drop_certificate=True), looked_at=repr)
    if isinstance(other, Policy):
        outcome(lambda: Policy.from_dict(other.to_dict()).apply(few), looked_at=repr)


@fuzzed(
    "policy files",
    quick=36,
    share=3,
    data=changed(),
    adapted=st.sampled_from([False, False, False, True]),
)
def test_changed_data_are_read_and_work_or_are_refused(data, adapted):
    with nothing_opened():
        found = outcome(lambda: Policy.from_dict(data), looked_at=repr)
        if isinstance(found, Exception):
            assert isinstance(found, PolicyError), found
            return "refused"
        used(found, adapted=adapted)
    return "loaded"


@fuzzed("policy files", quick=24, raw=bytes_of_a_file())
def test_changed_bytes_are_refused(raw):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "policy.json")
        path.write_bytes(raw)
        found = outcome(lambda: Policy.load(path), looked_at=repr)
    if isinstance(found, Exception):
        assert isinstance(found, PolicyError), found
        return "refused"
    return "loaded"


@fuzzed("policy files", quick=15, data=changed())
def test_changed_files_are_read_or_refused(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "policy.json")
        try:
            path.write_bytes(as_file(data) if isinstance(data, dict) else b"0")
        except RecursionError:
            return "too deep to write"
        found = outcome(lambda: Policy.load(path), looked_at=repr)
        if isinstance(found, Exception):
            assert isinstance(found, PolicyError), found
            return "refused"
        found.save(Path(folder, "again.json"))
        assert Policy.load(Path(folder, "again.json")).to_dict() == found.to_dict()
    return "loaded"


def test_unchanged_every_policy_loads_and_works():
    for number, data in enumerate(originals()):
        used(Policy.from_dict(data), adapted=number % 15 == 3)
