"""The two loops over rows of two classes, compiled for the device: bins, and the mask.

They calibrate as they go, so that scores are read once for each and nothing is written between.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from abstain._inputs import FloatArray
from abstain._kernels.bins import (
    EQUAL,
    INFINITE,
    LOGARITHMIC,
    N_BINS,
    NEAR,
    NEAREST,
    PARTS,
    PER_HALVING,
)
from abstain.cuda._arrays import cupy
from abstain.summaries import Bins, lower_edges

# Rows whose count and steps are summed in one number of 64 bits: 27 for the count.
_AT_A_TIME = 2**26
_STEPS = 1024
_COPIES = 8
_THREADS = 256
_BLOCKS_A_PROCESSOR = 8

_SOURCE = r"""
#define ONE (1ULL << 37)

enum { AS_THEY_ARE, LOGITS, PROBABILITIES };

__device__ double calibrated(double s, int scale, double a, double b, double c) {
  // 1 / (1 + exp(a * negative + b * positive + c)), of logits of the two classes.
  if (scale == AS_THEY_ARE) return s;
  if (scale == LOGITS) return 1.0 / (1.0 + exp(b * s + c));
  // The smallest step of the precision that probabilities came in.
  const double least = sizeof(SCORE) < 8 ? 1.1920928955078125e-07 : 2.220446049250313e-16;
  return 1.0 / (1.0 + exp(a * log(fmax(1.0 - s, least)) + b * log(fmax(s, least)) + c));
}

__device__ int bin_of(double p, unsigned int &steps) {
  // As on the host: equal bins from 2**-7 on, and 1024 to each halving below.
  const bool above = p >= 0.5;
  const double q = above ? 1.0 - p : p;
  double place;
  int inside = 0, k = 0;
  if (q >= NEAR) {
    place = q * EQUAL;
    inside = min((int)place, 65535);
    k = inside - PER_HALVING + LOGARITHMIC;
  } else if (q >= LEAST) {
    const long long bits = __double_as_longlong(q);
    const int exponent = (int)(bits >> 52) - 1022;
    place = __longlong_as_double((bits & 0xFFFFFFFFFFFFFLL) | 0x3FF0000000000000LL);
    place = (place - 1.0) * PER_HALVING;
    inside = (int)place;
    k = 1 + (exponent + 39) * PER_HALVING + inside;
  } else {
    place = q / LEAST;
  }
  const double rest = (place - inside) * STEPS;
  steps = (unsigned int)rest;
  if (above && steps < rest) steps += 1;
  return above ? N_BINS - 1 - k : k;
}

extern "C" __global__ void add_rows(
    const SCORE *scores, long long n, int scale, double a, double b, double c,
    unsigned long long *sums, unsigned long long *low, unsigned long long *high,
    unsigned long long *unfit, int with_ends) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long step = (long long)gridDim.x * blockDim.x;
  // Blocks share a few copies of the sums, so that fewer of them wait for the same bin.
  sums += (size_t)(blockIdx.x % COPIES) * N_BINS;
  for (; i < n; i += step) {
    const double s = (double)scores[i];
    if (!(fabs(s) <= 1.7976931348623157e308) || (scale != LOGITS && !(s >= 0.0 && s <= 1.0))) {
      atomicAdd(&unfit[s == s], 1ULL);
      continue;
    }
    const double p = calibrated(s, scale, a, b, c);
    unsigned int steps;
    const int k = bin_of(p, steps);
    atomicAdd(&sums[k], ONE + steps);
    if (with_ends) {
      // Probabilities are not negative, so their bits have their order.
      const unsigned long long bits = __double_as_longlong(p);
      if (bits < __ldcg(&low[k])) atomicMin(&low[k], bits);
      if (bits > __ldcg(&high[k])) atomicMax(&high[k], bits);
    }
  }
}

extern "C" __global__ void mark_rows(
    const SCORE *scores, long long n, int scale, double a, double b, double c,
    double negative, double positive, double lower, double upper, bool *out,
    unsigned long long *unfit) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long step = (long long)gridDim.x * blockDim.x;
  for (; i < n; i += step) {
    const double s = (double)scores[i];
    if (!(fabs(s) <= 1.7976931348623157e308) || (scale != LOGITS && !(s >= 0.0 && s <= 1.0))) {
      atomicAdd(&unfit[s == s], 1ULL);
      out[i] = true;
      continue;
    }
    double p = calibrated(s, scale, a, b, c);
    const double weighted = p * positive, total = (1.0 - p) * negative + weighted;
    p = total > 0.0 ? weighted / total : p;
    out[i] = p >= lower && p <= upper;
  }
}
"""


#: What the loops call numbers of the host's own bins, and of those above.
_NAMED = {
    "COPIES": _COPIES,
    "EQUAL": EQUAL,
    "LEAST": NEAREST,
    "LOGARITHMIC": LOGARITHMIC,
    "N_BINS": N_BINS,
    "NEAR": NEAR,
    "PER_HALVING": PER_HALVING,
    "STEPS": float(_STEPS),
}


class Logistic(NamedTuple):
    """How a row of one score becomes a probability: a number of the kernels' own, and factors."""

    scale: int
    negative: float = 0.0
    positive: float = 0.0
    bias: float = 0.0


#: Probabilities as they are.
AS_THEY_ARE = Logistic(0)


def logistic_of(calibrator: Any) -> Logistic | None:
    """Return what the kernels calibrate by themselves; None where they cannot."""
    given = calibrator.scale == "probabilities"
    if given and calibrator.name == "identity" and len(calibrator.classes_) == 2:
        return AS_THEY_ARE
    curve = calibrator.logistic
    return None if curve is None else Logistic(2 if given else 1, *curve)


def binned(values: Any, how: Logistic, *, ends: bool) -> tuple[Bins, int, int]:
    """Return the bins of rows on a device, how many rows are NaN, and how many cannot be.

    Parameters
    ----------
    values : cupy.ndarray of shape (n,)
        Scores, or probabilities.
    how : Logistic
        How they become probabilities.
    ends : bool
        Whether the least and the greatest probability of each bin are looked for, which takes
        as long again; else the lower edge of a bin is taken for both.
    """
    cp = cupy()
    sums, low_and_high, unfit = (cp.asnumpy(array) for array in add_rows(values, how, ends=ends))
    sums[1] *= PARTS // _STEPS
    filled = sums[0] > 0
    found: FloatArray = np.empty((2, N_BINS))
    found[0], found[1] = np.inf, -np.inf
    edges = low_and_high.view(np.float64) if ends else lower_edges()
    found[:, filled] = edges[..., filled]
    missing, wrong = unfit.tolist()
    return Bins.from_sums(sums, found), missing, wrong


def add_rows(values: Any, how: Logistic, *, ends: bool) -> tuple[Any, Any, Any]:
    """Return counts and steps of each bin, the bits of its ends, and how many rows are unfit."""
    cp = cupy()
    packed, unfit = cp.zeros((_COPIES, N_BINS), cp.uint64), cp.zeros(2, cp.uint64)
    found, sums = cp.zeros((2, N_BINS), cp.uint64), cp.zeros((2, N_BINS), cp.int64)
    found[0] = INFINITE
    kernel = _kernels(values.dtype.char)[0]
    for begin in range(0, len(values), _AT_A_TIME):
        part = values[begin : begin + _AT_A_TIME]
        given = part, np.int64(len(part)), np.int32(how.scale), *map(np.float64, how[1:])
        kernel(_grid(cp), (_THREADS,), (*given, packed, *found, unfit, np.int32(ends)))
        # Together the copies hold no more than one would.
        whole = packed.sum(axis=0)
        sums[0] += (whole >> np.uint64(37)).astype(cp.int64)
        sums[1] += (whole & np.uint64(2**37 - 1)).astype(cp.int64)
        packed.fill(0)
    return sums, found, unfit


def mark_rows(
    values: Any, how: Logistic, negative: float, positive: float, lower: float, upper: float
) -> tuple[Any, Any]:
    """Tell which rows' adapted probability lies in an interval; those that have none do.

    Returns
    -------
    cupy.ndarray of bool, cupy.ndarray of shape (2,)
        And how many rows are NaN, and how many cannot be.
    """
    cp = cupy()
    out, unfit = cp.empty(len(values), bool), cp.zeros(2, cp.uint64)
    numbers = map(np.float64, (*how[1:], negative, positive, lower, upper))
    given = values, np.int64(len(values)), np.int32(how.scale), *numbers
    _kernels(values.dtype.char)[1](_grid(cp), (_THREADS,), (*given, out, unfit))
    return out, unfit


@cache
def _kernels(char: str) -> tuple[Any, Any]:
    named = _NAMED | {"SCORE": {"f": "float", "d": "double"}[char]}
    defined = "".join(f"#define {name} {value!s}\n" for name, value in named.items())
    module = cupy().RawModule(code=defined + _SOURCE)
    return module.get_function("add_rows"), module.get_function("mark_rows")


def _grid(cp: Any) -> tuple[int]:
    processors = cp.cuda.Device().attributes["MultiProcessorCount"]
    return (processors * _BLOCKS_A_PROCESSOR,)
