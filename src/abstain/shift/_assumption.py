"""What the figures for a batch rest on: what was assumed, the evidence, and what speaks against.

The paper assumes label shift (its Section 2); here that is said, and checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from abstain._display import block, sentence
from abstain._display import doubts as doubts_shown
from abstain._inputs import FloatArray
from abstain.shift._base import Assumed, ShiftEstimator
from abstain.shift._check import LabelShiftCheck, label_shift_check
from abstain.shift._doubts import doubts
from abstain.shift._worlds import WORLDS, World
from abstain.summaries import BatchSummary, LabelledSummary

# Label shift that chance explains this seldom, or less, may be something else as well.
_OPEN = 0.1
# Below this it is not label shift, whatever chance may do.
_RULED_OUT = 1e-3

# Worlds that are worth a word, and one that leaves no room for others.
_WORTH_SAYING = 0.05
_SURE = 0.95

_WORLDS_IN_WORDS: dict[World, str] = {
    "nothing": "nothing moved",
    "label": "the class proportions moved (label shift)",
    "scores": "the mix of scores moved, and each means what it meant",
    "both": "class proportions and the mix of scores moved",
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
}


@dataclass(frozen=True, eq=False, repr=False)
class Assumption:
    """What was assumed about a batch, and the evidence.

    Attributes
    ----------
    assumed : {"label-shift", "same-given-score", "no-shift", "known-proportions"}
        What the adapted probabilities rest on.
    p_value : float or None
        How often chance alone gives so bad a fit under label shift; None where that could not be
        checked.
    check : LabelShiftCheck or None
        The check itself; None without labels.
    doubts : tuple of str
        What speaks against the figures, with advice; empty if all is well.
    n_labels : int
        How many known labels of the batch were used and compared with the probabilities.
    weights : tuple of float or None
        How probable each of the four worlds is, where they were weighed.
    """

    assumed: Assumed
    p_value: float | None = None
    check: LabelShiftCheck | None = None
    doubts: tuple[str, ...] = ()
    n_labels: int = 0
    weights: tuple[float, ...] | None = None

    @property
    def contested(self) -> bool:
        """Whether label shift was rejected, or nearly: the other assumption may be right too."""
        if self.check is None or self.p_value is None or self.weights is not None:
            return False
        return not self.check.fits or self.p_value < _OPEN

    @property
    def undecided(self) -> bool:
        """Whether label shift is neither believed nor ruled out: figures should span both."""
        return self.contested and self.p_value is not None and self.p_value >= _RULED_OUT

    def otherwise(self) -> str:
        """Name the other assumption, to go before what is estimated under it."""
        return "Without adapting" if self.assumed == "label-shift" else "If it were label shift"

    @property
    def fits(self) -> bool:
        """Whether label shift explains the batch's scores, or could not be checked."""
        return self.check is None or self.check.fits

    def summary(self) -> str:
        """Say in plain words what was assumed, and why."""
        said = _IN_WORDS[self.assumed] if self.weights is None else weights_in_words(self.weights)
        if self.n_labels:
            said += f" {self.n_labels} known labels of the batch were used."
        if self.weights is not None:
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
        return {
            "assumed": self.assumed,
            "check": None
            if self.check is None
            else {**self.check.to_dict(), "level": self.check.level},
            "doubts": list(self.doubts),
            **({"n_labels": self.n_labels} if self.n_labels else {}),
            **({} if self.weights is None else {"weights": list(self.weights)}),
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
        given = data["check"]
        check = None if given is None else LabelShiftCheck.from_dict(given)
        labels = int(data.get("n_labels", 0))
        weights = data.get("weights")
        return cls(
            data["assumed"],
            _p_value(check),
            check,
            tuple(data["doubts"]),
            labels,
            None if weights is None else tuple(weights),
        )


def weights_in_words(weights: Sequence[float]) -> str:
    """Say what probably happened, the likeliest first."""
    order = np.argsort(-np.asarray(weights), kind="stable").tolist()
    first, *rest = [i for i in order if weights[i] >= _WORTH_SAYING] or order[:1]
    surely = "Most likely" if weights[first] < _SURE else "Almost certainly"
    said = f"{surely} {_WORLDS_IN_WORDS[WORLDS[first]]} ({weights[first]:.0%})"
    more = [f"{_WORLDS_IN_WORDS[WORLDS[i]]} ({weights[i]:.0%})" for i in rest]
    return f"{said}; it may also be that {', or that '.join(more)}." if more else f"{said}."


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
        Fitted on the two summaries; its own check is taken if it made one.
    labelled, summary : LabelledSummary and BatchSummary
        Validation data and batch: calibrated, not adapted.
    classes : sequence, optional
        The label of each column; column numbers when not given.
    draws : ndarray of shape (n_draws, n_classes), optional
        Class proportions that the data leave open, where they were drawn already.
    """
    names = list(range(labelled.proba.shape[1]) if classes is None else classes)
    check: LabelShiftCheck | None = getattr(estimator, "check_", None)
    if check is None and labelled.codes is not None:
        check = label_shift_check(labelled, summary, classes=names)
    elif check is not None:
        check = check.named(names)
    found = doubts(estimator, labelled, summary, check=check, classes=names, draws=draws)
    weights = getattr(estimator, "world_weights_", None)
    return Assumption(
        estimator.assumed,
        _p_value(check),
        check,
        found,
        weights=None if weights is None else tuple(weights.tolist()),
    )


def _p_value(check: LabelShiftCheck | None) -> float | None:
    return None if check is None or check.degrees_of_freedom == 0 else check.p_value
