"""What the figures for a batch rest on: what was assumed, the evidence, and what speaks against.

The paper assumes label shift (its Section 2). Here what may have happened is weighed; or, where
one thing was taken for granted, that is said and checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from abstain._display import block, sentence
from abstain._display import doubts as doubts_shown
from abstain._inputs import FloatArray
from abstain._schema import SHARE, Either, Keys, ListOf, OneOf, Text, Whole
from abstain.shift._base import Assumed, ShiftEstimator
from abstain.shift._check import CHECK_KEYS, CellCounts, LabelShiftCheck, label_shift_check
from abstain.shift._doubts import doubts
from abstain.shift._worlds import WORLDS, World
from abstain.summaries import BatchSummary, LabelledSummary

# Worlds that are worth a word, and one that leaves no room for others.
_WORTH_SAYING = 0.05
_SURE = 0.95
# How often chance may make a batch look like nothing that was weighed.
_UNEXPLAINED = 0.01

#: What each world is called in a sentence.
WORLDS_IN_WORDS: dict[World, str] = {
    "nothing": "nothing moved",
    "label": "label shift",
    "scores": "the scores alone moved",
    "both": "class proportions and scores moved",
}

_IN_WORDS: dict[Assumed, str] = {
    "weighed": "What may have happened was weighed.",
    "label-shift": (
        "Label shift was assumed: class proportions moved, and each class looks as it did."
    ),
    "same-given-score": (
        "Nothing was adapted: what a score means was taken to be what it was on the validation "
        "data."
    ),
    "no-shift": "No shift was assumed.",
    "known-proportions": "The given class proportions were taken as they are.",
    "as-made": (
        "These rows do not tell what happened to them: the figures rest on the class proportions "
        "that the rule was made for."
    ),
}

#: What a policy file holds of an assumption.
ASSUMPTION_KEYS: Keys = {
    "assumed": OneOf(*_IN_WORDS),
    "check": Either(null=None, object=CHECK_KEYS),
    "doubts": ListOf(Text(10_000)),
    "n_labels?": Whole(0),
    "worlds?": Either(null=None, object=dict.fromkeys(WORLDS, SHARE)),
    "explained?": Either(null=None, number=SHARE),
}


@dataclass(frozen=True, eq=False, repr=False)
class Assumption:
    """What the figures for a batch rest on, and the evidence.

    Attributes
    ----------
    assumed : {"weighed", "label-shift", "same-given-score", "no-shift", "known-proportions", \
            "as-made"}
        What the adapted probabilities rest on; "weighed" where all that may have happened has
        its part in them, and "as-made" where a rule was applied to rows that do not tell.
    worlds : dict of str to float, or None
        How probable it is that nothing moved, that class proportions did (label shift), that the
        scores alone did, and that both did; None where it was not weighed.
    evidence : LabelShiftCheck, CellCounts or None
        The check of label shift, or the numbers of rows that it is made from when it is asked for.
    explained : float or None
        How often chance alone gives counts as odd as these in the world that explains them best;
        None where it was not weighed.
    doubts : tuple of str
        What speaks against the figures, with advice; empty if all is well.
    n_labels : int
        How many known labels of the batch were used and compared with the probabilities.
    """

    assumed: Assumed
    worlds: dict[World, float] | None = None
    evidence: LabelShiftCheck | CellCounts | None = None
    explained: float | None = None
    doubts: tuple[str, ...] = ()
    n_labels: int = 0

    @cached_property
    def check(self) -> LabelShiftCheck | None:
        """Whether label shift explains the scores; None without labels. A figure, no switch."""
        return None if self.evidence is None else self.evidence.checked()

    @property
    def p_value(self) -> float | None:
        """How often chance alone gives so bad a fit under label shift; None where unchecked."""
        check = self.check
        return None if check is None or check.degrees_of_freedom == 0 else check.p_value

    @property
    def fits(self) -> bool:
        """Whether what the figures rest on explains the batch's scores, or was not checked."""
        if self.explained is not None:
            return self.explained >= _UNEXPLAINED
        return self.check is None or self.check.fits

    def summary(self) -> str:
        """Say in plain words what was assumed, and why."""
        said = _IN_WORDS[self.assumed] if self.worlds is None else worlds_in_words(self.worlds)
        if self.n_labels:
            said += f" {self.n_labels} known labels of the batch were used."
        if self.worlds is not None or self.assumed == "as-made":
            return said
        if self.check is None:
            return f"{said} Whether it is label shift was not checked."
        if self.p_value is None:
            return f"{said} Too few rows, or scores with too few values, to check for label shift."
        chance = "p below 0.001" if self.p_value < 1e-3 else f"p = {self.p_value:.3f}"
        if self.check.fits:
            return f"{said} Label shift explains the scores ({chance})."
        return f"{said} Label shift does not explain the scores ({chance})."

    def __repr__(self) -> str:
        against = f", {len(self.doubts)} doubts" if self.doubts else ""
        return f"<Assumption: {self.assumed}{against}; print(assumption.summary())>"

    def _repr_html_(self) -> str:
        return block("Assumption", "that the figures rest on", self.html())

    def html(self) -> str:
        """Return what was assumed, and what speaks against it, for a notebook."""
        return sentence(self.summary()) + doubts_shown(self.doubts)

    def to_dict(self) -> dict[str, Any]:
        """Return the assumption as plain data."""
        check = self.check
        weighed = {"worlds": self.worlds, "explained": self.explained}
        return {
            "assumed": self.assumed,
            **({} if self.worlds is None else weighed),
            "check": None if check is None else {**check.to_dict(), "level": check.level},
            "doubts": list(self.doubts),
            **({"n_labels": self.n_labels} if self.n_labels else {}),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the assumption that ``to_dict`` described."""
        if "assumed" not in data:
            # Version 0.1 stored the check alone, of policies that were adapted.
            data = {"assumed": "label-shift", "check": data, "doubts": []}
        if data["assumed"] not in _IN_WORDS:
            raise ValueError(
                f"`assumed` must be one of {', '.join(_IN_WORDS)}; got {data['assumed']!r}."
            )
        check = data["check"]
        return cls(
            data["assumed"],
            data.get("worlds"),
            None if check is None else LabelShiftCheck.from_dict(check),
            data.get("explained"),
            tuple(data["doubts"]),
            int(data.get("n_labels", 0)),
        )


def worlds_in_words(worlds: dict[World, float]) -> str:
    """Say what probably happened, the likeliest first."""
    likely = sorted(worlds, key=lambda world: -worlds[world])
    first, *rest = [one for one in likely if worlds[one] >= _WORTH_SAYING]
    surely = "Almost certainly" if round(worlds[first], 2) >= _SURE else "Most likely"
    said = [f"{WORLDS_IN_WORDS[one]} ({worlds[one]:.0%})" for one in (first, *rest)]
    return f"{surely} {said[0]}{'; or else ' if rest else ''}{', or '.join(said[1:])}."


def assumption_of(
    estimator: ShiftEstimator,
    labelled: LabelledSummary,
    summary: BatchSummary,
    classes: Sequence[Any] | None = None,
    draws: FloatArray | None = None,
) -> Assumption:
    """Return what the figures for a batch rest on.

    Parameters
    ----------
    estimator : ShiftEstimator
        Fitted on the two summaries.
    labelled, summary : LabelledSummary and BatchSummary
        Validation data and batch: calibrated, not adapted.
    classes : sequence, optional
        The label of each column; column numbers when not given.
    draws : ndarray of shape (n_draws, n_classes), optional
        Class proportions that the data leave open, where they were drawn already.
    """
    names = list(range(labelled.proba.shape[1]) if classes is None else classes)
    worlds, check = estimator.worlds_, None
    if worlds is None and labelled.codes is not None:
        check = label_shift_check(labelled, summary, classes=names)
    found = doubts(estimator, labelled, summary, check=check, classes=names, draws=draws)
    if worlds is None:
        return Assumption(estimator.assumed, evidence=check, doubts=found)
    weights = dict(zip(WORLDS, worlds.weights.tolist(), strict=True))
    counts = worlds.counts and replace(worlds.counts, classes=names)
    return Assumption(estimator.assumed, weights, counts, worlds.p_value, found)
