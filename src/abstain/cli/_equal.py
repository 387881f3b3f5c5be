"""``abstain run --by COLUMN --equal referral``: as much of each group goes to a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from abstain._words import share
from abstain.cli._options import Tables
from abstain.cli._output import Outputs
from abstain.cli._summary import estimated, facts
from abstain.cli._terminal import in_a_line

if TYPE_CHECKING:
    from abstain import Abstainer
    from abstain.cli._predictions import Predictions
    from abstain.decisions import GroupDecisions


def check_equal(tables: Tables, refused: Mapping[str, Any]) -> None:
    """Refuse equal shares without groups, and what there is for one rule alone."""
    if tables.columns.by is None:
        raise click.UsageError("--equal needs --by: the column of BATCH with the group of a row.")
    for option, value in refused.items():
        if value is not None:
            raise click.UsageError(
                f"{option} is of one rule, and with --equal each group has its own. Leave it out, "
                f"or use Abstainer.decide_groups in Python."
            )


def run_equal(
    abstainer: Abstainer, new: Predictions, source: Predictions, outputs: Outputs
) -> None:
    """Decide so about the rows of BATCH, whose groups are known, and write and print it."""
    from abstain.cli._writing import save_decisions

    classes = abstainer.classes_
    groups: Any = new.groups
    told = new.unscored_and_known(classes)
    decisions = abstainer.decide_groups(new.scores_for(classes), groups, **told)
    found = _facts(decisions, new.group_name) | new.remarks
    with outputs.landing(found, _lines(found)) as place:
        save_decisions(place, outputs, decisions, new, (source, new))


def _facts(decisions: GroupDecisions, column: str) -> dict[str, Any]:
    return {
        "equal": "referral",
        "by": column,
        "rows": len(decisions),
        "withheld": int(decisions.abstain.sum()),
        "groups": {str(name): facts(one) for name, one in decisions.by.items()},
        "doubts": decisions.doubts,
    }


def _lines(found: dict[str, Any]) -> list[str]:
    result = [
        f"Withheld {found['withheld']:,} of {found['rows']:,} rows, the same share of each "
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
    return result
