"""``abstain run``: two files of predictions in, decisions out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from abstain.cli import _options as option
from abstain.cli._amount import amount, amount_options
from abstain.cli._output import (
    check_outputs,
    check_stream_outputs,
    emit,
    stop_on_doubts,
    wrote,
)
from abstain.cli._stream_gate import is_streamed, refuse_in_streams


@click.command(
    cls=option.Grouped,
    epilog="Example: abstain run validation.csv batch.csv --label ill --scores p_ill "
    "--metric sensitivity@specificity=0.9 --budget 0.15 --out decisions.csv --report report.html",
)
@option.validation
@option.batch
@option.metric
@amount_options
@option.scores
@option.label
@option.positive
@option.identifier
@option.group
@option.reading(refer=True)
@click.option(
    "--known-labels",
    help="A column of BATCH with the true label where it is known, and nothing elsewhere; these "
    "rows are not withheld.",
)
@option.scale
@option.calibration
@option.shift
@option.decision
@click.option(
    "--score", help="Withhold by this score of uncertainty instead, e.g. max-probability."
)
@option.level
@option.random_state
@option.stream
@option.out
@option.sort
@click.option("--policy", type=option.FILE, help="Save the rule as JSON.")
@option.key_file
@click.option(
    "--report",
    type=option.FILE,
    help="Write a page about the decisions: one HTML file, to open, mail or print.",
)
@option.force
@option.strict
@option.as_json
def run(
    validation: Path,
    batch: Path,
    *,
    scores: str,
    label: str,
    positive: str | None,
    identifier: str | None,
    group: str | None,
    reading: option.Reading,
    known_labels: str | None,
    stream: bool | None,
    out: Path | None,
    sort: str,
    policy: Path | None,
    key_file: Path | None,
    report: Path | None,
    force: bool,
    strict: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Choose which rows of BATCH go to a person.

    VALIDATION is a table (CSV, Excel or Parquet) of scores with true labels, BATCH one of scores
    of the same classifier on new rows; its labels are not looked at, but for --known-labels.
    Either may be a quoted pattern of many files, such as 'site-*.csv.gz'. BATCH may also be a
    folder of tables, which need not fit into memory.
    """
    if is_streamed(batch, stream):
        first = sort == "pressing"
        whole = {"--report": report, "--known-labels": known_labels, "--sort pressing": first}
        refuse_in_streams(whole, out)
        check_stream_outputs(policy, out=out, inputs=(validation, batch, key_file), force=force)
        _streamed(
            validation,
            batch,
            amount(**settings),
            columns={"scores": scores, "identifier": identifier, "group": group},
            label=label,
            positive=positive,
            reading=reading,
            out=out,
            policy_out=policy,
            key_file=key_file,
            force=force,
            strict=strict,
            as_json=as_json,
        )
        return
    check_outputs(policy, report, table=out, inputs=(validation, batch, key_file), force=force)
    parameters = amount(**settings)

    from abstain import Abstainer
    from abstain._files import landing
    from abstain.cli._key import signing_key
    from abstain.cli._positive import settled_classes
    from abstain.cli._report import write_report
    from abstain.cli._summary import facts, lines
    from abstain.cli._tables import read_predictions
    from abstain.cli._writing import save_decisions

    key = signing_key(key_file)
    scale = parameters["scale"]
    source = read_predictions(
        validation, scores=scores, label=label, reading=reading.of_validation, scale=scale
    )
    new = read_predictions(
        batch,
        scores=scores,
        identifier=identifier,
        group=group,
        known=known_labels,
        reading=reading,
        scale=scale,
    )
    classes = settled_classes(source, positive, needing=_of_positive(parameters))
    abstainer = Abstainer(**parameters, positive=classes.positive)
    abstainer.fit(source.scores, source.labels, classes=classes.columns)
    decisions = abstainer.decide(
        new.scores_for(abstainer.classes_), **new.aside(abstainer.classes_)
    )
    found = facts(decisions) | new.remarks
    stop_on_doubts(found, lines(found), as_json, strict=strict)
    with landing() as place:
        if out is not None:
            first = sort == "pressing"
            save_decisions(place, out, decisions, new, (source, new), pressing_first=first)
        if policy is not None:
            decisions.policy.save(place(policy), key=key)
        if report is not None:
            write_report(place(report), decisions, new, source)
        # What cannot be printed is an error, too, after which nothing is to be there.
        emit(found, lines(found), as_json)
    wrote("decisions", out)
    wrote("the rule", policy)
    wrote("the report", report)


def _streamed(
    validation: Path,
    batch: Path,
    parameters: dict[str, Any],
    *,
    columns: dict[str, Any],
    label: str,
    positive: str | None,
    reading: option.Reading,
    out: Path | None,
    policy_out: Path | None,
    key_file: Path | None,
    force: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Do the same about rows that are never in memory all at once."""
    from threading import Lock

    from abstain import Abstainer
    from abstain.cli._columns import found_files
    from abstain.cli._first_pass import Chosen, chosen, first_pass
    from abstain.cli._key import signing_key
    from abstain.cli._positive import settled_classes
    from abstain.cli._stream import stream_of
    from abstain.cli._streaming import StreamedRun
    from abstain.cli._tables import read_predictions

    scale, of_validation = parameters["scale"], reading.of_validation
    stream = stream_of(batch, **columns, reading=reading, scale=scale, choosable=True)

    def choose() -> Chosen:
        source = read_predictions(
            validation, scores=columns["scores"], label=label, reading=of_validation, scale=scale
        )
        classes = settled_classes(source, positive, needing=_of_positive(parameters))
        abstainer = Abstainer(**parameters, positive=classes.positive)
        abstainer.fit(source.scores, source.labels, classes=classes.columns)
        # Merged in any order the summary is the same.
        summaries: list[Any] = []

        def look(scores: Any, gaps: bool) -> None:
            part = abstainer.summarise(scores, missing=reading.missing if gaps else "error")
            with merging:
                summaries[:] = [summaries[0].merge(part) if summaries else part]

        merging = Lock()
        seen = first_pass(stream, abstainer.classes_, look)
        return chosen(abstainer.decide_summary(summaries[0]), seen, stored=False)

    run = StreamedRun(
        stream=stream,
        out=out,
        policy_out=policy_out,
        sources=tuple(found_files(validation)),
        key=signing_key(key_file),
        rule=None,
        force=force,
        strict=strict,
        as_json=as_json,
    )
    run.run(choose)


def _of_positive(parameters: dict[str, Any]) -> Iterator[str]:
    """Yield what was asked for that depends on which of two classes is the positive one."""
    from abstain.selection import goals_of

    metric, target = parameters["metric"], parameters["target"]
    if metric.of_positive:
        yield f"--metric {metric.name}"
    for name, goal in ({} if target is None else goals_of(target, metric)).items():
        if goal.metric.of_positive:
            yield f"--target {name}"
    if parameters["prior_range"] is not None:
        yield "--prior-range"
