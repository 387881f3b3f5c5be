"""A saved rule: ``abstain apply`` decides by it, ``adapt`` makes it one for today.

``abstain evaluate`` compares what it decides with true labels that came later.
"""

from __future__ import annotations

import shlex
import warnings
from dataclasses import replace
from typing import Any

import click

from abstain.cli import _options as option
from abstain.cli._terminal import say


@option.command("abstain apply triage.json batch.csv --scores p_ill --out out.csv")
@option.tables("scores", "identifier", "opinions", refer=True, stream=True)
@click.option(
    "--at-most",
    type=click.IntRange(min=0, max=10**9),
    help="No more rows to a person than this, e.g. 40 a day: the most pressing of those that the "
    "rule withholds.",
)
@option.outputs("sort", "audit", "force", "strict", "as_json", out=option.DECISIONS)
def apply(*, tables: option.Tables, at_most: int | None, outputs: option.Outputs) -> None:
    """Decide about the rows of BATCH by the rule in POLICY, as it stands.

    Scores must be of the classifier, and on the scale, that the policy was made with. Prints
    the class proportions that the rule was made for beside those estimated for BATCH, and what
    to do if they moved. BATCH may be a quoted pattern of many files, such as 'site-*.csv.gz', or a
    folder of tables, which need not fit into memory.
    """
    from abstain.cli._streaming import is_streamed

    whole = {"--audit": outputs.audit, "--opinion": tables.columns.opinions or None}
    if is_streamed(tables.batch, tables.reading.stream, outputs, whole):
        outputs.check_stream(*tables.inputs)
        _streamed(tables, at_most, outputs)
        return
    outputs.check(*tables.inputs)

    from abstain.cli._summary import facts, lines
    from abstain.cli._writing import save_decisions

    policy, rows = tables.policy, tables.new(others=outputs.out is not None)
    told = rows.unscored_and_known(policy.classes) | rows.audited(outputs.audit, tables.rule.key)
    told["opinions"] = tables.answers(rows, "--opinion", policy.classes.tolist())
    decisions = policy.apply(rows.scores_for(policy.classes), at_most=at_most, **told)
    found = facts(decisions, stored=True) | rows.remarks
    found["adapt"] = _adapting_command(found, tables)
    with outputs.landing(found, [*lines(found), *_advice(found)]) as place:
        save_decisions(place, outputs, decisions, rows, (tables.rule.policy, rows))


def _streamed(tables: option.Tables, at_most: int | None, outputs: option.Outputs) -> None:
    """Do the same about rows that are never in memory all at once."""
    from abstain.cli._parts import Queue
    from abstain.cli._streaming import StreamChoice, StreamedRun, choice_of, first_pass

    policy, stream, rule = tables.policy, tables.files(stream=True), tables.rule

    def choose() -> StreamChoice:
        queue = Queue(at_most)

        def look(scores: Any, gaps: bool, begin: int) -> None:
            missing = tables.reading.missing if gaps else "error"
            queue.add(policy.rows(scores, missing=missing), begin)

        seen = first_pass(stream, policy.classes, look)
        result = choice_of(policy, seen, queue)
        result.found["adapt"] = _adapting_command(result.found, tables)
        return result

    StreamedRun(stream, outputs, (rule.policy,), rule.key, rule=policy.sha256, advice=_advice).run(
        choose
    )


def _adapting_command(found: dict[str, Any], tables: option.Tables) -> str | None:
    """Return the command that makes the rule for these rows, where their proportions moved."""
    policy, batch = tables.rule.policy, tables.batch
    # What adapts a rule takes no folder.
    if not found["priors"]["moved"] or found["certificate"] is not None or batch.is_dir():
        return None
    out = policy.with_name(f"{policy.stem}-adapted{policy.suffix}")
    options = ["--scores", tables.columns.scores, *tables.reading.typed(), "--out", str(out)]
    return shlex.join(["abstain", "adapt", str(policy), str(batch), *options])


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


@option.command("abstain adapt triage.json recent.csv --out triage-june.json")
@option.tables("scores")
@click.option(
    "--drop-certificate", is_flag=True, help="Choose again although the rule is certified."
)
@option.outputs("force", "strict", "as_json", out="Save the adapted rule as JSON.")
def adapt(*, tables: option.Tables, drop_certificate: bool, outputs: option.Outputs) -> None:
    """Estimate the class proportions of BATCH and choose the region of POLICY again.

    BATCH holds recent rows; no labels are needed. Says what probably happened to them; if nothing
    that was weighed explains their scores, no rule is written without --force.
    """
    outputs.check(*tables.inputs, table=False)

    from abstain.cli._summary import facts, lines
    from abstain.exceptions import AssumptionWarning

    old, rows = tables.policy, tables.new()
    recent = rows.scores_for(old.classes)
    new = old.adapt(recent, drop_certificate=drop_certificate)
    with warnings.catch_warnings():
        # The same rows, of which adapting has warned.
        warnings.simplefilter("ignore", AssumptionWarning)
        now, before = new.apply(recent), old.apply(recent)
    withheld = int(before.abstain.sum())
    changes = {"old_priors": old.priors, "old_withheld": withheld}
    found = facts(now.judged(assumption=new.assumption)) | changes | rows.remarks
    said = [*lines(found), "", f"The old rule would withhold {withheld:,} of these rows."]
    outputs.stop_on_doubts(found, said)
    explained = new.assumption is None or new.assumption.fits
    if outputs.out is not None and not outputs.force and not explained:
        option.emit(found, said, outputs.as_json)
        say(
            "abstain: nothing that was weighed explains the scores of these rows, as where the "
            "model was trained again or measures otherwise; no rule was written. Make a new one "
            "with `abstain run`, or add --force."
        )
        click.get_current_context().exit(1)
    with outputs.landing(found, said, "the rule") as place:
        if outputs.out is not None:
            new.save(place(outputs.out), key=tables.rule.key)


@option.command(
    "abstain evaluate triage.json scored.csv --scores p_ill "
    "--labels followed-up.csv --id patient --label ill --group hospital --group sex"
)
@option.tables(
    "scores", "label", "labels", "identifier", "groups", "opinions", batch="LABELLED", refer=True
)
@option.metrics(
    help="Another metric to compute beside the rule's own; may be given several times."
)
@option.level
@option.outputs("audit", "as_json")
def evaluate(
    *, tables: option.Tables, metrics: tuple[Any, ...], level: float, outputs: option.Outputs
) -> None:
    """Apply the rule in POLICY to LABELLED and compare with the true labels.

    Prints the metric on all rows, on those kept and on those withheld, with intervals, by each
    --group, what had been estimated without labels, and whether the interval held what came
    true; with --opinion also of model, reader and team. Rows without a label are left out and
    counted; with --audit, as it was when the rule was applied, those that have one are counted for
    as many as they stand for.
    """
    columns, reading, labelled = tables.columns, tables.reading, tables.batch
    if columns.labels is not None and columns.identifier is None:
        raise click.UsageError("--labels needs --id: the column, in both files, that names a row.")

    import numpy as np

    from abstain.cli._labels import text_columns, true_labels
    from abstain.evaluation import evaluate as evaluated

    policy, audit = tables.policy, outputs.audit
    named = None if audit is None else columns.identifier
    rows = replace(tables, columns=option.Columns(columns.scores, identifier=named)).new()
    found = true_labels(labelled, columns, reading, rows.rows, policy)
    # Of an audit the rows without a label count as well: the others stand for them.
    told = found.rows if audit is None else np.ones_like(found.rows)
    by = {}
    for name in columns.groups:
        column = text_columns(labelled, {"--group": name}, reading, rows.rows)[name]
        by[name] = [one or "(empty)" for one, here in zip(column, told, strict=True) if here]
    classes = policy.classes
    given = rows.unscored_and_known(classes) | rows.audited(audit, tables.rule.key)
    answers = tables.answers(rows, "--opinion", classes.tolist())
    if answers is not None:
        given["opinions"] = {name: one[told] for name, one in answers.items()}
    decisions = policy.apply(rows.scores_for(classes).filter(told), **given)
    judged = evaluated(
        decisions,
        found.labels if audit is None else found.spread(),
        groups=None if not by else by if len(by) > 1 else next(iter(by.values())),
        metrics=metrics,
        level=level,
        selected=None if audit is None else True,
    )
    said = [line for line in (found.line(), judged.to_text()) if line]
    option.emit(
        {**judged.to_dict(), "labels": found.counts, **rows.remarks}, said, outputs.as_json
    )
