"""``abstain apply``: a saved rule and new predictions in, decisions out."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from abstain.cli import _options as option
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
    epilog="Example: abstain apply triage.json batch.csv --scores p_ill --out out.csv",
)
@option.policy
@option.key_file
@option.batch
@option.scores
@option.identifier
@option.at_most
@option.reading(refer=True)
@option.stream
@option.out
@option.sort
@option.force
@option.strict
@option.as_json
def apply(
    policy: Path,
    batch: Path,
    *,
    key_file: Path | None,
    scores: str,
    identifier: str | None,
    at_most: int | None,
    reading: option.Reading,
    stream: bool | None,
    out: Path | None,
    sort: str,
    force: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Decide about the rows of BATCH by the rule in POLICY, as it stands.

    Scores must be of the classifier, and on the scale, that the policy was made with. Prints
    the class proportions that the rule was made for beside those estimated for BATCH, and what
    to do if they moved. BATCH may be a quoted pattern of many files, such as 'site-*.csv.gz', or a
    folder of tables, which need not fit into memory.
    """
    if is_streamed(batch, stream):
        refuse_in_streams({"--at-most": at_most, "--sort pressing": sort == "pressing"}, out)
        check_stream_outputs(out=out, inputs=(policy, batch, key_file), force=force)
        _streamed(
            policy,
            batch,
            key_file=key_file,
            columns={"scores": scores, "identifier": identifier},
            reading=reading,
            out=out,
            force=force,
            strict=strict,
            as_json=as_json,
        )
        return
    check_outputs(table=out, inputs=(policy, batch, key_file), force=force)

    from abstain import Policy
    from abstain._files import landing
    from abstain.cli._key import signing_key
    from abstain.cli._summary import facts, lines
    from abstain.cli._tables import read_predictions
    from abstain.cli._writing import save_decisions

    rule = Policy.load(policy, key=signing_key(key_file))
    rows = read_predictions(
        batch, scores=scores, identifier=identifier, reading=reading, rule=rule
    )
    told = rows.aside(rule.classes)
    if at_most is not None:
        told["at_most"] = at_most
    decisions = rule.apply(rows.scores_for(rule.classes), **told)
    found = facts(decisions, stored=True) | rows.remarks
    found["adapt"] = _suggested(found, [policy, batch], ["--scores", scores, *reading.typed()])
    said = [*lines(found), *_advice(found)]
    stop_on_doubts(found, said, as_json, strict=strict)
    with landing() as place:
        if out is not None:
            first = sort == "pressing"
            save_decisions(place, out, decisions, rows, (policy, rows), pressing_first=first)
        emit(found, said, as_json)
    wrote("decisions", out)


def _streamed(
    policy: Path,
    batch: Path,
    *,
    key_file: Path | None,
    columns: dict[str, Any],
    reading: option.Reading,
    out: Path | None,
    force: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Do the same about rows that are never in memory all at once."""
    from abstain import Policy
    from abstain.cli._first_pass import Chosen, chosen, first_pass
    from abstain.cli._key import signing_key
    from abstain.cli._stream import stream_of
    from abstain.cli._streaming import StreamedRun

    key = signing_key(key_file)
    rule = Policy.load(policy, key=key)
    scale = rule.calibrator.scale
    stream = stream_of(batch, **columns, reading=reading, scale=scale, choosable=False)

    def choose() -> Chosen:
        withheld: list[int] = []

        def look(scores: Any, gaps: bool) -> None:
            found = rule.rows(scores, missing=reading.missing if gaps else "error")
            withheld.append(int(found.abstain.sum()))

        seen = first_pass(stream, rule.classes, look)
        settled = chosen(rule, seen, stored=True)
        rule.warn_of_more(sum(withheld), seen.n_rows)
        files = [policy, batch]
        given = ["--scores", columns["scores"], *reading.typed()]
        settled.found["adapt"] = (
            None if batch.is_dir() else _suggested(settled.found, files, given)
        )
        return settled

    run = StreamedRun(
        stream=stream,
        out=out,
        sources=(policy,),
        policy_out=None,
        key=key,
        rule=rule.sha256,
        advice=_advice,
        force=force,
        strict=strict,
        as_json=as_json,
    )
    run.run(choose)


def _suggested(found: dict[str, Any], files: list[Path], options: list[str]) -> str | None:
    """Return the command that makes the rule for these rows, where their proportions moved."""
    if not found["priors"]["moved"] or found["certificate"] is not None:
        return None
    out = files[0].with_name(f"{files[0].stem}-adapted{files[0].suffix}")
    return shlex.join(["abstain", "adapt", *map(str, files), *options, "--out", str(out)])


def _advice(found: dict[str, Any]) -> list[str]:
    if found["adapt"] is not None:
        return [
            "The class proportions moved from those that the rule was made for. For the rule as "
            "it is for these rows:",
            f"  {found['adapt']}",
        ]
    if found["priors"]["moved"]:
        return ["The class proportions moved; the rule is certified and holds all the same."]
    return []
