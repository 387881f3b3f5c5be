"""The library's messages in the spelling of the command line.

The library tells who writes Python to ``pass scale="logits"``; whoever reads it in a terminal
has to type ``--scale logits``. Messages are turned here, at the one point where they are printed.
"""

from __future__ import annotations

import re
from functools import partial

# The arguments of the library that an option of the same name stands for.
OPTIONS = (
    "at_most",
    "budget",
    "calibration",
    "confidence",
    "cost",
    "decision",
    "errors",
    "level",
    "methods",
    "metric",
    "missing",
    "positive",
    "prediction",
    "prior_range",
    "random_state",
    "repeats",
    "scale",
    "score",
    "shift",
    "target",
    "value_of_metric",
)
# Arguments that are columns of a file, or have another name on the command line.
_NAMES = {
    "abstain": "--cost",
    "classes": "the names of the score columns",
    "groups": "the column of --group",
    "metrics": "--metric",
    "prediction_val": "--prediction",
    "proba": "the scores",
    "sample_weight": "the weights",
    "scores": "the scores",
    "scores_target": "the scores of BATCH",
    "scores_val": "the scores of VALIDATION",
    "y": "the label column",
    "y_source": "the labels of VALIDATION",
    "y_target": "the column of --known-labels",
    "y_true": "the label column",
    "y_val": "the label column of VALIDATION",
}
_COLUMNS = "name the score columns so that each ends in its class, with --scores 'p_*'"
_NO_OPTION = "in Python, use KnownPriors(...)"

# In this order: whole advices first, then what is left of single arguments.
_TABLE = (
    (r"[Pp]ass classes=\[\.\.\.\] with the label of each column, in order", _COLUMNS),
    (r"[Pp]ass classes=\[\.\.\.\] if that is wrong", f"{_COLUMNS} if that is wrong"),
    (r"[Pp]ass (?:shift=)?KnownPriors\([^)]*\)(, or one number for each class)?", _NO_OPTION),
    (r"(give the proportions) with shift=KnownPriors\(\.\.\.\)",
     r"\1 in Python, with KnownPriors(...)"),
    (r'[Pp]ass their proportions \(shift "known"\) or no shift \(shift "none"\)',
     "give --shift none"),
    (r'[Pp]ass method="bootstrap", or use shift "em"', "give --shift em"),
    (r"[Pp]ass drop_certificate=True", "add --drop-certificate"),
    (r"Pass it to Abstainer\(score=\.\.\.\)", "Use it with `abstain run --score`"),
    (r"[Pp]ass one column per class, or a one-dimensional array with the score of the positive "
     r"class",
     "name one column per class with --scores 'p_*', or the score of the positive class"),
    (r"Pass it, or both columns", "Name it, or both columns, with --scores"),
    (r"(`scores(?:_val|_target)?`) rows\b", r"the rows of \1"),
    (r"(`scores(?:_val|_target)?`) has\b", r"\1 have"),
    (r"(`scores(?:_val|_target)?`) is\b", r"\1 are"),
    (r"with Abstainer\.decide\(\), from a shift estimator", "with `abstain run`, with a --shift"),
    (r"for one example pass the fraction 1 / n", "for one row give the fraction 1 / n"),
    (r"For 15 percent pass 0\.15, for (\d+) examples pass \d+",
     r"For 15 percent give 15% or 0.15, for \1 rows give \1"),
    (r"such as Cost\(abstain=[^;]*", "such as 40"),
    (r"[Pp]ass e\.g\. \{'sensitivity': 0\.85\}", "give e.g. sensitivity=0.85"),
    (r"[Pp]ass `confidence` (?:to fit\(\)|with it)", "add --confidence"),
    (r"[Pp]ass `errors` or `value_of_metric`, not both", "Give --errors or --value-of-metric, not "
     "both"),
    (r"[Pp]ass exactly one of", "Give exactly one of"),
    (r"[Pp]ass at least one row", "it needs at least one row"),
    (r"[Pp]ass the predictions for both sets, or for none to take the model's own",
     "both tables need the column of --prediction"),
    (r"\bcall (?:Policy\.|policy\.)?adapt\(\)", "run `abstain adapt`"),
    (r"`?\b(?:Policy\.|policy\.)?adapt\(\)`?", "`abstain adapt`"),
    (r"`?\b(?:Abstainer\.|abstainer\.)?decide\(\)`?", "`abstain run`"),
    (r"first is row (\d+)", r"first is row \1, counted from 0 below the header"),
    (r"first at row (\d+)", r"first at row \1, counted from 0 below the header"),
)  # fmt: skip
_GIVEN = re.compile(
    rf"""(?P<verb>\b[Pp]ass[ ])?`?\b(?P<name>{"|".join(OPTIONS)})=(?P<value>
    "[^"]*"|'[^']*'|[-+.\w]+(?:\.\.\.)?|\.\.\.)`?""",
    re.VERBOSE,
)
_QUOTED = re.compile(r"(?P<verb>\b[Pp]ass )?`(?P<name>[a-z_]+)`")


def spelled(message: str) -> str:
    """Return a message of the library with options instead of arguments."""
    for pattern, words in _TABLE:
        message = re.sub(pattern, partial(_expanded, words), message)
    message = _GIVEN.sub(_as_option, message)
    message = _QUOTED.sub(_as_name, message)
    message = re.sub(r"\b[Pp]ass (?=\S)", partial(_expanded, "give "), message)
    return message[:1].upper() + message[1:] if message.startswith("the ") else message


def _expanded(words: str, found: re.Match[str]) -> str:
    said = found.expand(words)
    return said[:1].upper() + said[1:] if found[0][0].isupper() else said


def _as_option(found: re.Match[str]) -> str:
    value = found["value"]
    if value[0] in "\"'":
        value = value[1:-1] if re.fullmatch(r"[-+.\w]+", value[1:-1]) else f"'{value[1:-1]}'"
    option = f"--{found['name'].replace('_', '-')} {value}".replace(" ...", "")
    return _after(found["verb"], option)


def _as_name(found: re.Match[str]) -> str:
    name = found["name"]
    if name in OPTIONS:
        return _after(found["verb"], f"--{name.replace('_', '-')}")
    return _after(found["verb"], _NAMES.get(name, f"`{name}`"))


def _after(verb: str | None, words: str) -> str:
    """Return words after the verb of the command line, if there was one before them."""
    return words if not verb else f"{'Add' if verb[0] == 'P' else 'add'} {words}"
