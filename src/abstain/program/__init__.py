"""What a rule does to a row, stated once as a short list of typed operations on columns.

A calibrator, a score of uncertainty, a rule and a region each state their operations in their own
file, on values that hold no numbers yet. Whatever computes them reads the same list: NumPy and
CuPy here, ONNX, SQL and plain Python in the rooms of these names.

A value is a column, one number a row, or a block of columns. Their operators are those of NumPy;
what goes along a row is a method, such as ``block.total()``.

Examples
--------
>>> import numpy as np
>>> from abstain import program
>>> def doubt(proba):
...     return 1.0 - proba.largest()
>>> program.of_rows(doubt, np.array([[0.5, 0.25, 0.25]]))
array([0.5])
"""

from __future__ import annotations

from abstain.program._arrays import Arrays as Arrays
from abstain.program._arrays import of_rows
from abstain.program._arrays import on_rows as on_rows
from abstain.program._forms import adapted as adapted
from abstain.program._forms import both_columns as both_columns
from abstain.program._forms import log_softmax, softmax
from abstain.program._forms import share as share
from abstain.program._forms import weighted_log as weighted_log
from abstain.program._values import TIED as TIED
from abstain.program._values import Value, block, exp, log, maximum, minimum, where
from abstain.program._values import carried_out as carried_out
from abstain.program._values import constant as constant
from abstain.program._values import given as given
from abstain.program._values import only_where as only_where
from abstain.program._values import slack as slack
from abstain.program._values import steps as steps

__all__ = [
    "Value",
    "block",
    "exp",
    "log",
    "log_softmax",
    "maximum",
    "minimum",
    "of_rows",
    "softmax",
    "where",
]
