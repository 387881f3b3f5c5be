"""``abstain adapt``: a saved rule and recent predictions in, the rule for today out."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abstain.cli import _options as option
from abstain.cli._output import check_outputs, emit, wrote

if TYPE_CHECKING:
    from abstain import Decisions, Policy

__all__ = ["adapt"]


@click.command(epilog="Example: abstain adapt triage.json recent.csv --out triage-june.json")
@option.policy
@option.batch
@option.scores
@click.option("--out", type=option.FILE, help="Save the adapted rule as JSON.")
@click.option(
    "--drop-certificate", is_flag=True, help="Choose again although the rule is certified."
)
@option.force
@option.as_json
def adapt(
    policy: Path,
    batch: Path,
    *,
    scores: str,
    out: Path | None,
    drop_certificate: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Estimate the class proportions of BATCH and choose the region of POLICY again.

    BATCH holds recent rows; no labels are needed. Says whether a change of proportions explains
    the recent scores; if not, do not use the adapted rule.
    """
    check_outputs(out, force=force)

    from abstain import Policy
    from abstain.cli._summary import facts, lines
    from abstain.cli._tables import read_predictions
    from abstain.exceptions import AssumptionWarning

    old = Policy.load(policy)
    recent = read_predictions(batch, scores=scores).scores_for(old.classes)
    with warnings.catch_warnings():
        # Said below, and in the JSON.
        warnings.simplefilter("ignore", AssumptionWarning)
        new = old.adapt(recent, drop_certificate=drop_certificate)
    found = facts(new.apply(recent)) | _changes(old, new, old.apply(recent))
    emit(found, lines(found) + _said(found), as_json)
    if out is not None:
        new.save(out)
    wrote("the rule", out)


def _changes(old: "Policy", new: "Policy", before: "Decisions[Policy]") -> dict[str, Any]:
    check = new.assumption
    return {
        "old_priors": old.priors,
        "old_withheld": int(before.abstain.sum()),
        "assumption": check and {**check.to_dict(), "passes": check.fits},
        "assumption_summary": check and check.summary(),
    }


def _said(found: dict[str, Any]) -> list[str]:
    return [
        "",
        f"The old rule would withhold {found['old_withheld']:,} of these rows.",
        f"Check: {found['assumption_summary']}",
    ]
