"""Scores by name."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from abstain._inputs import FloatArray
from abstain._numerics import Registry
from abstain._schema import NAME, Either, Numbers, Whole, proportions
from abstain.exceptions import ArgumentError, PolicyError, Way
from abstain.program import Value
from abstain.scores._functions import (
    codoc,
    distance_from_half,
    dropout_variance,
    entropy,
    gini,
    js_divergence,
    margin,
    max_probability,
    random_order,
)

#: No score of a row but an interval chosen on the validation data; see ``selection``.
CLASS_THRESHOLDS = "class-thresholds"
#: A score of several predictions for each row.
DROPOUT_VARIANCE = "dropout-variance"


# What readers are better by at the least.
_LEAST_ADVANTAGE = 1e-9
_WHY_NOT = {
    CLASS_THRESHOLDS: "it is an interval, chosen on validation data",
    DROPOUT_VARIANCE: "it cannot be told from one prediction per row",
    "random": "it is a hash of the very bytes of the probabilities",
}


def _no_score(proba: FloatArray) -> FloatArray:
    raise ArgumentError(
        f"`score` {CLASS_THRESHOLDS!r} is no function of a row: it chooses an interval on "
        f"validation data. Pass it to Abstainer(score=...).",
        "score",
        ways=[Way("Abstainer(score)", python="pass it to Abstainer(score=...)")],
    )


#: What a policy file holds of a score.
KEYS = Either(text=NAME, object={"own": NAME})
# What a score may be told beside the probabilities, and how.
TOLD = {
    "priors": proportions("classes", plain=True),
    "seed": Whole(0, 2**63 - 1),
    "advantages": Numbers((2, "knots"), plain=True),
    "ratios": Numbers(("classes",), low=0, plain=True),
}

_SCORES: Registry[Callable[..., Any]] = Registry(
    "score",
    known_as={
        "max-probability": "confidence max-prob maxprob msp softmax softmax-response",
        "max-probability entropy": "uncertainty",
        "js-divergence": "js",
        "dropout-variance": "mc-dropout",
    },
    remedy="A score of your own is known after abstain.scores.register(function).",
)
_BUILT_IN: dict[str, Callable[..., Any]] = {
    CLASS_THRESHOLDS: _no_score,
    "distance-from-half": distance_from_half,
    "codoc": codoc,
    DROPOUT_VARIANCE: dropout_variance,
    "entropy": entropy,
    "gini": gini,
    "js-divergence": js_divergence,
    "margin": margin,
    "max-probability": max_probability,
    "random": random_order,
}
for _name, _score in _BUILT_IN.items():
    _SCORES.add(_name, _score)


def registered() -> list[str]:
    """Return the names of the scores, sorted."""
    return [*_SCORES]


def register(score: Callable[..., Any], name: str | None = None) -> None:
    """Make a score of your own known by its name, to ``get`` and to policies that are loaded.

    Parameters
    ----------
    score : callable
        Takes probabilities of shape (n, n_classes) and returns a number for each row, higher for
        less certain rows. One with a parameter ``priors`` is given the class proportions by that
        name, and one with ``seed`` a number. One registered before under the same name is
        replaced.
    name : str, optional
        What to call it; the function's own name when not given.

    Raises
    ------
    ValueError
        If the name is that of a built-in score.

    Examples
    --------
    >>> from abstain import scores
    >>> def doubt(proba):
    ...     return 1 - proba.max(axis=1)
    >>> scores.register(doubt)
    >>> scores.get("doubt") is doubt
    True
    """
    if not callable(score):
        raise TypeError(f"`score` must be a function of the probabilities; got {score!r}.")
    _SCORES.register(name or _name_of(score), score)


def get(score: str | Callable[..., FloatArray]) -> Callable[..., Any]:
    """Return a score by its registered name; a function is returned as it is.

    Most are functions of the probabilities alone. ``"js-divergence"`` also takes the class
    proportions, ``"random"`` a seed and ``"dropout-variance"`` draws of test-time dropout.
    """
    if callable(score):
        return score
    return _SCORES[score]


def told(score: str | Callable[..., FloatArray]) -> set[str]:
    """Return what a score is told beside the probabilities."""
    try:
        return {*inspect.signature(_found(score)).parameters} & {*TOLD}
    except ValueError:
        # Of a function in another language nobody knows.
        return set()


def least(score: str | Callable[..., FloatArray]) -> float:
    """Return the least score that is worth withholding by, however much may be."""
    return _LEAST_ADVANTAGE if score == "codoc" else -math.inf


def check_told(score: str | Callable[..., FloatArray], parameters: dict[str, Any]) -> None:
    """Raise unless a file holds what a score is told; of one that is not known here, anything."""
    known = score in _SCORES if isinstance(score, str) else not isinstance(_found(score), _Named)
    due = told(score) if known else {*parameters}
    if due != {*parameters}:
        raise ValueError(
            f"`withhold.parameters` of {_name_of(score)!r} must be {', '.join(due) or 'none'}; "
            f"got {', '.join(parameters) or 'none'}"
        )


def operations_of(score: str | Callable[..., FloatArray]) -> Callable[..., Value]:
    """Return what states a score, for whatever decides by it; raise where nothing does."""
    stated: Callable[..., Value] | None = getattr(_found(score), "operations", None)
    if stated is not None:
        return stated
    name = _name_of(score)
    own = "it is a function of your own, and code is no list of them (scores.of_operations)"
    why = _WHY_NOT.get(name, own)
    known = [one for one in registered() if hasattr(get(one), "operations")]
    raise TypeError(
        f"`score`: No operations are known for {name!r}: {why}. So nothing but the library can "
        f"decide by it. There are for {', '.join(map(repr, known))}."
    )


def is_own(score: str | Callable[..., FloatArray]) -> bool:
    """Tell whether a score is the user's, so that a policy can name it but not hold it."""
    return not isinstance(to_plain(score), str) or _SCORES.is_own(str(score))


def to_plain(score: str | Callable[..., FloatArray]) -> str | dict[str, str]:
    """Return a score as plain data: its registered name, or whose function it is."""
    if isinstance(score, str):
        return score
    for name in _SCORES:
        if score is _SCORES[name] and not _SCORES.is_own(name):
            return name
    return {"own": score.name if isinstance(score, _Named) else _name_of(score)}


def from_plain(data: str | dict[str, str]) -> str | Callable[..., FloatArray]:
    """Return the score that ``to_plain`` described."""
    return data if isinstance(data, str) else _Named(data["own"])


class _Named:
    """A user's function of which a policy file holds the name; it is found when it is called."""

    def __init__(self, name: str) -> None:
        self.name = self.__name__ = name

    def __call__(self, proba: FloatArray, **parameters: Any) -> FloatArray:
        if not _SCORES.is_own(self.name):
            raise PolicyError(
                f"The policy withholds by the score {self.name!r}, a function of its maker's, "
                f"which is not known here and without which it cannot decide. Call "
                f"abstain.scores.register(function, {self.name!r}) first."
            )
        values: FloatArray = _SCORES[self.name](proba, **parameters)
        return values


def _found(score: str | Callable[..., FloatArray]) -> Callable[..., Any]:
    """Return a score, also one of which a policy file held the name, if it is known by now."""
    if isinstance(score, _Named):
        return _SCORES[score.name] if _SCORES.is_own(score.name) else score
    return get(score)


def _name_of(score: str | Callable[..., Any]) -> str:
    given = score if isinstance(score, str) else getattr(score, "__name__", type(score).__name__)
    return str(given)
