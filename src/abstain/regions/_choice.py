"""Choice: what to do with a batch, as a region to withhold and a rule to predict the rest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask
from abstain.regions._base import Region
from abstain.rules import DecisionRule

__all__ = ["Choice"]

_NOT_READ: IntArray = np.empty(0, dtype=np.intp)


class Choice(NamedTuple):
    """Whom to withhold, and how to predict the rest."""

    region: Region
    rule: DecisionRule

    def apply(self, proba: FloatArray) -> tuple[IntArray, Mask]:
        """Return the predicted column of each row, and whether it is withheld."""
        prediction = self.rule.predict(proba)
        return prediction, self.region.contains(proba, prediction)

    def predicted(self, proba: FloatArray) -> tuple[IntArray, Mask]:
        """Return the predicted column of each row, and that none is withheld."""
        return self.rule.predict(proba), np.zeros(len(proba), dtype=np.bool_)

    def withheld(self, proba: FloatArray) -> Mask:
        """Return whether each row is withheld; nothing is predicted where that is not needed."""
        if self.region.reads_prediction:
            return self.apply(proba)[1]
        return self.region.contains(proba, _NOT_READ)
