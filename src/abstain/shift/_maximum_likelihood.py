"""Class proportions of the target by maximum likelihood, the problem EM solves.

The paper adapts with the EM of Saerens et al. (2002). The likelihood is concave, so Newton's
method finds the same maximum in a few passes; EM is kept as the reference and the fallback.
"""

import warnings
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import FloatArray, check_labels, check_proba
from abstain._kernels.mixture import expected_classes, mixture_derivatives
from abstain._kernels.softmax import scaled_softmax
from abstain._numerics import minimise
from abstain.calibration import fit_scaling
from abstain.shift._base import NOT_CONVERGED, DrawMethod, ShiftEstimator, SourcePriors
from abstain.shift._identifiable import check_identifiable
from abstain.shift._uncertainty import calibrated_here, local_model
from abstain.summaries import LabelledSummary, Summary

__all__ = ["MaximumLikelihoodShift"]

Algorithm = Literal["newton", "em"]

# Above these many rows, a sample of so many gives the first steps.
_COARSE = (20_000, 160_000)


@dataclass(frozen=True)
class _Solution:
    """Ratios of target to source proportions, and how they were reached."""

    ratios: FloatArray
    n_iter: int
    converged: bool


class MaximumLikelihoodShift(ShiftEstimator):
    """Class proportions by maximum likelihood, as EM finds them but faster.

    Parameters
    ----------
    source_priors : {"mean-probability", "label-frequency"}
        Where the source's class proportions come from.
    algorithm : {"newton", "em"}
        Newton's method on the concave likelihood, with EM to fall back on; or plain EM.
    warm_start : bool
        Begin from the proportions of the last fit, for a stream of target batches.
    max_iter : int
        The most steps; a Newton step and an EM step both count one.
    calibrated_on_source : bool or "auto"
        Whether the probabilities come from a calibrator fitted on the source; intervals and
        draws then carry its noise too. "auto" finds out from the source's labels, if given:
        the mean probabilities of such a calibrator meet the class frequencies.

    Attributes
    ----------
    source_priors_, priors_, weights_ : ndarray of shape (n_classes,)
        Proportions of the source and the target, and their ratio.
    n_iter_ : int
        Steps taken, on the whole target.
    converged_ : bool
        Whether the maximum was reached.

    Raises
    ------
    NotIdentifiable
        If the scores of some classes cannot be told apart on the source.

    Notes
    -----
    With s the source's and q the target's proportions, each target row has likelihood
    ``sum_c q_c p_c / s_c``. With ``w = q / s`` the maximum of ``mean log(p . w) - s . w`` over
    ``w >= 0`` has ``s . w = 1`` of itself, which leaves a concave problem with bounds only; a
    class that the target does not have gets exactly 0.

    References
    ----------
    M. Saerens, P. Latinne, C. Decaestecker (2002). Adjusting the outputs of a classifier to new
    a priori probabilities: a simple procedure. Neural Computation 14(1).

    Examples
    --------
    >>> import numpy as np
    >>> from abstain.shift import MaximumLikelihoodShift
    >>> source = np.array([[0.8, 0.2], [0.2, 0.8]])
    >>> target = np.array([[0.8, 0.2], [0.2, 0.8], [0.2, 0.8], [0.2, 0.8]])
    >>> shift = MaximumLikelihoodShift().fit(source, target)
    >>> shift.priors_.round(4)  # 0.2 + 0.6 q = 3 / 4 of the rows score high
    array([0.0833, 0.9167])
    """

    name: ClassVar[str] = "em"
    draw_method: ClassVar[DrawMethod] = "asymptotic"

    n_iter_: int
    converged_: bool

    def __init__(
        self,
        *,
        source_priors: SourcePriors = "mean-probability",
        algorithm: Algorithm = "newton",
        warm_start: bool = False,
        max_iter: int = 10_000,
        calibrated_on_source: bool | Literal["auto"] = "auto",
    ) -> None:
        super().__init__(source_priors=source_priors)
        self.algorithm = algorithm
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.calibrated_on_source = calibrated_on_source

    def fit(
        self,
        proba_source: ArrayLike,
        proba_target: ArrayLike,
        y_source: ArrayLike | None = None,
        *,
        y_target: ArrayLike | None = None,
        sample_weight_source: ArrayLike | None = None,
        sample_weight_target: ArrayLike | None = None,
    ) -> Self:
        """Estimate the class proportions of the target.

        Parameters
        ----------
        proba_source : array-like of shape (n_source, n_classes)
            Calibrated probabilities on the labelled source.
        proba_target : array-like of shape (n_target, n_classes)
            Calibrated probabilities on the target.
        y_source : array-like of shape (n_source,), optional
            True labels of the source, as column numbers.
        y_target : array-like of shape (n_target,), optional
            Labels of a few target rows chosen at random, as column numbers; -1 for a row whose
            label is not known.
        sample_weight_source, sample_weight_target : array-like, optional
            How much each row counts; a whole number equals repetition.

        Returns
        -------
        self
        """
        if y_target is not None:
            proba_target = _with_labels(proba_target, y_target)
        return super().fit(
            proba_source,
            proba_target,
            y_source,
            sample_weight_source=sample_weight_source,
            sample_weight_target=sample_weight_target,
        )

    def _fit(self, source: LabelledSummary, target: Summary) -> None:
        if self.algorithm not in get_args(Algorithm):
            raise ValueError(f'`algorithm` must be "newton" or "em"; got {self.algorithm!r}.')
        priors = self.source_priors_
        check_identifiable(source.proba, source.weight)
        rows, weight_target = target.for_likelihood()
        weight = np.empty(0) if weight_target is None else weight_target
        proba, weight = _possible(np.ascontiguousarray(rows), weight, priors)
        start = np.ones(len(priors))
        previous = getattr(self, "weights_", None)
        if self.warm_start and previous is not None and len(previous) == len(priors):
            # A class at 0 would stay there under EM.
            start = np.maximum(previous, 1e-6)
        found = _solve(proba, weight, priors, start, self.algorithm, self.max_iter)
        if not found.converged:
            from sklearn.exceptions import ConvergenceWarning

            warnings.warn(
                f"{NOT_CONVERGED} in {found.n_iter} steps; raise `max_iter`.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        estimate = np.where(priors > 0, found.ratios * priors, 0.0)
        self.priors_ = estimate / estimate.sum()

    def _asymptotic_draws(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        model = local_model(
            *self._fitted,
            self.weights_,
            self.source_priors_,
            priors_from=self.source_priors,
            calibrated=self._calibrated(),
        )
        return model.draws(n_draws, rng)

    def _refitted(self, source: LabelledSummary, target: Summary) -> FloatArray:
        if not self._calibrated() or source.codes is None:
            return super()._refitted(source, target)
        weight = np.ones(len(source.proba)) if source.weight is None else source.weight
        logs = np.log(np.maximum(source.proba, np.finfo(np.float64).eps))
        slope, bias = fit_scaling(logs, source.codes, weight, shared_slope=True, with_bias=True)
        return super()._refitted(
            replace(source, proba=scaled_softmax(logs, slope, bias)),
            target.moved(slope, bias, np.ones(len(slope))),
        )

    def _calibrated(self) -> bool:
        if self.calibrated_on_source == "auto":
            return calibrated_here(self._fitted[0])
        return bool(self.calibrated_on_source)


def _with_labels(proba: ArrayLike, labels: ArrayLike) -> FloatArray:
    """Make rows with a label certain: their likelihood is the proportion of that class."""
    matrix = check_proba(proba, name="proba_target").copy()
    given = np.asarray(labels)
    if given.shape != (len(matrix),):
        raise ValueError(
            f"`y_target` must have one entry per row of `proba_target`, -1 where the label is "
            f"not known; {len(matrix)} rows, shape {given.shape}."
        )
    rows = np.flatnonzero(given != -1)
    if len(rows):
        codes = check_labels(given[rows], n_classes=matrix.shape[1], name="y_target")
        matrix[rows] = 0.0
        matrix[rows, codes] = 1.0
    return matrix


def _possible(
    proba: FloatArray, weight: FloatArray, priors: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Leave out rows that could only be of classes which the source does not have."""
    if (priors > 0).all():
        return proba, weight
    possible = proba[:, priors > 0].sum(axis=1) > 0
    return proba, possible * (weight if len(weight) else 1.0)


def _solve(
    proba: FloatArray,
    weight: FloatArray,
    priors: FloatArray,
    start: FloatArray,
    algorithm: Algorithm,
    max_iter: int,
) -> _Solution:
    if algorithm == "em":
        return _em(proba, weight, priors, start, max_iter)
    for most in _COARSE:
        stride = len(proba) // most
        coarse = weight[::stride] if stride else weight
        if stride > 1 and (not len(weight) or coarse.any()):
            sample = np.ascontiguousarray(proba[::stride])
            start = _newton(sample, coarse, priors, start, max_iter).ratios
    found = _newton(proba, weight, priors, start, max_iter)
    if found.converged:
        return found
    again = _em(proba, weight, priors, np.maximum(found.ratios, 1e-6), max_iter)
    return _Solution(again.ratios, found.n_iter + again.n_iter, again.converged)


def _newton(
    proba: FloatArray, weight: FloatArray, priors: FloatArray, start: FloatArray, max_iter: int
) -> _Solution:
    known = priors > 0
    held = np.where(known, np.inf, 0.0)

    def objective(ratios: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        value, gradient, hessian = mixture_derivatives(proba, weight, ratios)
        return float(priors @ ratios) - value, priors - gradient, hessian

    found = minimise(objective, start, lower=0.0, upper=held, max_iter=min(max_iter, 100))
    return _Solution(found.x, found.n_iter, found.converged)


def _em(
    proba: FloatArray, weight: FloatArray, priors: FloatArray, start: FloatArray, max_iter: int
) -> _Solution:
    """Plain EM: the new proportions are the mean of the adapted probabilities."""
    known = priors > 0
    ratios = np.where(known, start, 0.0)
    current = priors * ratios
    for n_iter in range(1, max_iter + 1):
        updated = expected_classes(proba, weight, ratios)
        change = np.abs(updated - current).max()
        current = updated
        ratios = np.divide(current, priors, out=np.zeros_like(current), where=known)
        if change < 1e-12:
            return _Solution(ratios, n_iter, True)
    return _Solution(ratios, max_iter, False)
