"""Class proportions of the target by maximum likelihood, the problem EM solves.

The paper adapts with the EM of Saerens et al. (2002). The likelihood is concave, so Newton's
method finds the same maximum in a few passes; EM is kept as the reference and the fallback.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from abstain._inputs import FloatArray, check_labels, check_proba, check_whole, number
from abstain._kernels.proportions import expected_classes, mixture_derivatives
from abstain._kernels.softmax import scaled_softmax
from abstain._numerics import Local, clone, gamma_draws, minimise, minimise_by_products
from abstain._schema import AMOUNT, Either, Flag, Keys, Kind, OneOf, Whole
from abstain.calibration import fit_scaling
from abstain.exceptions import of_sklearn, warn_user
from abstain.shift._base import (
    FROM,
    NOT_CONVERGED,
    DrawMethod,
    ShiftEstimator,
    SourcePriors,
    ratio_of_priors,
)
from abstain.shift._identifiable import check_identifiable
from abstain.shift._replicated import priors_of_two, replicated_priors
from abstain.shift._uncertainty import LocalModel, calibrated_here, local_model
from abstain.summaries import BatchSummary, LabelledSummary, RowSummary

Algorithm = Literal["newton", "em"]

# Up to this many classes replicates are solved together.
MANY_CLASSES = 32
# Proportions miss by about this much more than slopes and biases of a calibration can tell: the
# error on real sets against the spread of draws.
_MORE_SPREAD = 1.25
# A proportion that draws bring below 0 keeps this share of itself.
_LEAST_LEFT = 0.05
# Above these many rows, a sample of so many gives the first steps.
_COARSE = (20_000, 160_000)
# How far from 1 the proportions may sum where Newton's method has ended.
_OFF = 0.01
# A row whose classes of the source are all as improbable as this is of another class.
_IMPOSSIBLE = 1e-200
_MOST_STEPS = 1_000_000
_MOST_ROWS = 1e15
_MOST_NEWTON = 100
# Up to this many classes their Hessian is made; curvatures below this share of the largest are it.
_MOST_DENSE, _LEAST_CURVED = 128, 1e-10
# A step this short is the last one.
_EXACT = 1e-9
# Prior rows that move nothing but keep every class above 0.
_HARDLY = 1e-6


@dataclass(frozen=True)
class _Solution:
    """Ratios of target to source proportions, and how they were reached."""

    ratios: FloatArray
    n_iter: int
    converged: bool


#: What a policy file holds of the parameters of an estimator that has a likelihood.
OF_LIKELIHOOD: dict[str, Kind] = {
    **FROM,
    "prior_rows?": AMOUNT,
    "calibrated_on_source?": Either(flag=Flag(), text=OneOf("auto")),
}


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
        The most steps, up to 1,000,000; a Newton step and an EM step both count one.
    calibrated_on_source : bool or "auto"
        Whether the probabilities come from a calibrator fitted on the source; intervals and
        draws then carry its noise too. "auto" finds out from the source's labels, if given:
        the mean probabilities of such a calibrator meet the class frequencies.
    prior_rows : float
        How many rows the source's proportions are worth: the target counts as if it had so many
        more, of known class, in these proportions. 0, the default, is the paper's likelihood;
        a few keep weak scores and small targets from proportions that noise alone explains.

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
        If the scores of some classes cannot be told apart on the source, and no ``prior_rows``
        settle it.

    Notes
    -----
    With s the source's and q the target's proportions, each target row has likelihood
    ``sum_c q_c p_c / s_c``. With ``w = q / s`` the maximum of ``mean log(p . w) - s . w`` over
    ``w >= 0`` has ``s . w = 1`` of itself, which leaves a concave problem with bounds only; a
    class that the target does not have gets exactly 0.

    With r prior rows and n rows the objective is ``(n mean log(p . w) + r s . log w) / (n + r)
    - s . w``, the posterior mode under a Dirichlet prior. Then ``w >= r / (n + r)``.

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
    keys: ClassVar[Keys] = OF_LIKELIHOOD | {
        "algorithm?": OneOf("newton", "em"),
        "warm_start?": Flag(),
        "max_iter?": Whole(1, 100_000),
    }
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
        prior_rows: float = 0.0,
    ) -> None:
        super().__init__(source_priors=source_priors)
        self.algorithm = algorithm
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.calibrated_on_source = calibrated_on_source
        self.prior_rows = prior_rows

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

    def _fit(self, source: LabelledSummary, target: BatchSummary) -> None:
        if self.algorithm not in get_args(Algorithm):
            raise ValueError(f'`algorithm` must be "newton" or "em"; got {self.algorithm!r}.')
        check_whole(self.max_iter, name="max_iter", most=_MOST_STEPS)
        if not 0 <= number(self.prior_rows, "prior_rows") <= _MOST_ROWS:
            raise ValueError(
                f"`prior_rows` must be at least 0; got {self.prior_rows!r}. It is at most "
                f"{_MOST_ROWS:g}."
            )
        priors = self.source_priors_
        if self.prior_rows == 0 and (self._known is None or not self._known.all()):
            check_identifiable(source.proba, source.weight)
        rows, weight = target.for_likelihood()
        known = self._rows_of_class
        found = None
        if self.algorithm == "newton" and len(priors) == 2 and known.min() > 0:
            found = _of_two(rows[:, 1], weight, priors, known, min(self.max_iter, _MOST_NEWTON))
        if found is None or not found.converged:
            found = self._of_any(rows, weight, known)
        if not found.converged:
            warn_user(
                f"{NOT_CONVERGED} in {found.n_iter} steps; raise `max_iter`.",
                of_sklearn("ConvergenceWarning", UserWarning),
            )
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        estimate = np.where(priors > 0, found.ratios * priors, 0.0)
        self.priors_ = estimate / estimate.sum()

        self._local: LocalModel | None = None

    def _of_any(self, rows: FloatArray, weight: FloatArray | None, known: FloatArray) -> _Solution:
        """Return the ratios for any number of classes, which need not all have a row."""
        priors = self.source_priors_
        proba, count = _possible(
            np.ascontiguousarray(rows), np.empty(0) if weight is None else weight, priors
        )
        start = np.ones(len(priors))
        previous = getattr(self, "weights_", None)
        if self.warm_start and previous is not None and len(previous) == len(priors):
            # A class at 0 would stay there under EM.
            start = np.maximum(previous, 1e-6)
        n = float(count.sum()) if len(count) else float(len(proba))
        if not n > 0:
            # Rows that no class of the source explains say nothing about its classes.
            return _Solution(np.ones(len(priors)), 0, True)
        total = float(known.sum())
        mix = known / total if total else priors
        problem = _Problem(proba, count, priors, total / (n + total), mix)
        return _solve(problem, start, self.algorithm, self.max_iter)

    def _with_known(self, priors: FloatArray, n: float, known: FloatArray) -> FloatArray:
        return priors  # they were in the likelihood

    @property
    def _rows_of_class(self) -> FloatArray:
        """How many rows of known class there are of each: the prior's, and those with a label."""
        prior: FloatArray = self.prior_rows * self.source_priors_
        if self._known is None:
            return prior
        # A class that the source does not have is none that the likelihood knows.
        return prior + np.where(self.source_priors_ > 0, self._known, 0.0)

    def ratio_draws(
        self, moved: FloatArray, weight: FloatArray, source: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return the ratios of class proportions of each replicate, found anew."""
        n_classes = len(self.priors_)
        if n_classes > MANY_CLASSES:
            return super().ratio_draws(moved, weight, source, rng)
        known = np.maximum(self._rows_of_class, _HARDLY * self.source_priors_)
        pseudo = np.vstack([known, gamma_draws(known, len(moved) - 1, rng)])
        found = replicated_priors(moved, weight, source, pseudo, self.priors_)
        # Some rows stood for all, so it is the differences that count.
        spread = _MORE_SPREAD * (found[1:] - found[1:].mean(axis=0))
        drawn = self.priors_ + found[1:].mean(axis=0) - found[0] + spread
        drawn = np.maximum(drawn, _LEAST_LEFT * found[1:])
        return ratio_of_priors(drawn / drawn.sum(axis=1, keepdims=True), source[1:])

    def _asymptotic_draws(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        if self._local is None:
            self._local = local_model(
                *self._fitted,
                self.weights_,
                self.source_priors_,
                priors_from=self.source_priors,
                calibrated=self._calibrated(),
                known=self._rows_of_class,
            )
        return self._local.draws(n_draws, rng)

    def _refitted(
        self, source: LabelledSummary, target: BatchSummary, rng: np.random.Generator
    ) -> FloatArray:
        if self._calibrated() and source.codes is not None:
            weight = np.ones(len(source.proba)) if source.weight is None else source.weight
            logs = np.log(np.maximum(source.proba, np.finfo(np.float64).eps))
            scaling = fit_scaling(logs, source.codes, weight)
            source = replace(source, proba=scaled_softmax(logs, *scaling))
            target = target.moved(*scaling, np.ones(len(self.priors_)))
        if self._rows_of_class.any():
            # The rows of known class are drawn as well; what is left of the prior is next to none.
            (known,) = gamma_draws(self._rows_of_class, 1, rng)
            target = target.merged(RowSummary(np.eye(len(known)), known))
            return clone(self).set_params(prior_rows=_HARDLY)._refitted_as_is(source, target)
        return self._refitted_as_is(source, target)

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
    possible: FloatArray = (proba[:, priors > 0].sum(axis=1) > _IMPOSSIBLE).astype(np.float64)
    return proba, possible * (weight if len(weight) else 1.0)


@dataclass(frozen=True)
class _Problem:
    """What is maximised: the likelihood of the rows, and of rows of known class besides.

    The latter are ``share`` of all, in the proportions ``mix``.
    """

    proba: FloatArray
    weight: FloatArray
    priors: FloatArray
    share: float
    mix: FloatArray

    @property
    def lowest(self) -> FloatArray:
        """The ratios that no batch undercuts: those of a class with no row but the known ones."""
        return self.share * np.divide(
            self.mix, self.priors, out=np.zeros_like(self.mix), where=self.priors > 0
        )

    def objective(self, ratios: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the convex function to minimise, its gradient and its Hessian."""
        found, gradient, hessian = mixture_derivatives(self.proba, self.weight, ratios)
        value, slope, curved = self._joined(ratios, found, gradient)
        return value, slope, (1 - self.share) * hessian + np.diag(curved)

    def by_products(self, ratios: FloatArray) -> Local:
        """Return the same of many classes, whose Hessian is multiplied with and not made."""
        totals = self.proba @ ratios
        count = self.weight if len(self.weight) else np.ones(len(totals))
        mass, there = count.sum() / (1 - self.share), (totals > 0) & (count > 0)
        each = np.divide(count, totals, out=np.zeros_like(totals), where=there)
        with np.errstate(divide="ignore"):
            logs = np.log(totals, out=np.zeros_like(totals), where=count > 0)
        value, slope, curved = self._joined(
            ratios, float(logs @ count / count.sum()), each @ self.proba / count.sum()
        )
        square = np.divide(each, totals, out=np.zeros_like(totals), where=there) / mass
        diagonal = curved + np.einsum("x,xi,xi->i", square, self.proba, self.proba)
        least = _LEAST_CURVED * float(diagonal.max())

        def times(v: FloatArray) -> FloatArray:
            return np.asarray((self.proba @ v * square) @ self.proba + curved * v)

        def roughly(v: FloatArray, damping: float) -> FloatArray:
            return np.asarray(v / (np.maximum(diagonal, least) + damping))

        return Local(value, slope, times, roughly, float(diagonal.max()))

    def _joined(
        self, ratios: FloatArray, value: float, gradient: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return value and gradient with the rows of known class, and what these curve."""
        if self.share == 0:
            return float(self.priors @ ratios) - value, self.priors - gradient, 0 * ratios
        known = self.share * np.divide(
            self.mix, ratios, out=np.zeros_like(ratios), where=ratios > 0
        )
        curved = np.divide(known, ratios, out=np.zeros_like(ratios), where=ratios > 0)
        rest, logs = 1 - self.share, self.share * float(xlogy(self.mix, ratios).sum())
        slope = self.priors - rest * gradient - known
        return float(self.priors @ ratios) - rest * value - logs, slope, curved

    def em_step(self, ratios: FloatArray) -> FloatArray:
        """Return the mean of the adapted probabilities: the next proportions."""
        rows = expected_classes(self.proba, self.weight, ratios)
        return (1 - self.share) * rows + self.share * self.mix

    def thinned(self, stride: int) -> _Problem:
        """Return the problem of one row in so many."""
        return replace(
            self, proba=np.ascontiguousarray(self.proba[::stride]), weight=self.weight[::stride]
        )


def _of_two(
    p: FloatArray, weight: FloatArray | None, priors: FloatArray, known: FloatArray, most: int
) -> _Solution:
    """Return the maximum of two classes, which rows of known class keep off the ends."""
    count = np.ones(len(p)) if weight is None else weight
    found, n_iter = priors_of_two(
        p[None], count[None], priors[None], known[None], priors[1], precision=_EXACT, most=most
    )
    return _Solution(found[0] / priors, n_iter, n_iter < most)


def _solve(problem: _Problem, start: FloatArray, algorithm: Algorithm, max_iter: int) -> _Solution:
    """Return the maximum: by EM, or by Newton's method, of many rows on some of them first."""
    if algorithm == "em":
        return _em(problem, start, max_iter)
    strides = [len(problem.proba) // most for most in _COARSE]
    parts = [
        problem.thinned(stride)
        for stride in strides
        if stride > 1 and (not len(problem.weight) or problem.weight[::stride].any())
    ]
    held = np.where(problem.priors > 0, np.inf, 0.0)
    for part in (*parts, problem):
        most, lower = min(max_iter, _MOST_NEWTON), part.lowest
        if len(start) > _MOST_DENSE:
            found = minimise_by_products(
                part.by_products, start, lower=lower, upper=held, max_iter=most
            )
        else:
            found = minimise(part.objective, start, lower=lower, upper=held, max_iter=most)
        # The ratios times the source's proportions sum to 1 at the maximum; what is far from it,
        # or not a number, is none.
        near = abs(float(problem.priors @ found.x) - 1) < _OFF
        start = found.x if near else np.ones(len(start))
    if near and found.converged:
        return _Solution(start, found.n_iter, True)
    again = _em(problem, np.maximum(start, 1e-6), max_iter)
    return _Solution(again.ratios, found.n_iter + again.n_iter, again.converged)


def _em(problem: _Problem, start: FloatArray, max_iter: int) -> _Solution:
    """Plain EM: the new proportions are the mean of the adapted probabilities."""
    known = problem.priors > 0
    ratios = np.where(known, start, 0.0)
    current = problem.priors * ratios
    for n_iter in range(1, max_iter + 1):
        updated = problem.em_step(ratios)
        change = np.abs(updated - current).max()
        current = updated
        ratios = np.divide(current, problem.priors, out=np.zeros_like(current), where=known)
        if change < 1e-12:
            return _Solution(ratios, n_iter, True)
    return _Solution(ratios, max_iter, False)
