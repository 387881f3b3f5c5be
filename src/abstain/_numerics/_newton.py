"""Newton's method for small smooth convex problems with bounds on the parameters.

Each step goes to the lowest point of the quadratic model between the bounds, and is shortened
until the objective falls. Calibration and label shift both use it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from abstain._inputs import FloatArray
from abstain._numerics._blas import one_blas_thread

__all__ = ["Minimum", "minimise"]

#: Value, gradient and Hessian at a point.
Objective = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]

# A step that promises less than this fraction of the objective is the last one: at quadratic
# convergence what remains after it is below the rounding of the objective.
_LAST_STEP = 1e-13
_ARMIJO = 1e-4
# Halvings of a step before it is damped instead.
_HALVINGS = 4
# So small a gradient is level ground: steps of 1 gain as little as the last step may.
_LEVEL = 1e-10
# A gain below this share of the objective may be missed in the noise of its sums.
_ROUNDING = 1e-10


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
    # A step too far may overflow; it is seen, and shortened.
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _minimise(objective, start, lower, upper, max_iter)


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
    if not _finite(value, gradient, hessian):
        return Minimum(x, value, 0, False)
    damping = 0.0
    for n_iter in range(1, max_iter + 1):
        while True:
            damped = hessian + damping * np.eye(len(x)) if damping else hessian
            step = _newton_step(x, gradient, damped, low, high)
            promised = -float(gradient @ step)
            size = max(1.0, abs(value))
            if not promised > -_LAST_STEP * size:
                # A step uphill, or none at all: the curvature is lost in rounding.
                return Minimum(x, value, n_iter, False)
            negligible = promised <= _LAST_STEP * size
            if negligible and not damping:
                if promised < 0:
                    # No descent, and so no way to a minimum, however little it would climb.
                    return Minimum(x, value, n_iter, _level(x, gradient, low, high, size))
                return Minimum(np.clip(x + step, low, high), value, n_iter, True)
            trial, new = _shortened(objective, x, step, value, gradient, low, high)
            if new is not None:
                break
            if negligible or promised <= _ROUNDING * size:
                # The promised gain is lost in rounding: this is as low as it goes.
                return Minimum(x, value, n_iter, True)
            # Far from the minimum the curvature may be next to nothing and the step absurd; one
            # with the damping of the gradient's size moves each parameter by 1 at most.
            damping = max(4 * damping, float(np.abs(gradient).max()))
        x = trial
        value, gradient, hessian = new
        damping /= 8
        if damping < 1e-3 * float(np.abs(np.diag(hessian)).max()):
            damping = 0.0
    return Minimum(x, value, max_iter, False)


def _shortened(
    objective: Objective,
    x: FloatArray,
    step: FloatArray,
    value: float,
    gradient: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> tuple[FloatArray, tuple[float, FloatArray, FloatArray] | None]:
    """Halve the step until the objective falls by a share of what was promised; None if not."""
    length = 1.0
    for _ in range(_HALVINGS):
        trial = np.clip(x + length * step, lower, upper)
        new = objective(trial)
        if new[0] <= value + _ARMIJO * float(gradient @ (trial - x)) and _finite(*new):
            return trial, new
        length /= 2
    return x, None


def _finite(value: float, gradient: FloatArray, hessian: FloatArray) -> bool:
    """Tell whether an objective can be told here."""
    return bool(np.isfinite(value) and np.isfinite(gradient).all() and np.isfinite(hessian).all())


def _level(
    x: FloatArray, gradient: FloatArray, lower: FloatArray, upper: FloatArray, size: float
) -> bool:
    """Tell whether the objective falls in no direction that the bounds leave open."""
    held = ((x <= lower) & (gradient > 0)) | ((x >= upper) & (gradient < 0))
    return bool(np.abs(np.where(held, 0.0, gradient)).max(initial=0.0) <= _LEVEL * size)


def _newton_step(
    x: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> FloatArray:
    """Return the step to the lowest point of the quadratic model between the bounds."""
    held = ((x <= lower) & (gradient > 0)) | ((x >= upper) & (gradient < 0))
    low, high = lower - x, upper - x
    step = np.zeros_like(x)
    while not held.all():
        free = np.flatnonzero(~held)
        pull = gradient[free] + hessian[np.ix_(free, np.flatnonzero(held))] @ step[held]
        step[free] = -linalg.cho_solve((_factor(hessian[np.ix_(free, free)]), True), pull)
        crossed = (step < low) | (step > high)
        if not crossed.any():
            break
        # Stop these at their bounds and let the others make up for it.
        step = np.clip(step, low, high)
        held |= crossed
    if float(gradient @ step) < 0 or not step.any():
        return step
    from scipy import optimize  # rarely needed, and slow to import

    # H = L L', so the model is |L' d + L^-1 g|^2 / 2 up to a constant: least squares with bounds.
    root = _factor(hessian)
    aim = -linalg.solve_triangular(root, gradient, lower=True)
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
