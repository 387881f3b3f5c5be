"""The errors and warnings that are outcomes rather than wrong input.

Wrong input raises ``ValueError`` or ``TypeError``; where one argument is wrong it is an
``ArgumentError``, which is a ``ValueError``. An optional package that is missing raises
``ImportError``. What the data themselves do not allow is under ``AbstainError``::

    AbstainError
    ├── NotIdentifiable      the class proportions cannot be told from these scores
    ├── PolicyError          a policy file is cut, edited, or of an unknown schema
    └── TargetUnreachable    no abstention reaches the target

    AssumptionWarning        the data contradict what the method rests on; the evidence is given
    RepairWarning            input was repaired (clipped, dropped); the message has the count
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

__all__ = [
    "AbstainError",
    "ArgumentError",
    "AssumptionWarning",
    "NotIdentifiable",
    "PolicyError",
    "RepairWarning",
    "TargetUnreachable",
]


_P = ParamSpec("_P")
_R = TypeVar("_R")


class Way(NamedTuple):
    """A way out that a message offers, as Python writes it: ``pass scale="logits"``.

    The command line has ways of its own. It finds this one in the message as ``str`` gives it.
    """

    name: str
    value: Any = None
    #: As Python writes it, where that is more than to pass an argument.
    python: str = ""

    def __str__(self) -> str:
        value = f'"{self.value}"' if isinstance(self.value, str) else repr(self.value)
        return self.python or f"pass {self.name}={value}"


class _WithWays(Exception):  # noqa: N818 - what errors and warnings share
    """What says something, and offers ways out."""

    def __init__(
        self, message: str = "", argument: str | None = None, *, ways: Iterable[Way] = ()
    ) -> None:
        super().__init__(message)
        self.argument, self.ways = argument, tuple(ways)


class ArgumentError(_WithWays, ValueError):
    """An argument is not as it must be, or does not go with another.

    Attributes
    ----------
    argument : str or None
        The argument; in the message it stands between backticks, as all do.
    ways : tuple of Way
        What the message offers to pass or to call instead.
    """


class AbstainError(_WithWays):
    """Base of the errors that say what the data do not allow."""


class NotIdentifiable(AbstainError):  # noqa: N818 - named for the outcome
    """The class proportions cannot be told apart from these scores.

    Attributes
    ----------
    columns : tuple of int
        The columns of the classes in question.
    """

    def __init__(
        self, message: str, columns: tuple[int, ...] = (), *, ways: Iterable[Way] = ()
    ) -> None:
        super().__init__(message, ways=ways)
        self.columns = columns


class PolicyError(AbstainError):
    """A policy file cannot be trusted or understood."""


class TargetUnreachable(AbstainError):  # noqa: N818 - named for the outcome
    """No abstention, however large, reaches the target."""


class AssumptionWarning(_WithWays, UserWarning):
    """The data contradict an assumption that the results rest on."""


class RepairWarning(_WithWays, UserWarning):
    """Input was repaired in a way its owner should know about."""


_HERE = str(Path(__file__).parent)
# What may stand between the user's line and the package, such as a search over parameters.
_BETWEEN = {"joblib", "numpy", "sklearn"}


def warn_user(message: str, category: type[Warning], *, ways: Iterable[Way] = ()) -> None:
    """Warn at the line of the user's that called the library, however deep the call went."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (
        frame.f_code.co_filename.startswith(_HERE)
        or str(frame.f_globals.get("__name__")).partition(".")[0] in _BETWEEN
    ):
        frame = frame.f_back
    warnings.warn_explicit(
        category(message, ways=ways) if issubclass(category, _WithWays) else message,
        category,
        filename=frame.f_code.co_filename,
        lineno=frame.f_lineno,
        module=frame.f_globals.get("__name__"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def deprecated(
    instead: str, *, since: str, goes: str
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Mark a function that is to go: it works, and warns what to use instead and when it goes.

    The page about compatibility promises two minor releases between ``since`` and ``goes``.
    """

    def marked(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @functools.wraps(function)
        def warning(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            warn_user(
                f"`{function.__name__}` is deprecated since {since} and goes in {goes}: "
                f"use {instead}.",
                FutureWarning,
            )
            return function(*args, **kwargs)

        return warning

    return marked


@contextmanager
def extra(name: str, needs: str) -> Iterator[None]:
    """Name the extra that brings what is imported inside, where it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{needs}, which comes with an extra: pip install 'abstain[{name}]'"
        ) from error


def of_sklearn(name: str, otherwise: type[Exception]) -> Any:
    """Return an exception of scikit-learn's, which it expects of us; or its base without it."""
    try:
        return getattr(import_module("sklearn.exceptions"), name)
    except ModuleNotFoundError:
        return otherwise
