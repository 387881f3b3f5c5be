"""The library's messages in the spelling of the command line.

The library tells who writes Python to ``pass scale="logits"``; whoever reads it in a terminal
has to type ``--scale logits``. A message has its arguments between backticks, and what it offers
to do is with it as ``ways``: both are put in other words here, where messages are printed.
"""

from __future__ import annotations

from abstain.exceptions import Way

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
_NAMES = {name: f"--{name.replace('_', '-')}" for name in OPTIONS} | {
    "abstain": "--cost",
    "classes": "the names of the score columns",
    "groups": "the column of --group",
    "metrics": "--metric",
    "prediction_val": "--prediction",
    "sample_weight": "the weights",
    "y": "the label column",
    "y_source": "the labels of VALIDATION",
    "y_target": "the column of --known-labels",
    "y_true": "the label column",
    "y_val": "the label column of VALIDATION",
}
_SCORES = {
    "proba": "the scores",
    "scores": "the scores",
    "scores_target": "the scores of BATCH",
    "scores_val": "the scores of VALIDATION",
}
# What is not done by an option of the same name.
_WAYS = {
    "Abstainer(score)": "use it with `abstain run --score`",
    "Abstainer.decide": "`abstain run`",
    "KnownPriors": "give the proportions in Python, with KnownPriors(...)",
    "Policy.adapt": "`abstain adapt`",
    "classes": "name the score columns so that each ends in its class, with --scores 'p_*'",
    "drop_certificate": "add --drop-certificate",
    "predictions": "both tables need the column of --prediction",
    "scores": "name one column per class with --scores 'p_*', or the score of the positive class",
    "share": "For 15 percent give 15% or 0.15, for {value} rows give {value}",
    "target": "give e.g. sensitivity=0.85",
}

_COUNTED = " Rows are counted from 0 below the header."


def spelled(told: object) -> str:
    """Return what an error, a warning or a text says, with options instead of arguments."""
    message = str(told)
    for way in getattr(told, "ways", ()):
        python, typed = str(way), _typed(way)
        message = message.replace(python, typed).replace(_begun(python), _begun(typed))
    for name, words in _SCORES.items():
        said = {f"`{name}` rows": f"the rows of {words}", f"`{name}` has": f"{words} have"}
        for python, typed in (said | {f"`{name}` is": f"{words} are", f"`{name}`": words}).items():
            message = message.replace(python, typed)
    for name, words in _NAMES.items():
        message = message.replace(f"`{name}`", words)
    counts = "first is row " in message or "first at row " in message
    if counts and not message.endswith(_COUNTED):
        message += _COUNTED
    return _begun(message) if message.startswith("the ") else message


def _typed(way: Way) -> str:
    """Return a way out as the command line has it."""
    python = str(way)
    if way.name in _WAYS:
        return _WAYS[way.name].format(value=way.value)
    if way.name not in OPTIONS:
        return python.replace("pass ", "give ", 1)
    option = _NAMES[way.name]
    if way.value is not None:
        text = str(way.value)
        option += f" {text}" if text.replace("-", "").replace(".", "").isalnum() else f" '{text}'"
    return f"add {option}" if python.startswith("pass ") else option


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]
