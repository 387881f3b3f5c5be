"""Policies as SQL: one SELECT from a table of scores to decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from abstain.policy import Policy, stated
from abstain.program import carried_out, given
from abstain.sql._dialects import dialect_of
from abstain.sql._names import check_columns, check_labels, check_scores, check_table, output_names
from abstain.sql._one_score import OneScore, sql_label
from abstain.sql._operations import Operations
from abstain.sql._steps import Steps

Precision = Literal["float64", "float32"]
# Engines read expressions of up to a thousand operations in one another.
_MOST_CLASSES = 500


def to_sql(
    policy: Policy,
    dialect: str,
    *,
    table: str | Sequence[str],
    scores: str | Sequence[str],
    keep: Sequence[str] | None = None,
    probabilities: bool = True,
    prefix: str | None = None,
    dtype: Precision = "float64",
) -> str:
    """Return a policy as one SELECT from a table of scores to decisions.

    Parameters
    ----------
    policy : Policy
        The rule.
    dialect : str
        For which engine: "bigquery", "databricks", "duckdb", "postgres", "snowflake", "spark" or
        "sqlite".
    table : str or sequence of str
        The table or view with the scores, by its name. Dots in text part the names of a catalog,
        a schema and a table; where a name has a dot in it, pass a tuple of names.
    scores : str or sequence of str
        The score columns: one per class in the order of ``policy.columns``, or of two classes the
        one with the score of the positive class.
    keep : sequence of str, optional
        The columns of the table that come out first; all of them when not given.
    probabilities : bool
        Whether the probability of each class comes out too. Without them the query of a binary
        rule on one score column is nothing but comparisons of that column with numbers.
    prefix : str, optional
        What the names of the columns below begin with: nothing, or ``abstain_`` if a column in
        ``scores`` or ``keep`` is called as one of them.
    dtype : {"float64", "float32"}
        What the score columns hold. A probability of 0 is taken for the least step of that, as
        :meth:`abstain.Policy.apply` does.

    Returns
    -------
    str
        The query. Behind the table's own columns come ``p_`` and its name for each class
        (calibrated and adapted), ``prediction`` (a class label), ``abstain`` (whether the row goes
        to a person) and ``policy`` (the rule's checksum).

    Raises
    ------
    ValueError
        If the dialect is not known, or names are not what they must be.
    TypeError
        If the rule withholds by a score that SQL cannot compute.

    Notes
    -----
    A row that :meth:`abstain.Policy.apply` would refuse, with NULL, NaN or infinity among its
    scores, or probabilities that are negative or do not sum to 1, goes to a person: ``abstain`` is
    true, its probabilities and its prediction are NULL.

    All names are quoted, so their upper and lower case must be that of the table.

    Examples
    --------
    >>> from abstain import Abstainer
    >>> decisions = Abstainer("accuracy", budget=0.3, calibration="identity").fit(
    ...     [0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]
    ... ).decide([0.2, 0.5, 0.5, 0.8, 0.9, 0.1, 0.1])
    >>> query = decisions.policy.to_sql("duckdb", table="visits", scores=["p_ill"])
    >>> "BETWEEN" in query
    True
    """
    engine = dialect_of(dialect)
    parts = check_table(table)
    columns = check_scores(scores, policy)
    kept = None if keep is None else check_columns(keep, "keep")
    if dtype not in get_args(Precision):
        raise ValueError(f'`dtype` must be "float64" or "float32"; got {dtype!r}.')
    if len(policy.classes) > _MOST_CLASSES:
        raise ValueError(
            f"A policy of {len(policy.classes)} classes is too large for SQL, whose engines read "
            f"{_MOST_CLASSES} at most. Export it as ONNX."
        )
    check_labels(policy)
    names = output_names(policy, engine, prefix, columns if kept is None else kept, probabilities)
    steps = Steps(engine, parts, columns, kept)
    if len(columns) == 1 and OneScore.suits(policy):
        rule = OneScore(steps, policy, dtype)
        proba = rule.probabilities() if probabilities else []
        values = [*proba, *rule.decisions()]
    else:
        values = _in_steps(steps, policy, float(np.finfo(dtype).eps), probabilities)
    values.append(steps.text(policy.sha256))
    return steps.select(dict(zip(names, values, strict=True)))


def _in_steps(sql: Steps, policy: Policy, smallest: float, probabilities: bool) -> list[Any]:
    """Return the columns of any rule, after the steps they take."""
    scores = given(len(sql.scores))
    known = {scores: sql.step([sql.score(place) for place in range(len(sql.scores))])}
    fit, made = stated(policy, scores, smallest=smallest)
    wanted = [fit, made.prediction, made.abstain, *([made.proba] if probabilities else [])]
    machine = Operations(sql, wanted)
    there, prediction, withheld, *proba = carried_out(machine, wanted, known)
    there, prediction = machine.named([there, prediction])
    labels = [sql_label(sql, label) for label in policy.classes.tolist()]
    shown = [machine.read(one) for block in proba for one in block]
    return [
        *(sql.only_where(sql(there), one) for one in shown),
        sql.only_where(sql(there), sql.by_number(prediction, labels)),
        sql.choose(sql(there), machine.read(withheld), sql.truth(True)),
    ]
