"""``abstain export``: a saved rule in, the same rule as SQL or as an ONNX model out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abstain.cli import _options as option
from abstain.cli._output import check_outputs, wrote
from abstain.cli._printable import printable

if TYPE_CHECKING:
    from abstain import Policy

# As abstain.sql has them, which is loaded when the command runs.
DIALECTS = ["bigquery", "databricks", "duckdb", "postgres", "snowflake", "spark", "sqlite"]


@click.command(
    cls=option.Grouped,
    epilog="Example: abstain export triage.json --to sql --dialect duckdb --table visits "
    "--scores p_ill",
)
@option.policy
@option.key_file
@click.option(
    "--to",
    "kind",
    type=click.Choice(["sql", "onnx"]),
    required=True,
    help="A query for a database, or a model for a runtime of ONNX.",
)
@click.option("--dialect", type=click.Choice(DIALECTS), help="The database that the query is for.")
@click.option(
    "--table", help="The table with the scores; dots part the names of a schema and a table."
)
@click.option(
    "--scores",
    "columns",
    multiple=True,
    help="The score column (binary: of the positive class), or a pattern with * that stands for "
    "the name of each class; or given once for each class, in the order of the rule.",
)
@click.option(
    "--keep",
    multiple=True,
    help="A column of the table to keep, may be given several times; all of them without it.",
)
@click.option("--prefix", help="What the names of the columns that come out begin with.")
@click.option(
    "--no-probabilities", is_flag=True, help="Leave out the probabilities; the query is faster."
)
@click.option("--single", is_flag=True, help="The score columns are in single precision.")
@click.option("--out", type=option.FILE, help="Where to write it; a query is printed without it.")
@option.force
def export(
    policy: Path,
    *,
    key_file: Path | None,
    kind: str,
    dialect: str | None,
    table: str | None,
    columns: tuple[str, ...],
    keep: tuple[str, ...],
    prefix: str | None,
    no_probabilities: bool,
    single: bool,
    out: Path | None,
    force: bool,
) -> None:
    """Write the rule in POLICY as SQL or ONNX, to decide where the rows are.

    SQL is one SELECT from the table with the scores: its columns, the probability of each class,
    the prediction, whether the row goes to a person, and the checksum of the rule.
    """
    asked = {"--dialect": dialect, "--table": table, "--scores": columns}
    _check_asked(kind, asked, {"--keep": keep, "--prefix": prefix}, out)
    check_outputs(out, inputs=(policy, key_file), force=force)

    from abstain import Policy
    from abstain._files import landing
    from abstain.cli._key import signing_key

    rule = Policy.load(policy, key=signing_key(key_file))
    if kind == "onnx":
        model = rule.to_onnx(**({"columns": 1} if len(columns) == 1 else {}))
        content = model.SerializeToString()
    else:
        query = rule.to_sql(
            str(dialect),
            table=table,
            scores=_score_columns(columns, rule),
            keep=keep or None,
            probabilities=not no_probabilities,
            prefix=prefix,
            dtype="float32" if single else "float64",
        )
        content = f"{query};\n".encode()
        if out is None:
            _print(query)
            return
    with landing() as place:
        place(Path(str(out))).write_bytes(content)
    wrote("the rule", out)


def _check_asked(
    kind: str, needed: Mapping[str, object], others: Mapping[str, object], out: Path | None
) -> None:
    if kind == "sql":
        absent = [name for name, value in needed.items() if not value]
        if absent:
            raise click.UsageError(f"--to sql needs {', '.join(absent)} too.")
        return
    if out is None:
        raise click.UsageError("--to onnx needs --out too, the file that the model is written to.")
    given = [name for name, value in {**needed, **others}.items() if value and name != "--scores"]
    if given:
        raise click.UsageError(f"{', '.join(given)}: for --to sql alone.")


def _score_columns(columns: tuple[str, ...], rule: Policy) -> list[str]:
    """Return the score columns; a star in a single one stands for the classes."""
    if len(columns) > 1 or "*" not in columns[0]:
        return list(columns)
    return [columns[0].replace("*", str(label)) for label in rule.columns.tolist()]


def _print(query: str) -> None:
    """Print a query as it is; where a terminal would obey what is in it, refuse."""
    if printable(query) != query:
        raise ValueError(
            "The query holds characters that a terminal obeys, from the name of a class or a "
            "column. Write it to a file with --out."
        )
    click.echo(f"{query};")
