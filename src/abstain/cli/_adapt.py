"""``abstain adapt``: a saved rule and recent predictions in, the rule for today out."""

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abstain.cli._options import check_outputs, force_option, json_option, scores_option

if TYPE_CHECKING:
    from abstain import Decisions, Policy

__all__ = ["adapt"]


@click.command(epilog="Example: abstain adapt triage.json recent.csv --out triage-june.json")
@click.argument("policy", type=click.Path(path_type=Path))
@click.argument("recent", type=click.Path(path_type=Path))
@scores_option
@click.option("--out", type=click.Path(path_type=Path), help="Save the adapted rule as JSON.")
@click.option(
    "--drop-certificate", is_flag=True, help="Choose again although the rule is certified."
)
@force_option
@json_option
def adapt(
    policy: Path,
    recent: Path,
    *,
    scores: str,
    out: Path | None,
    drop_certificate: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Estimate the class proportions of RECENT and choose the region of POLICY again.

    No labels are needed. Says whether a change of proportions explains the recent scores; if
    not, do not use the adapted rule.
    """
    check_outputs(out, force=force)

    from abstain import Policy
    from abstain.cli._summary import facts, lines
    from abstain.cli._tables import read_predictions, scores_for

    old = Policy.load(policy)
    rows = read_predictions(recent, scores=scores)
    values = scores_for(rows, old.classes, recent)
    with warnings.catch_warnings():
        # Said below, and in the JSON.
        warnings.simplefilter("ignore", UserWarning)
        new = old.adapt(values, drop_certificate=drop_certificate)
    found = facts(new.apply(values)) | _changes(old, new, old.apply(values))
    click.echo(json.dumps(found, indent=2) if as_json else "\n".join(lines(found) + _said(found)))
    if out is not None:
        new.save(out)
        click.echo(f"Wrote the rule to {out}", err=True)


def _changes(old: "Policy", new: "Policy", before: "Decisions") -> dict[str, Any]:
    assumption = new.assumption
    return {
        "old_priors": old.priors.tolist(),
        "old_withheld": int(before.abstain.sum()),
        "assumption": assumption and {**assumption.to_dict(), "passes": assumption.passes},
        "assumption_summary": str(assumption),
    }


def _said(found: dict[str, Any]) -> list[str]:
    summary = found["assumption_summary"]
    return [
        "",
        f"The old rule would withhold {found['old_withheld']:,} of these rows.",
        f"Check: {summary}.",
    ]
