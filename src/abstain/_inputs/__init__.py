"""The door: every check on what users hand in, and every conversion of it, happens here.

Behind it arrays are plain (two-dimensional, float64, classes as column numbers) and nothing is
checked again.
"""

from abstain._inputs._checks import (
    FloatArray,
    IntArray,
    Mask,
    Scale,
    both_columns,
    check_budget,
    check_classes,
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
    to_logits,
    two_logits,
)
from abstain._inputs._frames import (
    Scores,
    as_array,
    classes_by_name,
    read_scores,
    to_native_frame,
)

__all__ = [
    "FloatArray",
    "IntArray",
    "Mask",
    "Scale",
    "Scores",
    "as_array",
    "both_columns",
    "check_budget",
    "check_classes",
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
    "classes_by_name",
    "read_scores",
    "to_logits",
    "to_native_frame",
    "two_logits",
]
