"""``abstain report``: a saved rule and its predictions in, a page about the decisions out."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abstain.cli._options import (
    check_outputs,
    force_option,
    group_option,
    id_option,
    json_option,
    label_option,
    scores_option,
    this_command,
)

if TYPE_CHECKING:
    from abstain import Decisions
    from abstain.cli._tables import Predictions

__all__ = ["report", "write_report"]


@click.command(
    epilog="Example: abstain report triage.json target.csv --validation validation.csv "
    "--scores p_ill --label ill --out report.html"
)
@click.argument("policy", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@click.option(
    "--validation",
    type=click.Path(path_type=Path),
    help="The labelled table the rule was made on: the page then says what moved and how far to "
    "trust it.",
)
@scores_option
@label_option
@id_option
@group_option
@click.option("--title", help="The page's title.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="Where to write the page.",
)
@click.option("--random-state", type=int, default=0, show_default=True, help="Seed.")
@force_option
@json_option
def report(
    policy: Path,
    target: Path,
    *,
    validation: Path | None,
    scores: str,
    label: str,
    identifier: str | None,
    group: str | None,
    title: str | None,
    out: Path,
    random_state: int,
    force: bool,
    as_json: bool,
) -> None:
    """Write a page about what the rule in POLICY decides about TARGET.

    One HTML file that needs no network: the answer, a budget slider, what moved, how far to
    trust it, who is referred. With --json the facts of the page are printed as well.
    """
    check_outputs(out, force=force)

    from abstain import Policy
    from abstain.cli._tables import named_classes, read_predictions, scores_for

    rule = Policy.load(policy)
    new = read_predictions(target, scores=scores, identifier=identifier, group=group)
    decisions = rule.apply(scores_for(new, rule.classes, target))
    known, files = None, (policy, *new.files)
    if validation is not None:
        source = read_predictions(validation, scores=scores, label=label)
        labels, _ = named_classes(source.labels, source.classes)
        known = (scores_for(source, rule.classes, validation), labels)
        files = (policy, *source.files, *new.files)
    facts = write_report(
        out,
        decisions,
        new,
        validation=known,
        names=(identifier, group),
        inputs=files,
        title=title,
        random_state=random_state,
    )
    click.echo(json.dumps(facts) if as_json else facts["steps"][facts["chosen"]]["headline"])
    click.echo(f"Wrote the report to {out}", err=True)


def write_report(
    path: Path,
    decisions: "Decisions",
    new: "Predictions",
    *,
    validation: tuple[Any, Any] | None,
    names: tuple[str | None, str | None],
    inputs: tuple[Path, ...],
    title: str | None = None,
    random_state: int = 0,
) -> dict[str, Any]:
    """Write the page about decisions on rows read from files, and return its facts.

    ``validation`` holds scores and labels, ``names`` the names of the id and group columns.
    """
    from abstain.report import Report

    identifier, group = names
    scores_val, y_val = validation or (None, None)
    page = Report(
        decisions,
        scores_val=scores_val,
        y_val=y_val,
        ids=new.ids,
        id_name=identifier or "row",
        groups=new.groups,
        group_name=group or "group",
        command=this_command(),
        inputs=inputs,
        random_state=random_state,
        **({} if title is None else {"title": title}),
    )
    page.save(path)
    return page.facts
