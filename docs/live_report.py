"""The report that the site embeds, and whose picture is on its front page and in the README.

It is of the session that the README shows, and made anew where the library has changed.
"""

from pathlib import Path

import abstain
from abstain import Abstainer
from abstain.datasets import screening_clinic
from abstain.report import Report

PAGE = Path(__file__).parent / "_live" / "clinic-report.html"


def report() -> Report:
    """Return the report about the simulated clinic."""
    clinic = screening_clinic(random_state=0)
    abstainer = Abstainer(
        "sensitivity@specificity=0.9", budget=0.15, scale="logits", random_state=0
    )
    abstainer.fit(clinic.scores_val, clinic.y_val)
    return Report(
        abstainer.decide(clinic.scores_target),
        scores_val=clinic.scores_val,
        y_val=clinic.y_val,
        id_name="patient",
        title="A simulated screening clinic: which patients go to a doctor",
    )


def write() -> None:
    """Write the page, unless it is there and no file of the library is newer."""
    files = Path(abstain.__file__).parent.rglob("*")
    if PAGE.exists() and PAGE.stat().st_mtime > max(file.stat().st_mtime for file in files):
        return
    PAGE.parent.mkdir(exist_ok=True)
    report().save(PAGE)
