"""Numerical and plain helpers that several rooms share, none of them about abstaining."""

from abstain._numerics._binomial import auroc_lower, auroc_lower_expected, clopper_pearson
from abstain._numerics._bins import Strategy, bin_numbers
from abstain._numerics._blas import one_blas_thread
from abstain._numerics._newton import Minimum, minimise

__all__ = [
    "Minimum",
    "Strategy",
    "auroc_lower",
    "auroc_lower_expected",
    "bin_numbers",
    "clopper_pearson",
    "minimise",
    "one_blas_thread",
]
