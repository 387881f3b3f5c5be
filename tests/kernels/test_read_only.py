"""Everything works where nothing can be written."""

import importlib.util
from pathlib import Path

_spec = importlib.util.spec_from_file_location("read_only", Path(__file__).parent / "read_only.py")
read_only = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(read_only)

FLOW = """
import json, warnings
from abstain import Abstainer, Policy
from abstain.datasets import screening_clinic
from abstain.report import Report
clinic = screening_clinic(500, 500, random_state=0)
abstainer = Abstainer("auroc", budget=0.15, scale="logits", random_state=0)
decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
text = json.dumps(decisions.policy.to_dict())
policy = Policy.from_dict(json.loads(text))
assert (policy.apply(clinic.scores_target).abstain == decisions.abstain).all()
assert "<!DOCTYPE html>" in Report(decisions).to_html()
try:
    import onnx
except ModuleNotFoundError:
    pass
else:
    assert policy.to_onnx(columns=1).SerializeToString()
"""
DOCTOR = """
from abstain.cli import run_command
assert run_command(["doctor"]) == 0
"""


def test_where_nothing_can_be_written_everything_works(tmp_path):
    installation = read_only.Installation(tmp_path / "installed")
    installation.lock()
    done = installation.run(FLOW + DOCTOR)
    assert done.stdout.startswith("abstain ")
    assert "Self-check passed: calibrate, adapt, choose, write, read" in done.stdout
    assert not done.stderr
