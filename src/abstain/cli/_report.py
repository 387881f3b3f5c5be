"""``abstain report``: a saved rule and its predictions in, a page about the decisions out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abstain.cli import _options as option
from abstain.cli._output import check_outputs, emit, wrote
from abstain.cli._printable import printable

if TYPE_CHECKING:
    from abstain import Decisions
    from abstain.cli._tables import Predictions
    from abstain.report import Report


@click.command(
    cls=option.Grouped,
    epilog="Example: abstain report triage.json batch.csv --validation validation.csv "
    "--scores p_ill --label ill --out report.html",
)
@option.policy
@option.key_file
@option.batch
@click.option(
    "--validation",
    type=option.FILE,
    help="The labelled table the rule was made on: the page then says what moved and how far to "
    "trust it.",
)
@option.scores
@option.label
@option.identifier
@option.group
@option.reading(refer=True)
@click.option("--title", help="The page's title.")
@click.option(
    "--out",
    type=option.FILE,
    default=Path("report.html"),
    show_default=True,
    help="Where to write the page.",
)
@option.random_state
@option.force
@option.as_json
def report(
    policy: Path,
    batch: Path,
    *,
    key_file: Path | None,
    validation: Path | None,
    scores: str,
    label: str,
    identifier: str | None,
    group: str | None,
    reading: option.Reading,
    title: str | None,
    out: Path,
    random_state: int,
    force: bool,
    as_json: bool,
) -> None:
    """Write a page about what the rule in POLICY decides about BATCH.

    One HTML file that needs no network: the answer, a budget slider, what moved, how far to
    trust it, who is referred. With --json the facts of the page are printed as well.
    """
    check_outputs(out, inputs=(policy, batch, validation, key_file), force=force)

    from abstain import Policy
    from abstain._files import landing
    from abstain.cli._key import signing_key
    from abstain.cli._tables import read_predictions

    rule = Policy.load(policy, key=signing_key(key_file))
    new = read_predictions(
        batch, scores=scores, identifier=identifier, group=group, reading=reading, rule=rule
    )
    source = None
    if validation is not None:
        source = read_predictions(
            validation, scores=scores, label=label, reading=reading.of_validation, rule=rule
        )
    with landing() as place:
        page = write_report(
            place(out),
            rule.apply(new.scores_for(rule.classes), **new.aside(rule.classes)),
            new,
            source,
            inputs=(policy,),
            random_state=random_state,
            **({} if title is None else {"title": title}),
        )
        emit(page.facts, [page.headline], as_json)
    wrote("the report", out)


def write_report(
    path: Path,
    decisions: Decisions,
    new: Predictions,
    source: Predictions | None,
    *,
    inputs: tuple[Path, ...] = (),
    **options: Any,
) -> Report:
    """Write the page about decisions on rows read from files, and return it."""
    from abstain.report import Report

    if source is not None:
        inputs = (*inputs, *source.files)
        options["scores_val"] = source.scores_for(decisions.classes)
        options["y_val"] = source.labels
    page = Report(
        decisions,
        ids=new.ids,
        id_name=new.id_name,
        groups=new.groups,
        group_name=new.group_name,
        command=printable(option.this_command() or "") or None,
        inputs=(*inputs, *new.files),
        **options,
    )
    page.save(path)
    return page
