"""Scikit-learn's contract for parameters, kept without importing scikit-learn.

Its base class takes longer to import than most calls take to run. ``sklearn.base.clone``, searches
and pipelines ask for no more than these methods.
"""

from __future__ import annotations

import copy
import functools
import inspect
from typing import Any, NoReturn, Self, TypeVar

from abstain.exceptions import of_sklearn

T = TypeVar("T")


class Parameters:
    """Base of what is made of parameters: ``__init__`` only assigns them, by their names."""

    @classmethod
    @functools.cache
    def _defaults(cls) -> dict[str, Any]:
        """Return the parameters with their defaults, those handed on to a base included."""
        found: dict[str, Any] = {}
        for kind in cls.__mro__:
            if kind is object or "__init__" not in vars(kind):
                continue
            parameters = [*inspect.signature(vars(kind)["__init__"]).parameters.values()][1:]
            for one in parameters:
                if one.kind is not one.VAR_KEYWORD:
                    found.setdefault(one.name, one.default)
            if all(one.kind is not one.VAR_KEYWORD for one in parameters):
                break
        return found

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep`` also those of parameters that have some."""
        params = {name: getattr(self, name) for name in sorted(self._defaults())}
        if deep:
            for name, value in [*params.items()]:
                if hasattr(value, "get_params") and not isinstance(value, type):
                    params |= {f"{name}__{key}": one for key, one in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, or those of parameters as ``parameter__name``; return the object."""
        known = self.get_params(deep=False)
        for key, value in params.items():
            name, inner, rest = key.partition("__")
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for {type(self).__name__}; there are: "
                    f"{', '.join(known)}."
                )
            if inner:
                known[name].set_params(**{rest: value})
            else:
                setattr(self, name, value)
                known[name] = value
        return self

    def __repr__(self) -> str:
        defaults = self._defaults()
        shown = ", ".join(
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if not (value is defaults[name] or repr(value) == repr(defaults[name]))
        )
        return f"{type(self).__name__}({shown})"


def clone(thing: T) -> T:
    """Return a new object of the same parameters, not fitted; anything else is copied."""
    if isinstance(thing, type) or not hasattr(thing, "get_params"):
        return copy.deepcopy(thing)
    params = {name: clone(value) for name, value in thing.get_params(deep=False).items()}
    return type(thing)(**params)


def raise_not_fitted(thing: object) -> NoReturn:
    """Raise scikit-learn's own error for what is used before it is fitted."""
    raise of_sklearn("NotFittedError", ValueError)(
        f"This {type(thing).__name__} instance is not fitted yet. Call 'fit' with appropriate "
        f"arguments before using this estimator."
    )
