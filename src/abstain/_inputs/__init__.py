"""The door: every check on what users hand in, and every conversion of it, happens here.

Behind it arrays are plain (two-dimensional, float64, classes as column numbers) and nothing is
checked again.
"""

from __future__ import annotations

from abstain._inputs._aside import Aside, Missing, rows_aside
from abstain._inputs._checks import (
    FIT_LOGITS,
    FloatArray,
    IntArray,
    Mask,
    Scale,
    as_proba,
    both_columns,
    check_budget,
    check_classes,
    check_count,
    check_fraction,
    check_labels,
    check_level,
    check_penalties,
    check_priors,
    check_proba,
    check_same_length,
    check_sample_weight,
    check_scores,
    check_seed,
    float_array,
    one_column,
    rows_of,
    to_logits,
    told_positive,
    two_logits,
)
from abstain._inputs._frames import Scores, as_array, to_native_frame
from abstain._inputs._order import (
    ClassOrder,
    LabelledScores,
    read_labelled,
    read_labelled_proba,
    read_scores,
    spelled,
)

__all__ = [
    "FIT_LOGITS",
    "Aside",
    "ClassOrder",
    "FloatArray",
    "IntArray",
    "LabelledScores",
    "Mask",
    "Missing",
    "Scale",
    "Scores",
    "as_array",
    "as_proba",
    "both_columns",
    "check_budget",
    "check_classes",
    "check_count",
    "check_fraction",
    "check_labels",
    "check_level",
    "check_penalties",
    "check_priors",
    "check_proba",
    "check_same_length",
    "check_sample_weight",
    "check_scores",
    "check_seed",
    "float_array",
    "one_column",
    "read_labelled",
    "read_labelled_proba",
    "read_scores",
    "rows_aside",
    "rows_of",
    "spelled",
    "to_logits",
    "to_native_frame",
    "told_positive",
    "two_logits",
]
