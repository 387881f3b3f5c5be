"""Newton's method for many parameters: the Hessian is never made, only multiplied with.

Each step solves for the lowest point of the quadratic model by conjugate gradients, the more
exactly the nearer the minimum is, and is shortened until the objective falls. The time of a step
grows with that of a product, where a dense Hessian takes the cube of the parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from abstain._inputs import FloatArray, Mask
from abstain._numerics._blas import one_blas_thread
from abstain._numerics._newton import Minimum

__all__ = ["Local", "minimise_by_products"]

# As of the dense method: what is promised by the last step, what a step must keep of its
# promise, and the gain that may be missed in the noise of sums; each a share of the objective.
_LAST_STEP = 1e-13
_ARMIJO = 1e-4
_ROUNDING = 1e-10
# Halvings of a step before it is damped instead, and the damping, as a share of the curvature,
# that is not worth it.
_HALVINGS = 4
_SMALL_DAMPING = 1e-3
# Products at most in one step, and the least that it leaves of the gradient.
_MOST_PRODUCTS = 200
_MOST_EXACT = 1e-4
# Products that take about as long as the objective.
_WORTH = 8


class Local(NamedTuple):
    """What is known of the objective at a point.

    Attributes
    ----------
    value : float
    gradient : ndarray of shape (n_parameters,)
    times : callable
        Multiplies a vector with the Hessian.
    roughly : callable
        Multiplies a vector with a rough inverse of the Hessian, symmetric and positive; given
        the vector and what was added to the diagonal.
    curved : float
        The largest curvature by one parameter, about.
    """

    value: float
    gradient: FloatArray
    times: Callable[[FloatArray], FloatArray]
    roughly: Callable[[FloatArray, float], FloatArray]
    curved: float


def minimise_by_products(
    objective: Callable[[FloatArray], Local],
    start: FloatArray,
    *,
    lower: FloatArray | float = -np.inf,
    upper: FloatArray | float = np.inf,
    exact: float = 0.1,
    max_iter: int = 100,
    most_work: int = 10_000,
) -> Minimum:
    """Minimise a convex function of many parameters between bounds.

    Parameters
    ----------
    objective : callable
        Gives a ``Local`` at a point; products with the Hessian are asked for only at the point
        that was given last. All vectors may lie in a subspace, which then holds the result.
    start : ndarray of shape (n_parameters,)
        Where to begin; moved to the nearest point between the bounds.
    lower, upper : ndarray or float
        The bounds.
    exact : float
        The most that a step may leave of the gradient; the nearer the minimum, the less it is.
    max_iter : int
        The most steps.
    most_work : int
        The most products with the Hessian, in all steps together; the objective counts as
        several. A minimum that takes more is one that the data hardly determine.

    Returns
    -------
    Minimum
    """
    low = np.broadcast_to(np.asarray(lower, dtype=np.float64), start.shape)
    high = np.broadcast_to(np.asarray(upper, dtype=np.float64), start.shape)
    with one_blas_thread():
        return _minimise(
            objective, np.clip(start, low, high), low, high, exact, max_iter, most_work
        )


def _minimise(
    objective: Callable[[FloatArray], Local],
    x: FloatArray,
    low: FloatArray,
    high: FloatArray,
    exact: float,
    max_iter: int,
    most_work: int,
) -> Minimum:
    spent = _Spent(objective, most_work)
    here = spent.objective(x)
    first, damping = _size(here), 0.0
    for n_iter in range(1, max_iter + 1):
        if spent.all:
            return Minimum(x, here.value, n_iter, False)
        left = float(np.sqrt(_size(here) / first)) if first > 0 else 0.0
        left = min(max(left, _MOST_EXACT), exact)
        while True:
            step = _newton_step(_damped(here, damping), low - x, high - x, left, spent)
            promised, size = -float(here.gradient @ step), max(1.0, abs(here.value))
            if not promised > -_LAST_STEP * size:
                # A step uphill, or none at all: the curvature is lost in rounding.
                return Minimum(x, here.value, n_iter, False)
            negligible = promised <= _LAST_STEP * size
            if negligible and not damping:
                return Minimum(np.clip(x + step, low, high), here.value, n_iter, True)
            trial, there = _shortened(spent.objective, x, step, here, low, high)
            if there is not None:
                break
            if negligible or promised <= _ROUNDING * size:
                # The promised gain is lost in rounding: this is as low as it goes.
                return Minimum(x, here.value, n_iter, True)
            # Far from the minimum the curvature may be next to nothing and the step absurd; one
            # with the damping of the gradient's size moves each parameter by 1 at most.
            damping = max(4 * damping, float(np.abs(here.gradient).max()))
            here = spent.objective(x)
            if spent.all:
                return Minimum(x, here.value, n_iter, False)
        x, here = trial, there
        damping /= 8
        if damping < _SMALL_DAMPING * here.curved:
            damping = 0.0
    return Minimum(x, here.value, max_iter, False)


class _Spent:
    """How much work was done of that which may be."""

    def __init__(self, objective: Callable[[FloatArray], Local], most: int) -> None:
        self._objective, self._most = objective, most
        self.products = self._visits = 0

    def objective(self, x: FloatArray) -> Local:
        self._visits += 1
        return self._objective(x)

    @property
    def all(self) -> bool:
        return self.products + _WORTH * self._visits >= self._most


def _size(here: Local) -> float:
    """Return the square of the gradient's length, in units of the rough curvature."""
    return float(here.gradient @ here.roughly(here.gradient, 0.0))


def _damped(here: Local, damping: float) -> Local:
    """Return the same with something added to the diagonal of the Hessian."""
    if not damping:
        return here
    return here._replace(
        times=lambda v: here.times(v) + damping * v,
        roughly=lambda v, _: here.roughly(v, damping),
    )


def _shortened(
    objective: Callable[[FloatArray], Local],
    x: FloatArray,
    step: FloatArray,
    here: Local,
    low: FloatArray,
    high: FloatArray,
) -> tuple[FloatArray, Local | None]:
    """Halve the step until the objective falls by a share of what was promised; None if not."""
    length = 1.0
    for _ in range(_HALVINGS):
        trial = np.clip(x + length * step, low, high)
        there = objective(trial)
        if there.value <= here.value + _ARMIJO * float(here.gradient @ (trial - x)):
            return trial, there
        length /= 2
    return x, None


def _newton_step(
    here: Local, low: FloatArray, high: FloatArray, left: float, spent: _Spent
) -> FloatArray:
    """Return a step to about the lowest point of the quadratic model between the bounds."""
    gradient = here.gradient
    held = ((low >= 0) & (gradient > 0)) | ((high <= 0) & (gradient < 0))
    while True:
        inside = _solved(here, -gradient, ~held, left, spent)
        beyond = ((low >= 0) & (inside < 0)) | ((high <= 0) & (inside > 0))
        if not beyond.any():
            break
        held |= beyond
    step = inside
    while True:
        crossed = (step < low) | (step > high)
        if not crossed.any():
            break
        # Stop these at their bounds and let the others make up for it.
        held = held | crossed
        step = np.where(held, np.clip(step, low, high), 0.0)
        if held.all() or spent.all:
            break
        pull = gradient + here.times(step)
        step = step + _solved(here, -pull, ~held, left, spent)
    if float(gradient @ step) < 0 or not step.any():
        return step
    # The others made up for too much: go straight to the first bound instead.
    room = np.where(inside < 0, low, high)
    reached = np.divide(room, inside, out=np.ones_like(inside), where=inside != 0)
    return inside * min(1.0, float(reached.min()))


def _solved(here: Local, aim: FloatArray, free: Mask, left: float, spent: _Spent) -> FloatArray:
    """Solve Hessian times x = aim for the free parameters by conjugate gradients.

    So exactly that only this share of the aim is left.
    """
    solution = np.zeros_like(aim)
    rest = np.where(free, aim, 0.0)
    direction = towards = np.where(free, here.roughly(rest, 0.0), 0.0)
    size = begun = float(rest @ towards)
    for _ in range(min(_MOST_PRODUCTS, 2 * len(aim))):
        if not size > left**2 * begun or spent.all:
            break
        spent.products += 1
        product = np.where(free, here.times(direction), 0.0)
        curvature = float(direction @ product)
        if not curvature > 0:
            # Flat as far as rounding can tell; the line search decides how far to go.
            return solution if solution.any() else direction
        length = size / curvature
        solution = solution + length * direction
        rest = rest - length * product
        towards = np.where(free, here.roughly(rest, 0.0), 0.0)
        last, size = size, float(rest @ towards)
        direction = towards + size / last * direction
    return solution
