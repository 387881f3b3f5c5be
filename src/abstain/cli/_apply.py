"""``abstain apply``: a saved rule and new predictions in, decisions out."""

import json
from pathlib import Path

import click

from abstain.cli._options import check_outputs, force_option, id_option, json_option, scores_option

__all__ = ["apply"]


@click.command(epilog="Example: abstain apply triage.json new.csv --scores p_ill --out out.csv")
@click.argument("policy", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@scores_option
@id_option
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write one row per decision (CSV or Parquet)."
)
@force_option
@json_option
def apply(
    policy: Path,
    new: Path,
    *,
    scores: str,
    identifier: str | None,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Decide about the rows of NEW by the rule in POLICY, as it stands.

    Scores must be of the classifier, and on the scale, that the policy was made with.
    """
    check_outputs(out, force=force)

    from abstain import Policy
    from abstain.cli._summary import facts, lines
    from abstain.cli._tables import read_predictions, scores_for, write_decisions

    rule = Policy.load(policy)
    rows = read_predictions(new, scores=scores, identifier=identifier)
    decisions = rule.apply(scores_for(rows, rule.classes, new))
    if out is not None:
        write_decisions(out, decisions, rows.ids, identifier or "row")
    found = facts(decisions)
    click.echo(json.dumps(found, indent=2) if as_json else "\n".join(lines(found)))
    if out is not None:
        click.echo(f"Wrote decisions to {out}", err=True)
