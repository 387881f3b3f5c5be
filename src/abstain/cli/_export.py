"""``abstain export``: a saved rule in, the same rule as SQL, an ONNX model or Python out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

import click

from abstain.cli import _options as option
from abstain.cli._output import wrote
from abstain.cli._terminal import printable
from abstain.cli._values import in_one_value, option_field

if TYPE_CHECKING:
    from abstain import Policy

# As abstain.sql has them, which is loaded when the command runs.
DIALECTS = ["bigquery", "databricks", "duckdb", "postgres", "snowflake", "spark", "sqlite"]


@dataclass(frozen=True)
class Query:
    """What a query is made of, as the options say it.

    Attributes
    ----------
    dialect, table : str or None
        The database, and its table with the scores.
    columns, keep : tuple of str
        The score columns, and what else is kept.
    prefix : str or None
        What the names of the columns that come out begin with.
    no_probabilities, single : bool
        Leave out the probabilities; scores are in single precision.
    """

    dialect: str | None = option_field(
        "--dialect", type=click.Choice(DIALECTS), help="The database that the query is for."
    )
    table: str | None = option_field(
        "--table", help="The table with the scores; dots part the names of a schema and a table."
    )
    columns: tuple[str, ...] = option_field(
        "--scores",
        "columns",
        multiple=True,
        help="The score column (binary: of the positive class), or a pattern with * that stands "
        "for the name of each class; or given once for each class, in the order of the rule.",
    )
    keep: tuple[str, ...] = option_field(
        "--keep",
        multiple=True,
        help="A column of the table to keep, may be given several times; all of them without it.",
    )
    prefix: str | None = option_field(
        "--prefix", help="What the names of the columns that come out begin with."
    )
    no_probabilities: bool = option_field(
        "--no-probabilities",
        is_flag=True,
        help="Leave out the probabilities; the query is faster.",
    )
    opinion: str | None = option_field(
        "--opinion",
        help="The column of the table with a reader's answers: adds the final answer.",
    )
    single: bool = option_field(
        "--single", is_flag=True, help="The score columns are in single precision."
    )

    def as_made(self, rule: Policy) -> Self:
        """Return the query with the score columns the rule was made from, if none was said."""
        if self.columns or rule.made_from is None:
            return self
        return replace(self, columns=(rule.made_from["scores"],))

    def check(self, kind: str, out: Path | None) -> None:
        """Refuse what is not enough, or of no use, for a kind of export."""
        needed = {"--dialect": self.dialect, "--table": self.table, "--scores": self.columns}
        if kind == "sql":
            absent = [name for name, value in needed.items() if not value]
            if absent:
                raise click.UsageError(f"--to sql needs {', '.join(absent)} too.")
            return
        if kind == "onnx" and out is None:
            raise click.UsageError(
                "--to onnx needs --out too, the file that the model is written to."
            )
        others = {**needed, "--keep": self.keep, "--prefix": self.prefix}
        others["--opinion"] = self.opinion
        given = [name for name, value in others.items() if value and name != "--scores"]
        if given:
            raise click.UsageError(f"{', '.join(given)}: for --to sql alone.")

    def sql(self, rule: Policy) -> str:
        """Return the query; a star in a single score column stands for the classes."""
        scores = list(self.columns)
        if len(scores) == 1 and "*" in scores[0]:
            scores = [scores[0].replace("*", str(label)) for label in rule.columns.tolist()]
        return rule.to_sql(
            str(self.dialect),
            table=self.table,
            scores=scores,
            keep=self.keep or None,
            probabilities=not self.no_probabilities,
            prefix=self.prefix,
            opinion=self.opinion,
            dtype="float32" if self.single else "float64",
        )


@option.command(
    "abstain export triage.json --to sql --dialect duckdb --table visits --scores p_ill"
)
@option.rule
@click.option(
    "--to",
    "kind",
    type=click.Choice(["sql", "onnx", "python"]),
    required=True,
    help="A query for a database, a model for a runtime of ONNX, or a file of plain Python.",
)
@in_one_value(Query, "query")
@option.outputs("force", out="Where to write it; text is printed without it.")
def export(rule: option.SavedRule, *, kind: str, query: Query, outputs: option.Outputs) -> None:
    """Write the rule in POLICY as SQL, ONNX or Python, to decide where the rows are.

    SQL is one SELECT from the table with the scores: its columns, the probability of each class,
    the prediction, whether the row goes to a person, and the checksum of the rule. A file of
    Python has a function that decides about one row, and needs no package.
    """
    outputs.check(rule.policy, rule.key_file, table=False)

    from abstain._files import landing

    policy = rule.loaded
    if kind == "sql":
        query = query.as_made(policy)
    query.check(kind, outputs.out)
    columns = 1 if len(query.columns) == 1 else None
    if kind == "onnx":
        content = policy.to_onnx(columns=columns).SerializeToString()
    else:
        dtype = "float32" if query.single else "float64"
        if kind == "sql":
            text = f"{query.sql(policy)};\n"
        else:
            text = policy.to_python(columns=columns, dtype=dtype)
        content = text.encode()
        if outputs.out is None:
            _print(text)
            return
    with landing() as place:
        place(Path(str(outputs.out))).write_bytes(content)
    wrote("the rule", outputs.out)


def _print(query: str) -> None:
    """Print a query as it is; where a terminal would obey what is in it, refuse."""
    if any(printable(line) != line for line in query.splitlines()):
        raise ValueError(
            "The query holds characters that a terminal obeys, from the name of a class or a "
            "column. Write it to a file with --out."
        )
    click.echo(query, nl=False)
