"""The calibrator picked by cross-validated log loss, and why it was picked.

Where a label shift is to be estimated, calibrators with a bias for each class come first: the
paper, and the study it builds on, found that EM without them mistakes bias for shift.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs import FloatArray, IntArray, Scale
from abstain.calibration._base import Calibrator
from abstain.calibration._beta import BetaCalibration
from abstain.calibration._dirichlet import DirichletCalibration
from abstain.calibration._identity import IdentityCalibration
from abstain.calibration._platt import PlattScaling
from abstain.calibration._temperature import BiasCorrectedTemperatureScaling, TemperatureScaling
from abstain.calibration._vector import NoBiasVectorScaling, VectorScaling

__all__ = ["AutoCalibration"]

#: Their mean probability on the validation set equals (or nearly) the class frequencies there.
_BIAS_CORRECTED = (
    PlattScaling,
    BiasCorrectedTemperatureScaling,
    VectorScaling,
    BetaCalibration,
    DirichletCalibration,
)
# Rows for each parameter below which Dirichlet calibration is mostly noise.
_DIRICHLET_ROWS = 20
# Rows times squared classes above which Dirichlet calibration takes longer than it is worth.
_DIRICHLET_WORK = 2_000_000
# Logits closer than this, relative or absolute, are of equal rows.
_SAME = 1e-12


class AutoCalibration(Calibrator):
    """The calibrator with the least cross-validated log loss.

    Parameters
    ----------
    scale : {"probabilities", "logits"}
        What the scores are.
    estimating_shift : bool
        Whether a label shift will be estimated from the result. Then one without bias
        correction is picked only if it is better by more than one standard error.
    cv : int
        Number of folds.

    Attributes
    ----------
    selected_ : str
        Name of the calibrator that was picked.
    cv_scores_ : dict of str to float
        Cross-validated log loss of each candidate; lower is better.
    calibrator_ : Calibrator
        The picked one, fitted on everything.
    classes_ : ndarray of shape (n_classes,)
        The label of each column.

    Notes
    -----
    Two classes: Platt, temperature and beta. More: temperature, bias-corrected temperature,
    vector, no-bias vector, and Dirichlet with 20 rows for each parameter where it does not take
    long. Identity is always one. Isotonic never is: its flat pieces tie rows that the scores
    told apart, and tied rows can be neither ranked nor withheld apart.
    Folds are stratified and the same for all candidates. Equal rows are in the same fold.

    Examples
    --------
    >>> import numpy as np
    >>> from abstain.calibration import AutoCalibration
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=600)
    >>> scores = 3 * (np.eye(3)[y] + rng.normal(size=(600, 3)))
    >>> auto = AutoCalibration(scale="logits").fit(scores, y)
    >>> auto.selected_
    'bcts'
    """

    name: ClassVar[str] = "auto"
    _state: ClassVar[tuple[str, ...]] = ()

    selected_: str
    cv_scores_: dict[str, float]
    calibrator_: Calibrator

    def __init__(
        self, *, scale: Scale = "probabilities", estimating_shift: bool = True, cv: int = 5
    ) -> None:
        super().__init__(scale=scale)
        self.estimating_shift = estimating_shift
        self.cv = cv

    def _fit(self, logits: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        if not isinstance(self.cv, int | np.integer) or self.cv < 2:
            raise ValueError(f"`cv` must be a whole number of at least 2; got {self.cv!r}.")
        counted = weight > 0
        logits, codes, weight = logits[counted], codes[counted], weight[counted]
        folds = _folds(logits, codes, int(self.cv))
        counts = np.bincount(codes, weights=weight, minlength=logits.shape[1]).astype(np.float64)
        candidates = [
            make(scale=self.scale) for make in _candidates(logits.shape[1], counts[counts > 0])
        ]
        losses = {
            candidate.name: _held_out_losses(candidate, logits, codes, weight, folds)
            for candidate in candidates
        }
        self.cv_scores_ = {
            name: float(np.average(loss, weights=weight)) for name, loss in losses.items()
        }
        self.selected_ = self._pick(losses, weight)
        self.calibrator_ = next(c for c in candidates if c.name == self.selected_)
        self.calibrator_._fit(logits, codes, weight)

    def _pick(self, losses: dict[str, FloatArray], weight: FloatArray) -> str:
        scores = self.cv_scores_
        best = min(scores, key=scores.__getitem__)
        corrected = [kind.name for kind in _BIAS_CORRECTED if kind.name in scores]
        if not self.estimating_shift or best in corrected:
            return best
        preferred = min(corrected, key=scores.__getitem__)
        gain = losses[preferred] - losses[best]
        mean = np.average(gain, weights=weight)
        variance = np.average((gain - mean) ** 2, weights=weight)
        error = float(np.sqrt(variance / weight.sum()))
        return best if mean > error else preferred

    def fit(
        self,
        scores: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        classes: Sequence[Any] | NDArray[Any] | None = None,
    ) -> Self:
        """Fit all candidates on labelled scores, and keep the best; as ``Calibrator.fit``."""
        super().fit(scores, y, sample_weight, classes=classes)
        self.calibrator_.classes_ = self.classes_
        return self

    @property
    def picked(self) -> Calibrator:
        """The calibrator that was picked."""
        return self.calibrator_

    def _proba(self, logits: FloatArray) -> FloatArray:
        return self.calibrator_._proba(logits)

    def _compact(self, scores: NDArray[Any], n_classes: int) -> FloatArray:
        return self.calibrator_._compact(scores, n_classes)

    def to_dict(self) -> dict[str, Any]:
        """Return the picked calibrator as plain data; it comes back as what was picked."""
        return self.calibrator_.to_dict()

    @classmethod
    def from_dict(cls, data: dict[str, Any], *, classes: NDArray[Any]) -> Self:
        """Not possible: ``to_dict`` describes the picked calibrator."""
        raise ValueError(
            'A stored calibrator has the name of what was picked, not "auto"; '
            "use abstain.calibration.from_dict."
        )


def _candidates(n_classes: int, counts: FloatArray) -> list[type[Calibrator]]:
    """Return the sensible calibrators, the simplest first."""
    kinds: list[type[Calibrator]] = [IdentityCalibration, TemperatureScaling]
    if n_classes == 2:
        kinds += [PlattScaling, BetaCalibration]
    else:
        kinds += [BiasCorrectedTemperatureScaling, NoBiasVectorScaling, VectorScaling]
        enough = counts.sum() >= _DIRICHLET_ROWS * n_classes * (n_classes + 1)
        if enough and counts.sum() * n_classes**2 <= _DIRICHLET_WORK:
            kinds.append(DirichletCalibration)
    return kinds


def _folds(logits: FloatArray, codes: IntArray, n_folds: int) -> IntArray:
    """Deal the distinct rows of each class to the folds in turn, in a fixed shuffled order.

    Equal rows stay together, so a row of weight 2 is the same as the row twice, and no fit is
    judged on a row it saw. Rows are told apart and put in order by value, not by their bits: a
    model's scores of the same features differ in the last digits with their place in a batch.
    """
    order = np.lexsort((*logits.T[::-1], codes))
    rows, labels = logits[order], codes[order]
    apart = ~np.isclose(rows[1:], rows[:-1], rtol=_SAME, atol=_SAME).all(axis=1)
    group = np.cumsum(np.append(True, apart | (labels[1:] != labels[:-1]))) - 1
    n_groups = int(group[-1]) + 1
    code = np.empty(n_groups, dtype=np.intp)
    code[group] = labels
    shuffled = np.random.default_rng(0).permutation(n_groups)
    by_class = shuffled[np.argsort(code[shuffled], kind="stable")]
    fold = np.empty(n_groups, dtype=np.intp)
    fold[by_class] = np.arange(n_groups) % min(n_folds, n_groups)
    folds = np.empty(len(codes), dtype=np.intp)
    folds[order] = fold[group]
    return folds


def _held_out_losses(
    candidate: Calibrator, logits: FloatArray, codes: IntArray, weight: FloatArray, folds: IntArray
) -> FloatArray:
    """Return the log loss of each row, by the fit that did not see it."""
    losses = np.empty(len(codes))
    smallest = np.finfo(np.float64).eps
    for fold in range(int(folds.max()) + 1):
        held = folds == fold
        if weight[~held].any():
            candidate._fit(logits[~held], codes[~held], weight[~held])
        proba = candidate._proba(logits[held])
        losses[held] = -np.log(np.maximum(proba[np.arange(len(proba)), codes[held]], smallest))
    return losses
