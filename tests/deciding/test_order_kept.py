"""Calibrations that order rows by the labels prove nothing of that order."""

import numpy as np
import pytest

from abstain.deciding import check_order_kept
from abstain.exceptions import ArgumentError


@pytest.mark.parametrize(
    ("p", "kept"),
    [([0.1, 0.4, 0.8], True), ([0.9, 0.4, 0.4], True), ([0.1, 0.8, 0.4], False)],
    ids=["as they are", "turned round", "another"],
)
def test_an_order_that_is_not_that_of_the_scores(p, kept):
    logits = np.column_stack([np.zeros(3), [-1.0, 0.0, 2.0]])
    proba = np.column_stack([1 - np.array(p), p])
    if kept:
        check_order_kept(logits, proba)
    else:
        with pytest.raises(ArgumentError, match="orders rows otherwise than their scores"):
            check_order_kept(logits, proba)
