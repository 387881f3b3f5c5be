"""Newton's method for small smooth convex problems with bounds on the parameters.

Each step goes to the lowest point of the quadratic model between the bounds, and is shortened
until the objective falls. Calibration and label shift both use it.
"""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, optimize
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from abstain._validation import FloatArray

__all__ = ["Minimum", "minimise", "one_blas_thread"]

#: Value, gradient and Hessian at a point.
Objective = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]

# A step that promises less than this fraction of the objective is the last one: at quadratic
# convergence what remains after it is below the rounding of the objective.
_LAST_STEP = 1e-13
_ARMIJO = 1e-4
_SHORTEST_STEP = 2.0**-30


@dataclass(frozen=True)
class Minimum:
    """Where a minimisation ended."""

    x: FloatArray
    value: float
    n_iter: int
    converged: bool


def minimise(
    objective: Objective,
    start: FloatArray,
    *,
    lower: FloatArray | float = -np.inf,
    upper: FloatArray | float = np.inf,
    max_iter: int = 100,
) -> Minimum:
    """Minimise a convex function between bounds.

    Parameters
    ----------
    objective : callable
        Gives value, gradient and Hessian at a point.
    start : ndarray of shape (n_parameters,)
        Where to begin; moved to the nearest point between the bounds.
    lower, upper : ndarray or float
        The bounds.
    max_iter : int
        The most steps.

    Returns
    -------
    Minimum
    """
    with one_blas_thread():
        return _minimise(objective, start, lower, upper, max_iter)


@functools.cache
def _controller() -> Any:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep linear algebra on one thread.

    The matrices are small, their sums then do not depend on the number of threads, and BLAS
    threads that wait for work do not hold up those of the compiled loops.
    """
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


def _minimise(
    objective: Objective,
    start: FloatArray,
    lower: FloatArray | float,
    upper: FloatArray | float,
    max_iter: int,
) -> Minimum:
    low = np.broadcast_to(np.asarray(lower, dtype=np.float64), start.shape)
    high = np.broadcast_to(np.asarray(upper, dtype=np.float64), start.shape)
    x = np.clip(start, low, high)
    value, gradient, hessian = objective(x)
    for n_iter in range(1, max_iter + 1):
        step = _newton_step(x, gradient, hessian, low, high)
        promised = -float(gradient @ step)
        if promised <= _LAST_STEP * max(1.0, abs(value)):
            return Minimum(np.clip(x + step, low, high), value, n_iter, True)
        length = 1.0
        while True:
            trial = np.clip(x + length * step, low, high)
            new = objective(trial)
            if new[0] <= value + _ARMIJO * float(gradient @ (trial - x)):
                break
            length /= 2
            if length < _SHORTEST_STEP:
                # The promised gain is lost in rounding: this is as low as it goes.
                return Minimum(x, value, n_iter, promised <= 1e-7 * max(1.0, abs(value)))
        x = trial
        value, gradient, hessian = new
    return Minimum(x, value, max_iter, False)


def _newton_step(
    x: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> FloatArray:
    """Return the step to the lowest point of the quadratic model between the bounds."""
    held = ((x <= lower) & (gradient > 0)) | ((x >= upper) & (gradient < 0))
    free = np.flatnonzero(~held)
    step = np.zeros_like(x)
    if len(free):
        step[free] = -linalg.cho_solve(
            (_factor(hessian[np.ix_(free, free)]), True), gradient[free]
        )
    if ((x + step >= lower) & (x + step <= upper)).all():
        return step
    # H = L L', so the model is |L' d + L^-1 g|^2 / 2 up to a constant: least squares with bounds.
    root = _factor(hessian)
    aim = -linalg.solve_triangular(root, gradient, lower=True)
    low, high = lower - x, upper - x
    solution = optimize.lsq_linear(
        root.T, aim, bounds=(low, np.where(high > low, high, low + 1e-300)), method="bvls"
    )
    bounded: FloatArray = np.clip(solution.x, low, high)
    return bounded


def _factor(hessian: FloatArray) -> FloatArray:
    """Return the Cholesky factor, with as small a ridge as makes a singular Hessian regular."""
    scale = max(float(np.abs(np.diag(hessian)).max()), np.finfo(np.float64).tiny)
    ridge = 1e-14 * scale
    while True:
        try:
            root: FloatArray = linalg.cholesky(hessian + ridge * np.eye(len(hessian)), lower=True)
        except linalg.LinAlgError:
            ridge *= 100
            continue
        return root
