"""Label shift: how the class proportions have moved, and probabilities adapted to it."""

from __future__ import annotations

from abstain.shift._assumption import ASSUMPTION_KEYS as ASSUMPTION_KEYS
from abstain.shift._assumption import WORLDS_IN_WORDS as WORLDS_IN_WORDS
from abstain.shift._assumption import Assumption as Assumption
from abstain.shift._assumption import assumption_of as assumption_of
from abstain.shift._auto import AutoShift
from abstain.shift._base import Part as Part
from abstain.shift._base import ShiftEstimator, adapt_proba
from abstain.shift._base import ratio_of_priors as ratio_of_priors
from abstain.shift._cells import Cells as Cells
from abstain.shift._cells import share_unseen as share_unseen
from abstain.shift._check import LabelShiftCheck as LabelShiftCheck
from abstain.shift._check import check_label_shift
from abstain.shift._check import label_shift_check as label_shift_check
from abstain.shift._confusion import BBSEHard, BBSESoft, RLLSHard, RLLSSoft
from abstain.shift._detect import ShiftTest as ShiftTest
from abstain.shift._detect import detect_shift
from abstain.shift._doubts import doubts as doubts
from abstain.shift._fixed import KnownPriors, NoShift
from abstain.shift._known import KnownLabels as KnownLabels
from abstain.shift._known import known_doubts as known_doubts
from abstain.shift._known import standing_for as standing_for
from abstain.shift._maximum_likelihood import MANY_CLASSES as MANY_CLASSES
from abstain.shift._maximum_likelihood import MaximumLikelihoodShift
from abstain.shift._online import OnlineProportions
from abstain.shift._proportions import Proportions as Proportions
from abstain.shift._proportions import most_moved as most_moved
from abstain.shift._proportions import pooled_proportions as pooled_proportions
from abstain.shift._proportions import shift_facts as shift_facts
from abstain.shift._registry import KEYS as KEYS
from abstain.shift._registry import from_dict as from_dict
from abstain.shift._registry import get, register
from abstain.shift._registry import to_dict as to_dict
from abstain.shift._seen import SeenOtherwise as SeenOtherwise
from abstain.shift._worlds import WORLDS as WORLDS
from abstain.shift._worlds import World as World

__all__ = [
    "AutoShift",
    "BBSEHard",
    "BBSESoft",
    "KnownPriors",
    "MaximumLikelihoodShift",
    "NoShift",
    "OnlineProportions",
    "RLLSHard",
    "RLLSSoft",
    "ShiftEstimator",
    "adapt_proba",
    "check_label_shift",
    "detect_shift",
    "get",
    "register",
]
