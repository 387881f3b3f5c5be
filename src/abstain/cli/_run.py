"""``abstain run``: predictions in, decisions out. ``abstain report``: a page about decisions."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abstain.cli import _options as option
from abstain.cli._goal import Goal, goal_options
from abstain.cli._output import wrote
from abstain.cli._terminal import printable, say
from abstain.cli._values import signing_key

if TYPE_CHECKING:
    from abstain import Abstainer, Decisions, Policy
    from abstain.cli._predictions import Predictions
    from abstain.report import Report


@option.command(
    "abstain run validation.csv batch.csv --label ill --scores p_ill "
    "--metric sensitivity@specificity=0.9 --budget 0.15 --out decisions.csv --report report.html"
)
@goal_options
@option.tables(
    "scores", "label", "positive", "identifier", "group", "by", "known_labels", "time", "readers",
    method=("shift", "decision", "score", "level", "random_state"), refer=True, stream=True,
)  # fmt: skip
@option.outputs(
    "sort", "policy", "key_file", "report", "audit", "force", "strict", "as_json",
    out=option.DECISIONS,
)  # fmt: skip
def run(*, goal: Goal, tables: option.Tables, outputs: option.Outputs) -> None:
    """Choose which rows of BATCH go to a person.

    VALIDATION is a table (CSV, Excel or Parquet) of scores with true labels, BATCH one of scores
    of the same classifier on new rows; its labels are not looked at, but for --known-labels.
    Either may be a quoted pattern of many files, such as 'site-*.csv.gz'. BATCH may also be a
    folder of tables, which need not fit into memory.
    """
    from abstain.cli._streaming import is_streamed

    inputs = (*tables.inputs, outputs.key_file)
    whole = {
        "--report": outputs.report,
        "--known-labels": tables.columns.known_labels,
        "--audit": outputs.audit,
    }
    by_group = goal.equal is not None or (tables.columns.by is not None and goal.arms is None)
    if by_group:
        from abstain.cli._by_group import of_batch

        tables = of_batch(goal, tables, {**whole, "--policy": outputs.policy})
        whole["--by"] = tables.columns.group
    if is_streamed(tables.batch, tables.reading.stream, outputs, whole):
        outputs.check_stream(*inputs)
        _streamed(tables, goal, outputs)
        return
    outputs.check(*inputs)
    parameters = goal.parameters() | asdict(tables.method)

    from abstain.cli._summary import facts, lines
    from abstain.cli._writing import save_decisions

    key = signing_key(outputs.key_file)
    source, new = tables.labelled(), tables.new(others=outputs.out is not None)
    abstainer = _fitted(source, tables, goal, parameters)
    if by_group:
        _run_groups(abstainer, new, source, goal, outputs)
        return
    classes = abstainer.classes_
    told = new.unscored_and_known(classes) | new.audited(outputs.audit, key)
    decisions = abstainer.decide(new.scores_for(classes), **told)
    decisions = replace(decisions, policy=_with_columns(decisions.policy, tables.columns))
    found = facts(decisions) | new.remarks
    _stop_short(found, lines(found), goal, outputs)
    page = None if outputs.report is None else page_about(decisions, new, source)
    if page is not None:
        found["back_test"] = back_test_of(page)
    with outputs.landing(found, lines(found)) as place:
        save_decisions(place, outputs, decisions, new, (source, new))
        if outputs.policy is not None:
            decisions.policy.save(place(outputs.policy), key=key)
        if page is not None:
            page.save(place(Path(str(outputs.report))))


def _run_groups(
    abstainer: Abstainer,
    new: Predictions,
    source: Predictions,
    goal: Goal,
    outputs: option.Outputs,
) -> None:
    """Decide in each group of BATCH by itself, and write and print what was decided."""
    from abstain.cli._by_group import group_facts, group_lines
    from abstain.cli._writing import save_decisions

    groups: Any = new.groups
    told = new.unscored_and_known(abstainer.classes_)
    scores = new.scores_for(abstainer.classes_)
    decisions = abstainer.decide_groups(scores, groups, **told)
    found = group_facts(decisions, new.group_name) | new.remarks
    _stop_short(found, group_lines(found), goal, outputs)
    with outputs.landing(found, group_lines(found)) as place:
        save_decisions(place, outputs, decisions, new, (source, new))


def _with_columns(policy: Policy, columns: option.Columns) -> Policy:
    """Return the rule with what its columns are called, for commands that take it up again."""
    return replace(policy, made_from={"scores": columns.scores, "label": str(columns.label)})


def _stop_short(
    found: dict[str, Any], lines: list[str], goal: Goal, outputs: option.Outputs
) -> None:
    """Where the estimate does not reach the target, print what is there and exit 1."""
    targets = found["asked"]["targets"] or []
    if goal.budget is None and not all(one["reached"] for one in targets):
        option.emit(found, lines, outputs.as_json)
        say(
            "abstain: the target is not reached on these rows; nothing was written. Ask for less, "
            "or add --budget for what is best within it."
        )
        click.get_current_context().exit(1)


def _fitted(
    source: Predictions, tables: option.Tables, goal: Goal, parameters: dict[str, Any]
) -> Abstainer:
    from abstain import Abstainer

    classes = tables.classes(source, goal.of_positive())
    labels = source.classes or sorted({*source.labels.tolist()})
    answers = tables.answers(source, "--reviewer", labels)
    team = goal.team or ("combine" if answers else None)
    abstainer = Abstainer(**{**parameters, "team": team}, positive=classes.positive)
    groups = None if tables.columns.by is None else source.groups
    told: dict[str, Any] = {"time": source.times, "reviewer": answers, "groups": groups}
    return abstainer.fit(source.scores, source.labels, classes=classes.columns, **told)


def _streamed(tables: option.Tables, goal: Goal, outputs: option.Outputs) -> None:
    """Do the same about rows that are never in memory all at once."""
    from abstain.cli._streaming import (
        StreamChoice,
        StreamedRun,
        choice_of,
        first_pass,
        stream_lines,
    )
    from abstain.cli._tables import found_files

    parameters, key = goal.parameters() | asdict(tables.method), signing_key(outputs.key_file)
    stream, missing = tables.files(stream=True), tables.reading.missing

    def choose() -> StreamChoice:
        abstainer = _fitted(tables.labelled(), tables, goal, parameters)
        summaries: list[Any] = []

        def look(scores: Any, gaps: bool, _: int) -> None:
            part = abstainer.summarise(scores, missing=missing if gaps else "error")
            summaries[:] = [summaries[0].merge(part) if summaries else part]

        seen = first_pass(stream, abstainer.classes_, look)
        policy = _with_columns(abstainer.decide_summary(summaries[0]), tables.columns)
        chosen = choice_of(policy, seen)
        _stop_short(chosen.found, stream_lines(chosen.found), goal, outputs)
        return chosen

    StreamedRun(stream, outputs, tuple(found_files(Path(str(tables.validation)))), key).run(choose)


@option.command(
    "abstain report triage.json batch.csv --validation validation.csv "
    "--scores p_ill --label ill --out report.html"
)
@click.option(
    "--validation",
    type=option.FILE,
    help="The labelled table the rule was made on: the page then says what moved and how far to "
    "trust it.",
)
@option.tables("scores", "label", "identifier", "group", refer=True)
@click.option("--title", help="The page's title.")
@option.random_state
@option.outputs("card", "force", "as_json", out="Where to write the page.", default="report.html")
def report(
    *,
    validation: Path | None,
    tables: option.Tables,
    title: str | None,
    random_state: int,
    outputs: option.Outputs,
) -> None:
    """Write a page about what the rule in POLICY decides about BATCH.

    One HTML file that needs no network: the answer, a budget slider, what moved, how far to
    trust it, who is referred. With --json the facts of the page are printed as well.
    """
    tables = replace(tables, validation=validation)
    outputs.check(*tables.inputs, table=False)

    from abstain._files import landing

    policy, new = tables.policy, tables.new()
    source = None if validation is None else tables.labelled()
    told = new.unscored_and_known(policy.classes)
    decisions = policy.apply(new.scores_for(policy.classes), **told)
    options: dict[str, Any] = {} if title is None else {"title": title}
    inputs = (tables.rule.policy,)
    page = page_about(decisions, new, source, inputs=inputs, random_state=random_state, **options)
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
