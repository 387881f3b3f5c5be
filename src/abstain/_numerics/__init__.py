"""Numerical and plain helpers that several rooms share, none of them about abstaining."""

from __future__ import annotations

from abstain._numerics._blas import one_blas_thread as one_blas_thread
from abstain._numerics._edges import ROUNDING as ROUNDING
from abstain._numerics._edges import clear_edge as clear_edge
from abstain._numerics._edges import cuts_between as cuts_between
from abstain._numerics._edges import first_of_kind as first_of_kind
from abstain._numerics._edges import highest_of_rows as highest_of_rows
from abstain._numerics._edges import kind_width as kind_width
from abstain._numerics._edges import kinds as kinds
from abstain._numerics._newton import Local as Local
from abstain._numerics._newton import Minimum as Minimum
from abstain._numerics._newton import minimise as minimise
from abstain._numerics._newton import minimise_by_products as minimise_by_products
from abstain._numerics._parameters import Parameters as Parameters
from abstain._numerics._parameters import clone as clone
from abstain._numerics._parameters import raise_not_fitted as raise_not_fitted
from abstain._numerics._plain import nan_if_none as nan_if_none
from abstain._numerics._plain import plain as plain
from abstain._numerics._registry import Registry as Registry
from abstain._numerics._statistics import Strategy as Strategy
from abstain._numerics._statistics import auroc_lower as auroc_lower
from abstain._numerics._statistics import auroc_lower_expected as auroc_lower_expected
from abstain._numerics._statistics import bin_numbers as bin_numbers
from abstain._numerics._statistics import clopper_pearson as clopper_pearson
from abstain._numerics._statistics import even_in_spread as even_in_spread
from abstain._numerics._statistics import gamma_draws as gamma_draws
from abstain._numerics._statistics import resampled_weight as resampled_weight
from abstain._numerics._statistics import weighted_quantiles as weighted_quantiles
from abstain._numerics._terminal import aligned as aligned
from abstain._numerics._terminal import progress as progress
from abstain._numerics._terminal import progress_bar as progress_bar
from abstain._numerics._terminal import rate_bar as rate_bar
