"""Whose case a person is shown: where the opinion is expected to be worth most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from abstain._inputs import FloatArray, IntArray, both_columns
from abstain._schema import FOUND, Flag, Keys, Number
from abstain.program import Value, constant, exp, given, log, maximum, on_rows
from abstain.regions import ThresholdRegion, built_in
from abstain.team._dependence import LEAST


def hanging(
    proba: Value, chances: FloatArray, dependence: float, ratios: FloatArray
) -> tuple[Value, Value]:
    """State blocks whose products, with the chances, are what class and answer are together.

    That of the class i and the answer a is ``first[i] * chances[i, a] * second[a]``.
    """
    if not dependence:
        return proba, constant(np.ones(len(chances)))
    before = proba * (1 / np.maximum(ratios, np.finfo(np.float64).eps))
    before = before / before.total()
    likely = exp(log(maximum(before, LEAST)) * dependence)
    return proba / (likely @ chances.T), likely


@built_in
@dataclass(frozen=True, eq=False)
class OpinionGain(ThresholdRegion):
    r"""Rows about which an opinion is expected to be worth the most.

    Parameters
    ----------
    worth : ndarray of shape (n_classes, n_actions)
        Entry (i, j): what doing j is worth where class i is true. With ``replace`` an action is
        an answer; otherwise the best of them is done, after the opinion as without it.
    chances : ndarray of shape (n_classes, n_classes)
        Entry (i, a): how often the reader answers a where class i is true, were all probabilities
        alike.
    dependence : float
        How far answers hang on the model; see :class:`abstain.team.Reviewer`.
    ratios : ndarray of shape (n_classes,)
        New over old class proportions, which such answers do not know.
    replace : bool
        Whether the answer is taken for the verdict, and not combined with the probabilities.
    threshold : float
        Withhold where the gain is at least this.

    Notes
    -----
    With p the probabilities, R the chances and S the worth, the gain of an opinion is

    .. math:: \sum_a \max_j \sum_i p_i R_{ia} S_{ij} - \max_j \sum_i p_i S_{ij},

    which is never below 0; with ``replace`` it is what the answer is worth less what the
    prediction is.
    """

    kind: ClassVar[str] = "opinion-gain"
    keys: ClassVar[Keys] = {
        "worth": ("classes", "actions"),
        "chances": ("classes", "classes"),
        "dependence": Number(-10, 10),
        "ratios": ("classes",),
        "replace": Flag(),
        "threshold": FOUND,
    }
    reads_prediction: ClassVar[bool] = True
    score_label: ClassVar[str] = "expected gain from an opinion about the case"

    worth: FloatArray
    chances: FloatArray
    dependence: float
    ratios: FloatArray
    replace: bool
    threshold: float

    def score(self, proba: FloatArray, prediction: IntArray) -> FloatArray:
        """Return what an opinion about each row is expected to gain."""
        rows, place = given(self.worth.shape[0]), given(None, "place")
        return on_rows(self._gain(rows, place), {rows: both_columns(proba), place: prediction})

    def operations(self, proba: Value, prediction: Value) -> Value:
        """State about which rows an opinion is worth enough."""
        return self._gain(proba, prediction).reaches(self.threshold)

    def _gain(self, proba: Value, prediction: Value) -> Value:
        shares, likely = hanging(proba, self.chances, self.dependence, self.ratios)
        if self.replace:
            answered = (shares @ (self.chances * self.worth)) * likely
            return answered.total() - (proba @ self.worth).pick(prediction)
        found = -(proba @ self.worth).largest()
        for answer in range(len(self.chances)):
            joint = (shares @ (self.chances[:, [answer]] * self.worth)).largest()
            found = found + (joint * likely[answer] if self.dependence else joint)
        return maximum(found, 0.0)

    def describe(self) -> str:
        """Say in a few words what is withheld."""
        return f"expected gain from an opinion at least {self.threshold:.4g}"

    def in_words(self, positive: str) -> str:
        """Say in a sentence which cases are referred."""
        return "cases about which a person's opinion is expected to help most are referred"

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the region that ``to_dict`` described."""
        return cls(
            **{key: data[key] for key in cls.keys} | {"threshold": cls._read_threshold(data)}
        )
