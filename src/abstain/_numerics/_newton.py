"""Newton's method for smooth convex problems with bounds on the parameters.

Each step goes to the lowest point of the quadratic model between the bounds, and is shortened
until the objective falls. Calibration and label shift both use it. Of few parameters the Hessian
is made; of many it is only multiplied with, and a step found by conjugate gradients, the more
exactly the nearer the minimum is: the time of a step then grows with that of a product, where a
dense Hessian takes the cube of the parameters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from abstain._inputs import FloatArray, Mask
from abstain._numerics._blas import one_blas_thread

#: Value, gradient and Hessian at a point.
Objective = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]

# A step that promises less than this fraction of the objective is the last one: at quadratic
# convergence what remains after it is below the rounding of the objective.
_LAST_STEP = 1e-13
_ARMIJO = 1e-4
# Halvings of a step before it is damped instead, and the damping, as a share of the curvature,
# that is not worth it.
_HALVINGS = 4
_SMALL_DAMPING = 1e-3
# So small a gradient is level ground: steps of 1 gain as little as the last step may.
_LEVEL = 1e-10
# A gain below this share of the objective may be missed in the noise of its sums.
_ROUNDING = 1e-10
# Products at most in one step, and the least that it leaves of the gradient.
_MOST_PRODUCTS = 200
_MOST_EXACT = 1e-4
# Products that take about as long as the objective.
_WORTH = 8


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
        return _ByHessian(objective, start, lower, upper).descend(max_iter)


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
    with one_blas_thread():
        way = _ByProducts(objective, start, lower, upper)
        way.exact, way.most_work = exact, most_work
        return way.descend(max_iter)


class _Descent(ABC):
    """The steps, whatever way each is found. Points know their value, gradient and curvature."""

    #: Whether all the work was done that may be.
    spent = False

    def __init__(
        self,
        objective: Callable[[FloatArray], Any],
        start: FloatArray,
        *bounds: FloatArray | float,
    ) -> None:
        self._objective = objective
        self._low, self._high = (
            np.broadcast_to(np.asarray(bound, dtype=np.float64), start.shape) for bound in bounds
        )
        self._start = np.clip(start, self._low, self._high)

    @abstractmethod
    def at(self, x: FloatArray) -> Any:
        """Return what is known at a point; its value is NaN where nothing is."""

    @abstractmethod
    def step(self, x: FloatArray, here: Any, damping: float) -> FloatArray:
        """Return the step to the lowest point of the quadratic model between the bounds."""

    def back(self, x: FloatArray, here: Any) -> Any:
        """Return what is known at a point, after others were visited."""
        return here

    def is_level(self, x: FloatArray, gradient: FloatArray, size: float) -> bool:
        """Tell whether the objective falls in no direction that the bounds leave open."""
        held = ((x <= self._low) & (gradient > 0)) | ((x >= self._high) & (gradient < 0))
        return bool(np.abs(np.where(held, 0.0, gradient)).max(initial=0.0) <= _LEVEL * size)

    def descend(self, max_iter: int) -> Minimum:
        """Take steps until one promises nothing more."""
        x, here, damping = self._start, self.at(self._start), 0.0
        if np.isnan(here.value):
            return Minimum(x, here.value, 0, False)
        for n_iter in range(1, max_iter + 1):
            while True:
                if self.spent:
                    return Minimum(x, here.value, n_iter, False)
                step = self.step(x, here, damping)
                promised, size = -float(here.gradient @ step), max(1.0, abs(here.value))
                if not promised > -_LAST_STEP * size:
                    # A step uphill, or none at all: the curvature is lost in rounding.
                    return Minimum(x, here.value, n_iter, False)
                negligible = promised <= _LAST_STEP * size
                if negligible and not damping:
                    if promised > 0:
                        end = np.clip(x + step, self._low, self._high)
                        return Minimum(end, here.value, n_iter, True)
                    # No descent, and so no way to a minimum, however little it would climb.
                    level = self.is_level(x, here.gradient, size)
                    return Minimum(x, here.value, n_iter, level)
                trial, there = self._shortened(x, step, here)
                if there is not None:
                    break
                if negligible or promised <= _ROUNDING * size:
                    # The promised gain is lost in rounding: this is as low as it goes.
                    return Minimum(x, here.value, n_iter, True)
                # Far from the minimum the curvature may be next to nothing and the step absurd;
                # one with the damping of the gradient's size moves each parameter by 1 at most.
                damping = max(4 * damping, float(np.abs(here.gradient).max()))
                here = self.back(x, here)
            x, here = trial, there
            damping /= 8
            if damping < _SMALL_DAMPING * here.curved:
                damping = 0.0
        return Minimum(x, here.value, max_iter, False)

    def _shortened(self, x: FloatArray, step: FloatArray, here: Any) -> tuple[FloatArray, Any]:
        """Halve the step until the objective falls by a share of what was promised, or None."""
        length = 1.0
        for _ in range(_HALVINGS):
            trial = np.clip(x + length * step, self._low, self._high)
            there = self.at(trial)
            if there.value <= here.value + _ARMIJO * float(here.gradient @ (trial - x)):
                return trial, there
            length /= 2
        return x, None


class _Quadratic(NamedTuple):
    """The objective about a point, by its Hessian, and the largest curvature by one parameter."""

    value: float
    gradient: FloatArray
    hessian: FloatArray
    curved: float


class _ByHessian(_Descent):
    def at(self, x: FloatArray) -> _Quadratic:
        value, gradient, hessian = self._objective(x)
        if not (np.isfinite(value) and np.isfinite(gradient).all() and np.isfinite(hessian).all()):
            return _Quadratic(float("nan"), gradient, hessian, 0.0)
        return _Quadratic(value, gradient, hessian, float(np.abs(np.diag(hessian)).max()))

    def step(self, x: FloatArray, here: _Quadratic, damping: float) -> FloatArray:
        gradient, hessian = here.gradient, here.hessian
        if damping:
            hessian = hessian + damping * np.eye(len(x))
        held = ((x <= self._low) & (gradient > 0)) | ((x >= self._high) & (gradient < 0))
        low, high = self._low - x, self._high - x
        step = np.zeros_like(x)
        while not held.all():
            free, pull, part = ~held, gradient, hessian
            if held.any():
                pull, part = gradient[free] + hessian[free][:, held] @ step[held], hessian[free]
                part = part[:, free]
            step[free] = -lapack.dpotrs(_factor(part), pull, lower=True)[0]
            crossed = (step < low) | (step > high)
            if not crossed.any():
                break
            # Stop these at their bounds and let the others make up for it.
            step = np.clip(step, low, high)
            held |= crossed
        if float(gradient @ step) < 0 or not step.any():
            return step
        from scipy import optimize  # rarely needed, and slow to import

        # H = L L', so the model is |L' d + L^-1 g|^2 / 2 up to a constant: least squares with
        # bounds.
        root = _factor(hessian)
        aim = -linalg.solve_triangular(root, gradient, lower=True)
        solution = optimize.lsq_linear(
            root.T, aim, bounds=(low, np.where(high > low, high, low + 1e-300)), method="bvls"
        )
        return np.asarray(np.clip(solution.x, low, high))


class _ByProducts(_Descent):
    exact: float
    most_work: int
    products = visits = 0

    @property
    def spent(self) -> bool:  # type: ignore[override]
        return self.products + _WORTH * self.visits >= self.most_work

    def at(self, x: FloatArray) -> Local:
        self.visits += 1
        here: Local = self._objective(x)
        return here

    def back(self, x: FloatArray, here: Local) -> Local:
        return self.at(x)

    def step(self, x: FloatArray, here: Local, damping: float) -> FloatArray:
        if self.visits == 1:
            self._first = _size(here)
        left = float(np.sqrt(_size(here) / self._first)) if self._first > 0 else 0.0
        left = min(max(left, _MOST_EXACT), self.exact)
        return _step_by_products(_damped(here, damping), self._low - x, self._high - x, left, self)


def _factor(hessian: FloatArray) -> FloatArray:
    """Return the Cholesky factor, with as small a ridge as makes a singular Hessian regular."""
    scale = max(float(np.abs(np.diag(hessian)).max()), np.finfo(np.float64).tiny)
    ridge = 1e-14 * scale
    while True:
        # Lower, with zeros above; without the checks that take longer than few parameters do.
        root, failed = lapack.dpotrf(hessian + ridge * np.eye(len(hessian)), lower=True)
        if not failed:
            return np.asarray(root)
        ridge *= 100


def _size(here: Local) -> float:
    """Return the square of the gradient's length, in units of the rough curvature."""
    return float(here.gradient @ here.roughly(here.gradient, 0.0))


def _damped(here: Local, damping: float) -> Local:
    """Return the same with something added to the diagonal of the Hessian."""
    if not damping:
        return here
    return here._replace(
        times=lambda v: here.times(v) + damping * v, roughly=lambda v, _: here.roughly(v, damping)
    )


def _step_by_products(
    here: Local, low: FloatArray, high: FloatArray, left: float, way: _ByProducts
) -> FloatArray:
    """Return a step to about the lowest point of the quadratic model between the bounds."""
    gradient = here.gradient
    held = ((low >= 0) & (gradient > 0)) | ((high <= 0) & (gradient < 0))
    while True:
        inside = _solved(here, -gradient, ~held, left, way)
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
        if held.all() or way.spent:
            break
        pull = gradient + here.times(step)
        step = step + _solved(here, -pull, ~held, left, way)
    if float(gradient @ step) < 0 or not step.any():
        return step
    # The others made up for too much: go straight to the first bound instead.
    room = np.where(inside < 0, low, high)
    reached = np.divide(room, inside, out=np.ones_like(inside), where=inside != 0)
    return inside * min(1.0, float(reached.min()))


def _solved(here: Local, aim: FloatArray, free: Mask, left: float, way: _ByProducts) -> FloatArray:
    """Solve Hessian times x = aim for the free parameters by conjugate gradients.

    So exactly that only this share of the aim is left.
    """
    solution = np.zeros_like(aim)
    rest = np.where(free, aim, 0.0)
    direction = towards = np.where(free, here.roughly(rest, 0.0), 0.0)
    size = begun = float(rest @ towards)
    for _ in range(min(_MOST_PRODUCTS, 2 * len(aim))):
        if not size > left**2 * begun or way.spent:
            break
        way.products += 1
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
