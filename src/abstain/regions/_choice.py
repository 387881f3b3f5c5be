"""Choice: what to do with a batch, as a region to withhold and a rule to predict the rest."""

from typing import NamedTuple

from abstain._inputs import FloatArray, IntArray, Mask
from abstain.regions._base import Region
from abstain.rules import DecisionRule

__all__ = ["Choice"]


class Choice(NamedTuple):
    """Whom to withhold, and how to predict the rest."""

    region: Region
    rule: DecisionRule

    def apply(self, proba: FloatArray) -> tuple[IntArray, Mask]:
        """Return the predicted column of each row, and whether it is withheld."""
        prediction = self.rule.predict(proba)
        return prediction, self.region.contains(proba, prediction)
