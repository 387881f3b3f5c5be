import json

import numpy as np
import pytest

from abstain import Abstainer
from abstain.datasets import screening_clinic, simulate_four_class_normal
from abstain.report import Report

# Ids as hostile as they come: markup, the end of a script, formulas, quotes, other scripts.
HOSTILE = [
    "<script>document.title='pwned'</script>",
    "</script><img src=x onerror=alert(1)>",
    "=1+1",
    "+SUM(A1)",
    "-cmd|' /C calc'!A0",
    "@now",
    "\tTab",
    'say "hi", twice',
    "{{facts}} {{title}}",
    "-5",
    "Zoë 李\u2028",
]


@pytest.fixture(scope="session")
def clinic():
    return screening_clinic(2_000, 1_500, random_state=0)


@pytest.fixture(scope="session")
def binary(clinic):
    abstainer = Abstainer(
        "sensitivity@specificity=0.9",
        budget=0.15,
        calibration="platt",
        scale="logits",
        random_state=0,
    )
    names = np.array(["well", "ill"])
    abstainer.fit(clinic.scores_val, names[clinic.y_val], classes=names)
    return abstainer.decide(clinic.scores_target)


@pytest.fixture(scope="session")
def report(clinic, binary):
    ids = [f"P{number:04d}" for number in range(len(binary))]
    for row, hostile in zip(np.flatnonzero(binary.abstain), HOSTILE, strict=False):
        ids[row] = hostile
    groups = np.where(np.arange(len(binary)) % 3 == 0, "North", "<b>South</b>")
    return Report(
        binary,
        scores_val=clinic.scores_val,
        y_val=np.array(["well", "ill"])[clinic.y_val],
        ids=ids,
        id_name="patient",
        groups=groups,
        group_name="hospital",
        title="Clinic <A> & B",
        command="abstain run validation.csv target.csv",
        inputs=[__file__],
    )


@pytest.fixture(scope="session")
def four_classes():
    validation = simulate_four_class_normal(1_500, random_state=0)
    target = simulate_four_class_normal(1_000, random_state=1)
    abstainer = Abstainer("kappa:quadratic", budget=0.2, calibration="temperature", random_state=0)
    decisions = abstainer.fit(validation.proba, validation.y).decide(target.proba)
    return Report(decisions, scores_val=validation.proba, y_val=validation.y)


@pytest.fixture
def facts(report):
    """The facts of a page of two classes, to be changed at will."""
    return json.loads(report.to_json())
