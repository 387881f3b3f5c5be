"""``abstain report``: a saved rule and its predictions in, a page about the decisions out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abstain.cli import _options as option
from abstain.cli._output import wrote
from abstain.cli._terminal import printable

if TYPE_CHECKING:
    from abstain import Decisions
    from abstain.cli._predictions import Predictions
    from abstain.report import Report


@option.command(
    "abstain report triage.json batch.csv --validation validation.csv "
    "--scores p_ill --label ill --out report.html"
)
@option.rule
@option.batch
@click.option(
    "--validation",
    type=option.FILE,
    help="The labelled table the rule was made on: the page then says what moved and how far to "
    "trust it.",
)
@option.columns("scores", "label", "identifier", "group")
@option.reading(refer=True)
@click.option("--title", help="The page's title.")
@option.random_state
@option.outputs("card", "force", "as_json", out="Where to write the page.", default="report.html")
def report(
    rule: option.SavedRule,
    batch: Path,
    *,
    validation: Path | None,
    columns: option.Columns,
    reading: option.Reading,
    title: str | None,
    random_state: int,
    outputs: option.Outputs,
) -> None:
    """Write a page about what the rule in POLICY decides about BATCH.

    One HTML file that needs no network: the answer, a budget slider, what moved, how far to
    trust it, who is referred. With --json the facts of the page are printed as well.
    """
    outputs.check(rule.policy, batch, validation, rule.key_file, table=False)

    from abstain._files import landing
    from abstain.cli._predictions import read_predictions, read_validation

    policy = rule.load()
    new = read_predictions(batch, columns.of_batch, reading, rule=policy)
    source = None
    if validation is not None:
        source = read_validation(validation, columns, reading, rule=policy)
    told = new.unscored_and_known(policy.classes)
    decisions = policy.apply(new.scores_for(policy.classes), **told)
    options: dict[str, Any] = {} if title is None else {"title": title}
    page = page_about(
        decisions,
        new,
        source,
        inputs=(rule.policy,),
        random_state=random_state,
        **options,
    )
    with landing() as place:
        page.save(place(Path(str(outputs.out))))
        if outputs.card is not None:
            place(outputs.card).write_text(page.model_card(), encoding="utf-8")
        option.emit(page.facts, [page.headline], outputs.as_json)
    wrote("the report", outputs.out)
    wrote("the section of a model card", outputs.card)


def page_about(
    decisions: Decisions,
    new: Predictions,
    source: Predictions | None,
    *,
    inputs: tuple[Path, ...] = (),
    **options: Any,
) -> Report:
    """Return the page about decisions on rows read from files; what it doubts is warned of."""
    from abstain.exceptions import AssumptionWarning, warn_user
    from abstain.report import DOUBTFUL, Report

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
    verdict = page.facts["trust"]["verdict"]
    if verdict["state"] == DOUBTFUL:
        warn_user(
            f"Intervals are too narrow: in a back-test, {verdict['summary']}", AssumptionWarning
        )
    return page


def back_test_of(page: Report) -> dict[str, Any]:
    """Return how often the intervals of a page held in its back-test, as plain data."""
    trusted = page.facts["trust"]
    test = trusted["back_test"] or {"inside": None, "points": [], "too_few": None}
    return {
        "held": test["inside"],
        "of": len(test["points"]),
        "too_few": test["too_few"],
        "summary": trusted["verdict"]["summary"],
    }
