"""Numerical and plain helpers that several rooms share, none of them about abstaining."""

from __future__ import annotations

from abstain._numerics._aligned import aligned
from abstain._numerics._binomial import auroc_lower, auroc_lower_expected, clopper_pearson
from abstain._numerics._bins import Strategy, bin_numbers
from abstain._numerics._blas import one_blas_thread
from abstain._numerics._edges import ROUNDING, clear_edge
from abstain._numerics._newton import Minimum, minimise
from abstain._numerics._newton_products import Local, minimise_by_products
from abstain._numerics._parameters import Parameters, clone, raise_not_fitted
from abstain._numerics._plain import nan_if_none, plain
from abstain._numerics._progress import progress, progress_bar, rate_bar
from abstain._numerics._registry import Registry
from abstain._numerics._resample import resampled_weight

__all__ = [
    "ROUNDING",
    "Local",
    "Minimum",
    "Parameters",
    "Registry",
    "Strategy",
    "aligned",
    "auroc_lower",
    "auroc_lower_expected",
    "bin_numbers",
    "clear_edge",
    "clone",
    "clopper_pearson",
    "minimise",
    "minimise_by_products",
    "nan_if_none",
    "one_blas_thread",
    "plain",
    "progress",
    "progress_bar",
    "raise_not_fitted",
    "rate_bar",
    "resampled_weight",
]
