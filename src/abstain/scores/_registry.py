"""Scores by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from abstain._inputs import FloatArray
from abstain._numerics import Registry
from abstain.exceptions import ArgumentError, PolicyError, Way
from abstain.program import Value
from abstain.scores._functions import (
    distance_from_half,
    dropout_variance,
    entropy,
    js_divergence,
    margin,
    max_probability,
    random_order,
)

#: No score of a row but an interval chosen on the validation data; see ``selection``.
CLASS_THRESHOLDS = "class-thresholds"
#: A score of several predictions for each row.
DROPOUT_VARIANCE = "dropout-variance"


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


_SCORES: Registry[Callable[..., Any]] = Registry(
    "score",
    [
        (CLASS_THRESHOLDS, _no_score),
        ("distance-from-half", distance_from_half),
        (DROPOUT_VARIANCE, dropout_variance),
        ("entropy", entropy),
        ("js-divergence", js_divergence),
        ("margin", margin),
        ("max-probability", max_probability),
        ("random", random_order),
    ],
    known_as={
        "confidence": ("max-probability",),
        "max-prob": ("max-probability",),
        "maxprob": ("max-probability",),
        "msp": ("max-probability",),
        "softmax": ("max-probability",),
        "softmax-response": ("max-probability",),
        "uncertainty": ("max-probability", "entropy"),
        "js": ("js-divergence",),
        "mc-dropout": ("dropout-variance",),
    },
)


_own: dict[str, Callable[..., Any]] = {}


def registered() -> list[str]:
    """Return the names of the scores, sorted."""
    return sorted([*_SCORES, *_own])


def register(score: Callable[..., Any], name: str | None = None) -> None:
    """Make a score of your own known by its name, to ``get`` and to policies that are loaded.

    Parameters
    ----------
    score : callable
        Takes probabilities of shape (n, n_classes) and returns a number for each row, higher for
        less certain rows. One registered before under the same name is replaced.
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
    name = name or _name_of(score)
    if name in _SCORES:
        raise ValueError(f"`name` {name!r} is that of a built-in score; choose another.")
    _own[name] = score


def get(score: str | Callable[..., FloatArray]) -> Callable[..., Any]:
    """Return a score by its registered name; a function is returned as it is.

    Most are functions of the probabilities alone. ``"js-divergence"`` also takes the class
    proportions, ``"random"`` a seed and ``"dropout-variance"`` draws of test-time dropout.
    """
    if callable(score):
        return score
    if not isinstance(score, str) or score in _SCORES:
        return _SCORES[score]
    if score in _own:
        return _own[score]
    raise ValueError(
        f"{_SCORES.complaint(score, shown=registered())} "
        f"A score of your own is known after abstain.scores.register(function)."
    )


def operations_of(score: str | Callable[..., FloatArray]) -> Callable[..., Value]:
    """Return what states a score, for whatever decides by it; raise where nothing does."""
    found = _own.get(score.name, score) if isinstance(score, _Named) else get(score)
    stated: Callable[..., Value] | None = getattr(found, "operations", None)
    if stated is not None:
        return stated
    name = score if isinstance(score, str) else _name_of(score)
    own = "it is a function of your own, and code is no list of them (scores.of_operations)"
    why = _WHY_NOT.get(name, own)
    known = [one for one in registered() if hasattr(get(one), "operations")]
    raise TypeError(
        f"`score`: No operations are known for {name!r}: {why}. So nothing but the library can "
        f"decide by it. There are for {', '.join(map(repr, known))}."
    )


def is_own(score: str | Callable[..., FloatArray]) -> bool:
    """Tell whether a score is the user's, so that a policy can name it but not hold it."""
    return not isinstance(to_plain(score), str) or score in _own


def to_plain(score: str | Callable[..., FloatArray]) -> str | dict[str, str]:
    """Return a score as plain data: its registered name, or whose function it is."""
    if isinstance(score, str):
        return score
    for name in _SCORES:
        if score is _SCORES[name]:
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
        if self.name not in _own:
            raise PolicyError(
                f"The policy withholds by the score {self.name!r}, a function of its maker's, "
                f"which is not known here and without which it cannot decide. Call "
                f"abstain.scores.register(function, {self.name!r}) first."
            )
        values: FloatArray = _own[self.name](proba, **parameters)
        return values


def _name_of(score: Callable[..., Any]) -> str:
    return str(getattr(score, "__name__", type(score).__name__))
