"""The machine itself finds what it is built to find."""

import time

import numpy as np
import pytest

from abstain import Abstainer

from .machine import Defect, in_time, nan_in, outcome


def test_a_result_comes_back():
    assert outcome(lambda: [1.0, "x"]) == [1.0, "x"]


def test_a_refusal_of_the_library_is_no_defect():
    refusal = outcome(lambda: Abstainer("auroc", budget=-1).fit([[0.1], [0.2]], [0, 1]))
    assert isinstance(refusal, ValueError)


@pytest.mark.parametrize(
    "call",
    [
        lambda: {}["x"],
        lambda: np.linalg.inv(np.zeros((2, 2))),
        lambda: np.zeros((2, 3)) @ np.zeros((2, 3)),
        lambda: float("x"),
        lambda: {"estimate": [1.0, float("nan")]},
        lambda: np.log(np.zeros(1)),
    ],
    ids=["KeyError", "LinAlgError", "a foreign ValueError", "ours but not us", "NaN", "warning"],
)
def test_a_defect_is_found(call):
    with pytest.raises(Defect):
        outcome(call)


def test_a_nan_is_found_where_it_stands():
    assert nan_in({"a": [(1.0, np.array([0.0, np.nan]))]}) == "result['a'][0][1]"


def test_what_takes_too_long_is_found():
    with pytest.raises(Defect, match="hangs"), in_time(0.01):
        time.sleep(1)
