"""``abstain run --by COLUMN``: the same share of each group of BATCH, or the same target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from abstain._words import share
from abstain.cli._goal import Goal
from abstain.cli._options import Tables
from abstain.cli._summary import estimated, facts, target_lines
from abstain.cli._terminal import in_a_line

if TYPE_CHECKING:
    from abstain.decisions import GroupDecisions


def of_batch(goal: Goal, tables: Tables, refused: Mapping[str, Any]) -> Tables:
    """Return the tables with the groups in BATCH; refuse what there is for one rule alone."""
    columns = tables.columns
    if columns.by is None:
        raise click.UsageError("--equal needs --by: the column of BATCH with the group of a row.")
    if (goal.equal is None) == (goal.target is None):
        raise click.UsageError(
            "--by goes with --arms; or with --budget and --equal referral, for the same share of "
            "each group; or with --target, which is then reached in each, and without --equal."
        )
    for option, value in ({"--group": columns.group} | dict(refused)).items():
        if value is not None:
            raise click.UsageError(
                f"{option} is of one rule, and with --by each group of BATCH has its own. Leave "
                f"it out, or use Abstainer.decide_groups in Python."
            )
    return replace(tables, columns=replace(columns, group=columns.by, by=None))


def group_facts(decisions: GroupDecisions, column: str) -> dict[str, Any]:
    """Return what a run found in each group as data."""
    groups = {str(name): facts(one) for name, one in decisions.by.items()}
    targets = [goal for one in groups.values() for goal in one["asked"]["targets"] or ()]
    return {
        "by": column,
        "rows": len(decisions),
        "withheld": int(decisions.abstain.sum()),
        "asked": {"targets": targets},
        "groups": groups,
        "doubts": decisions.doubts,
    }


def group_lines(found: dict[str, Any]) -> list[str]:
    """Return the facts as lines for people."""
    result = [
        f"Withheld {found['withheld']:,} of {found['rows']:,} rows, chosen in each "
        f"{in_a_line(found['by'])}"
    ]
    for name, one in found["groups"].items():
        result.append(
            f"{in_a_line(name)}: {one['withheld']:,} of {one['rows']:,} rows "
            f"({share(one['abstention_rate'])})"
        )
        if one["estimate"] is not None:
            before, after = (estimated(one["estimate"][when]) for when in ("before", "after"))
            result.append(f"  Estimated {one['metric']}  before {before}, after {after}")
        result += [f"  {line}" for line in target_lines(one["asked"], one["reached"]) if line]
    return result
