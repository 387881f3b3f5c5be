"""Policies as SQL: one SELECT from a table of scores to decisions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

import numpy as np

from abstain._inputs import shown
from abstain.policy import Policy, answered, stated
from abstain.program import Value, carried_out, given
from abstain.sql._dialects import Dialect, dialect_of
from abstain.sql._one_score import OneScore, sql_label
from abstain.sql._operations import Operations
from abstain.sql._steps import OURS, Steps
from abstain.team import Team

Precision = Literal["float64", "float32"]
# Engines read expressions of up to a thousand operations in one another.
_MOST_CLASSES = 500
#: PostgreSQL cuts longer names, so that two of them may become one.
_LONGEST = 63
# Beyond these BigQuery keeps no column.
_FREE = re.compile(r"[^\w]")


def check_table(table: Any) -> tuple[str, ...]:
    """Return the parts of a table's name: of text those between its dots."""
    parts = table.split(".") if isinstance(table, str) else table
    if not isinstance(parts, Sequence) or isinstance(parts, bytes) or not 1 <= len(parts) <= 3:
        raise ValueError(
            f"`table` must be a name such as 'scores' or 'clinic.scores', or a tuple of up to "
            f"three names where one of them has a dot in it; got {shown(table)}."
        )
    return tuple(_checked(part, "table") for part in parts)


def check_scores(scores: Any, policy: Policy) -> list[str]:
    """Return the names of the score columns: one per class, or one of the positive class."""
    names = check_columns([scores] if isinstance(scores, str) else scores, "scores")
    n_classes = len(policy.classes)
    if len(names) == 1 and n_classes == 2:
        policy.order.need_positive("`scores` has one column: it is that of the positive class")
        return names
    if len(names) != n_classes:
        order = ", ".join(map(repr, policy.columns.tolist()[:10]))
        raise ValueError(
            f"`scores` must name one column per class, in the order {order}"
            f"{', ...' if n_classes > 10 else ''}"
            f"{', or one column with the score of the positive class' if n_classes == 2 else ''}; "
            f"got {len(names)}."
        )
    return names


def check_columns(names: Any, argument: str) -> list[str]:
    """Return names of columns, all of them different."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise TypeError(f"`{argument}` must be a list of column names; got {shown(names)}.")
    checked = [_checked(name, argument) for name in names]
    if len(set(checked)) < len(checked):
        raise ValueError(f"`{argument}` names a column twice: {shown(checked)}.")
    for name in checked:
        if name.lower().startswith(OURS):
            raise ValueError(
                f"`{argument}` must not hold names that begin with {OURS!r}, as {name!r} does: "
                f"the query calls its own steps so. Rename the column in a view."
            )
    return checked


def _checked(name: Any, argument: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"`{argument}` must hold names as text; got {shown(name)}.")
    if not name:
        raise ValueError(f"`{argument}` must not hold an empty name.")
    _check_text(name, f"A name in `{argument}`")
    return name


def check_labels(policy: Policy) -> None:
    """Refuse class labels that no text of a query can hold."""
    for label in policy.classes.tolist():
        if isinstance(label, str):
            _check_text(label, "A class label")


def _check_text(text: str, what: str) -> None:
    if "\x00" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError(
            f"{what} holds a character that no SQL text can, a zero byte or half a character: "
            f"{shown(text)}. Rename it."
        )


def output_names(
    policy: Policy,
    dialect: Dialect,
    prefix: str | None,
    theirs: Iterable[str],
    proba: bool,
    answer: bool = False,
) -> list[str]:
    """Return what our columns are called: probabilities, prediction, abstain, answer, policy.

    With no prefix given it is ``abstain_`` if one of them would else be called as a column that
    is known to be there. Engines take upper and lower case for the same, so that is no difference.
    """
    plain = [f"p_{label}" for label in policy.classes.tolist()] if proba else []
    fixed = ["prediction", "abstain", *(["answer"] if answer else []), "policy"]
    plain += fixed
    if prefix is not None:
        _check_text(prefix, "`prefix`")
    known = {name.lower() for name in theirs}
    for before in ("", "abstain_") if prefix is None else (prefix,):
        names = _distinct([before + name for name in plain], dialect, len(fixed))
        if not known & {name.lower() for name in names}:
            return names
    clash = sorted(known & {name.lower() for name in names})
    raise ValueError(
        f"Columns of the table are called as those of the decisions would be: "
        f"{', '.join(map(repr, clash))}. Pass another prefix=..., such as prefix='rule_'."
    )


def _distinct(names: list[str], dialect: Dialect, fixed: int) -> list[str]:
    """Return names short enough, and none of them twice; the last so many stay."""
    found: list[str] = []
    used = {name.lower() for name in names[-fixed:]}
    for number, name in enumerate(names):
        if dialect.name == "bigquery":
            name = _FREE.sub("_", name)
        last = number >= len(names) - fixed
        if _size(name) > _LONGEST or (not last and name.lower() in used):
            end = f"_{number}"
            while _size(name) + len(end) > _LONGEST:
                name = name[:-1]
            name += end
        used.add(name.lower())
        found.append(name)
    return found


def _size(name: str) -> int:
    return len(name.encode())


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
    opinion: str | None = None,
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
    opinion : str, optional
        The column with a reader's answers, NULL where there is none: then ``answer`` comes out
        too, the final answer as of :meth:`abstain.Policy.combine`.

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
    told = [] if opinion is None else check_columns([opinion], "opinion")
    theirs = [*told, *columns] if kept is None else kept
    names = output_names(policy, engine, prefix, theirs, probabilities, opinion is not None)
    steps = Steps(engine, parts, columns, kept)
    smallest = float(np.finfo(dtype).eps)
    if opinion is None and len(columns) == 1 and OneScore.suits(policy):
        proba = _in_steps(steps, policy, smallest, ["proba"]) if probabilities else []
        values = [*proba, *OneScore(steps, policy, dtype).decisions()]
    else:
        wanted = ["prediction", "abstain"]
        values = _in_steps(
            steps, policy, smallest, ["proba", *wanted] if probabilities else wanted, opinion
        )
    values.append(steps.text(policy.sha256))
    return steps.select(dict(zip(names, values, strict=True)))


def _in_steps(
    sql: Steps, policy: Policy, smallest: float, wanted: Sequence[str], opinion: str | None = None
) -> list[Any]:
    """Return columns of any rule, after the steps they take."""
    scores, said = given(len(sql.scores)), given(None, "place")
    classes = policy.classes.tolist()
    first = [sql.score(place) for place in range(len(sql.scores))]
    if opinion is not None:
        first.append(sql.place(opinion, _labels(sql, classes)))
    columns = sql.step(first)
    known: dict[Value, Any] = {scores: columns[: len(sql.scores)], said: columns[-1]}
    fit, made = stated(policy, scores, smallest=smallest)
    asked = [fit, *(getattr(made, name) for name in wanted)]
    if opinion is not None:
        asked.append(answered(policy, made, said, opinion))
    machine = Operations(sql, asked)
    found = dict(zip(["fit", *wanted, "answer"], carried_out(machine, asked, known), strict=False))
    there = machine.named(found["fit"])
    values = [sql.only_where(sql(there), machine.read(one)) for one in found.get("proba", ())]
    if "prediction" in found:
        place = machine.named(found["prediction"])
        values.append(sql.only_where(sql(there), sql.by_number(place, _labels(sql, classes))))
        withheld = machine.named(found["abstain"])
        values.append(sql.where(sql(there), machine.read(withheld), sql.truth(True)))
        if opinion is not None:
            of = (there, withheld, place, machine.named(found["answer"]), columns[-1])
            values.append(_answer(sql, policy, of, opinion))
    return values


def _labels(sql: Steps, classes: Sequence[Any]) -> list[Any]:
    return [sql_label(sql, label) for label in classes]


def _answer(sql: Steps, policy: Policy, of: tuple[str, ...], opinion: str) -> Any:
    """Return the final answer, from whether a row has scores and goes to a person, and places."""
    there, withheld, predicted, final, said = of
    classes, n = policy.classes.tolist(), len(policy.classes)
    # Where the model says nothing, rows are as classes are frequent.
    priors = np.tile(policy.priors, (n, 1))
    team = policy.team or Team.given(None, "replace", policy.classes)
    alone = team.final(priors, {opinion: np.arange(n)}, policy.rule, policy.ratios)[1]
    spoken = sql.at_least(sql(said), sql.whole(0))
    asked = sql.only_where(spoken, sql.by_number(final, _labels(sql, classes)))
    kept = sql.by_number(predicted, _labels(sql, classes))
    otherwise = sql.by_number(said, [sql_label(sql, classes[k]) for k in alone])
    return sql.where(sql(there), sql.where(sql(withheld), asked, kept), otherwise)
