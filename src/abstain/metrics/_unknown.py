"""What stands in a loaded policy for a metric of its maker's that is not known here.

A policy decides without its metric; whatever does need it says how to make it known.
"""

from __future__ import annotations

from typing import Any, ClassVar, Never

from abstain.exceptions import PolicyError
from abstain.metrics._base import Metric

__all__ = ["UnknownMetric"]


class UnknownMetric(Metric):
    """A metric of which a policy file holds the name alone.

    Parameters
    ----------
    data : dict
        What the file says of it.
    """

    #: What a file tells of a metric beside its name.
    told: ClassVar[tuple[str, ...]] = ("greater_is_better", "binary_only")
    known: ClassVar[bool] = False

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        for key in self.told:
            # Files of version 0.1 do not tell.
            setattr(self, key, data.get(key, getattr(Metric, key)))

    @property
    def name(self) -> str:
        """The name in the file."""
        return str(self.data["name"])

    def to_dict(self) -> dict[str, Any]:
        """Return what the file said."""
        return self.data

    def _raise(self, *_: Any, **__: Any) -> Never:
        raise PolicyError(
            f"The metric {self.name!r} of this policy is a function of its maker's, which is not "
            f"known here: decisions need it not, but estimates, the gain of a row and adapt() "
            f"do. Call abstain.metrics.register(metric) with a metric of that name, then load "
            f"the policy again."
        )

    _expected = _observed = _draws = _choose = _raise
    _moved_draws = _misfits = _before_and_after = _summarised = _raise

    def __repr__(self) -> str:
        return f"<metric {self.name}, not known here>"
