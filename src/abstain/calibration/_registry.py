"""Calibrators by name, the one that is picked by itself, and back from the data a policy stores.

Where a label shift is to be estimated, calibrators with a bias for each class come first: the
paper, and the study it builds on, found that EM without them mistakes bias for shift.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray, Scale, check_whole
from abstain._kernels._pieces import over_rows, rows_at_a_time
from abstain._logs import logger
from abstain._numerics import Registry
from abstain._schema import SCALE
from abstain.calibration._base import PRIOR_ROWS, Calibrator, smoothed_targets
from abstain.calibration._dirichlet import DirichletCalibration
from abstain.calibration._folds import FOLDS, MANY_ROWS, Folds, WithoutFolds
from abstain.calibration._isotonic import IsotonicCalibration
from abstain.calibration._scaling import (
    BetaCalibration,
    BiasCorrectedTemperatureScaling,
    FittedScaling,
    IdentityCalibration,
    NoBiasVectorScaling,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from abstain.calibration._scaling_fit import MANY_CLASSES

_logger = logger("calibration")

C = TypeVar("C", bound=Calibrator)

#: Their mean probability on the validation set equals (or nearly) the class frequencies there.
_BIAS_CORRECTED = (
    PlattScaling,
    BiasCorrectedTemperatureScaling,
    VectorScaling,
    BetaCalibration,
    IsotonicCalibration,
    DirichletCalibration,
)
_MOST_FOLDS = 1_000
# Steps of a fit of many classes that show whether it has a prospect, and standard errors from the
# best at which it has none.
_FEW_STEPS, _FAR_BEHIND = 8, 3.0
# Rows for each parameter below which Dirichlet calibration is mostly noise.
_DIRICHLET_ROWS = 20
# Rows times squared classes above which Dirichlet calibration takes longer than it is worth.
_DIRICHLET_WORK = 2_000_000
# Rows for each distinct score from which on isotonic calibration is a candidate.
_ISOTONIC_ROWS = 20


class AutoCalibration(Calibrator):
    """The calibrator with the least cross-validated log loss, simpler ones preferred.

    Parameters
    ----------
    scale : {"probabilities", "logits"}
        What the scores are.
    estimating_shift : bool
        Whether a label shift will be estimated from the result. Then one without bias
        correction is picked only if it is better by more than one standard error.
    cv : int
        Number of folds, from 2 to 1,000.

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
    Two classes: Platt, temperature, beta, and isotonic where the scores take few values, with 20
    rows for each. More: temperature, bias-corrected temperature, vector, no-bias vector, and
    Dirichlet with 20 rows for each parameter where it does not take long. Identity is always one.

    The loss that decides has the prior that the fits have, so that few rows without an error do
    not make the boldest candidate the best; and each free parameter of a candidate costs
    1 / (2 n), which breaks near ties on few rows in favour of the simpler one. Both vanish as n
    grows. Folds are stratified and the same for all candidates. Few rows of one score are in the
    same fold whatever their labels; many are dealt out to all folds. Of 24 classes or more one
    fold tells which candidates are in the race at all: the others are fitted to a few steps, and
    have the loss of that fold.

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
        check_whole(self.cv, name="cv", least=2, most=_MOST_FOLDS)
        counted = weight > 0
        logits, codes, weight = logits[counted], codes[counted], weight[counted]
        folds = Folds.deal(logits, codes, weight, int(self.cv))
        # Equal rows are one from here on, which changes nothing but the time it takes.
        logits, codes, weight = logits[folds.rows], codes[folds.rows], folds.weight
        free = _candidates(logits.shape[1], float(weight.sum()), folds.n_levels)
        targets = smoothed_targets(codes, weight, logits.shape[1], PRIOR_ROWS)
        self.cv_scores_, losses, found = {}, {}, {}
        if logits.shape[1] >= MANY_CLASSES:
            free = self._with_prospects(free, logits, codes, folds, targets)
        if len(free) == 1 and len(codes) >= MANY_ROWS:
            # Nothing is left to pick, and nobody asks for rows held out of so many.
            (kind,) = free
            self.calibrator_, self.selected_ = kind(scale=self.scale), kind.name
            self.calibrator_._fit(logits, codes, weight)
            self.without_folds = None
            return
        for kind in free:
            candidate = kind(scale=self.scale)
            candidate._fit(logits, codes, weight)
            without = WithoutFolds.of(candidate, logits, codes, folds)
            own, losses[kind.name] = _log_losses(without.proba(logits), codes, targets)
            self.cv_scores_[kind.name] = float(np.average(own, weights=weight))
            found[kind.name] = candidate, without
        # What a free parameter is expected to cost on new rows, to break near ties on few rows.
        cost = 1 / (2 * weight.sum())
        for kind, number in free.items():
            losses[kind.name] += cost * number
        self.selected_ = self._pick(losses, weight)
        _logger.debug("cross-validated log loss: %s", self.cv_scores_)
        self.calibrator_, without = found[self.selected_]
        self.without_folds = without if self.cv == FOLDS else None

    def _with_prospects(
        self,
        free: dict[type[Calibrator], int],
        logits: FloatArray,
        codes: IntArray,
        folds: Folds,
        targets: FloatArray,
    ) -> dict[type[Calibrator], int]:
        """Return the candidates that one fold leaves in the race, of which the others see all.

        Many classes take long to fit. So each candidate takes a few steps from the best before it;
        what overfits loses more the further it goes. Where neither biases nor slopes of the
        classes have a prospect, both together have none.
        """
        seen, weight = folds.fold != folds.fold[0], folds.weight
        fold = logits[seen], codes[seen], weight[seen]
        held, cost = ~seen, 1 / (2 * weight.sum())
        losses: dict[type[Calibrator], FloatArray] = {}
        best: FittedScaling | None = None
        for kind, number in free.items():
            candidate = kind(scale=self.scale)
            if kind is VectorScaling and isinstance(best, TemperatureScaling):
                break
            if best is not None and isinstance(candidate, FittedScaling):
                start = best.slope_, best.bias_
                candidate._fit_from(start, *fold, max_iter=_FEW_STEPS)
            else:
                candidate._fit(*fold)
            own, aimed = _log_losses(candidate._proba(logits[held]), codes[held], targets)
            self.cv_scores_[kind.name] = float(np.average(own, weights=weight[held]))
            losses[kind] = aimed + cost * number
            least = min(self.cv_scores_.values())
            if isinstance(candidate, FittedScaling) and self.cv_scores_[kind.name] <= least:
                best = candidate
        left = _in_the_race(losses, weight[held])
        _logger.debug("left in the race after one fold: %s", [kind.name for kind in left])
        return {kind: number for kind, number in free.items() if kind in left}

    def _pick(self, losses: dict[str, FloatArray], weight: FloatArray) -> str:
        scores = {name: np.average(loss, weights=weight) for name, loss in losses.items()}
        best = min(scores, key=scores.__getitem__)
        corrected = [kind.name for kind in _BIAS_CORRECTED if kind.name in scores]
        if not self.estimating_shift or best in corrected or not corrected:
            _logger.info("picked %s, of the least cross-validated log loss", best)
            return best
        preferred = min(corrected, key=scores.__getitem__)
        gain = losses[preferred] - losses[best]
        mean = np.average(gain, weights=weight)
        variance = np.average((gain - mean) ** 2, weights=weight)
        error = float(np.sqrt(variance / weight.sum()))
        picked = best if mean > error else preferred
        _logger.info(
            "picked %s: before a shift is estimated a bias for each class counts more than %.2g "
            "of log loss, the lead of %s, unless that is beyond its standard error %.2g",
            picked,
            mean,
            best,
            error,
        )
        return picked

    @property
    def picked(self) -> Calibrator:
        """The calibrator that was picked."""
        return self.calibrator_

    def _proba(self, logits: FloatArray) -> FloatArray:
        return self.calibrator_._proba(logits)

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


def _candidates(n_classes: int, n_rows: float, n_levels: int) -> dict[type[Calibrator], int]:
    """Return the sensible calibrators with how many parameters are free, the simplest first."""
    k = n_classes
    kinds: dict[type[Calibrator], int] = {IdentityCalibration: 0, TemperatureScaling: 1}
    if k == 2:
        kinds |= {PlattScaling: 2, BetaCalibration: 3}
        # Two levels are met by Platt's curve already.
        if n_levels > 2 and n_rows >= _ISOTONIC_ROWS * n_levels:
            kinds[IsotonicCalibration] = 3
    else:
        kinds |= {BiasCorrectedTemperatureScaling: k, NoBiasVectorScaling: k}
        kinds[VectorScaling] = 2 * k - 1
        enough = n_rows >= _DIRICHLET_ROWS * k * (k + 1)
        if enough and n_rows * k**2 <= _DIRICHLET_WORK:
            kinds[DirichletCalibration] = (k + 1) * (k - 1)
    return kinds


def _in_the_race(
    losses: dict[type[Calibrator], FloatArray], weight: FloatArray
) -> list[type[Calibrator]]:
    """Return the candidates whose loss is not beyond chance above the least."""
    best = min(losses.values(), key=lambda loss: float(np.average(loss, weights=weight)))
    left = []
    for kind, loss in losses.items():
        behind = loss - best
        mean = np.average(behind, weights=weight)
        variance = np.average((behind - mean) ** 2, weights=weight)
        if not mean > _FAR_BEHIND * np.sqrt(variance / weight.sum()):
            left.append(kind)
    return left


def _log_losses(
    proba: FloatArray, codes: IntArray, targets: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the log loss of each row by its own class, and by what rows of that aim at."""
    own, aimed = np.empty((2, len(proba)))

    def fill(begin: int, end: int) -> None:
        logs = np.log(np.maximum(proba[begin:end], np.finfo(np.float64).eps))
        code = codes[begin:end]
        own[begin:end] = -logs[np.arange(end - begin), code]
        aimed[begin:end] = -np.einsum("xi,xi->x", targets[code], logs)

    over_rows(fill, len(proba), size=rows_at_a_time(proba.shape[1]))
    return own, aimed


_CALIBRATORS: Registry[type[Calibrator]] = Registry(
    "calibration",
    [
        AutoCalibration,
        BetaCalibration,
        BiasCorrectedTemperatureScaling,
        DirichletCalibration,
        IdentityCalibration,
        IsotonicCalibration,
        NoBiasVectorScaling,
        PlattScaling,
        TemperatureScaling,
        VectorScaling,
    ],
    kind="Calibrator",
    known_as={
        "platt": "logistic sigmoid",
        "temperature": "temp ts",
        "vector": "vs",
        "dirichlet": "matrix",
        "identity": "no none off",
    },
    remedy="One of your own is known after abstain.calibration.register(its class).",
)


#: What a policy file holds of its calibrator; of "auto" the one that was picked.
KEYS = _CALIBRATORS.stored(lambda kind: {"scale": SCALE, **kind.state}, "auto")


def register(calibrator: type[C]) -> type[C]:
    """Make a calibrator of your own known by its ``name``, to ``get`` and to policies.

    Parameters
    ----------
    calibrator : type
        A class made from ``Calibrator``; it may stand above the class as a decorator. One
        registered before under the same name is replaced.

    Returns
    -------
    type
        The class.

    Raises
    ------
    ValueError
        If the name is that of a built-in calibrator.

    Examples
    --------
    >>> from abstain import calibration
    >>> @calibration.register
    ... class Halved(calibration.IdentityCalibration):
    ...     def operations(self, logits):
    ...         return super().operations(logits * 0.5)
    >>> calibration.get("Halved", scale="logits")
    Halved(scale='logits')
    """
    _CALIBRATORS.register_class(calibrator, Calibrator)
    return calibrator


def get(
    calibration: str | Calibrator, *, scale: Scale, estimating_shift: bool = True
) -> Calibrator:
    """Return the calibrator of that name, or the given one.

    Parameters
    ----------
    calibration : str or Calibrator
        A registered name, or a calibrator, which is returned as it is.
    scale : {"probabilities", "logits"}
        What the scores are; a given calibrator must have been made for the same.
    estimating_shift : bool
        Whether a label shift will be estimated from the result, which "auto" takes into account.

    Returns
    -------
    Calibrator

    Examples
    --------
    >>> from abstain import calibration
    >>> calibration.get("platt", scale="logits")
    PlattScaling(scale='logits')
    """
    if isinstance(calibration, Calibrator):
        if calibration.scale != scale:
            raise ValueError(
                f"`calibration` was made for scale={calibration.scale!r}, but the scores are "
                f"{scale}. Make it with scale={scale!r}."
            )
        return calibration
    if calibration == AutoCalibration.name:
        return AutoCalibration(scale=scale, estimating_shift=estimating_shift)
    return _CALIBRATORS[calibration](scale=scale)


def from_dict(data: dict[str, Any], *, classes: NDArray[Any]) -> Calibrator:
    """Return the fitted calibrator that ``Calibrator.to_dict`` described.

    Parameters
    ----------
    data : dict
        What ``to_dict`` returned.
    classes : ndarray of shape (n_classes,)
        The label of each column.

    Returns
    -------
    Calibrator
    """
    return _CALIBRATORS[data["name"]].from_dict(data, classes=classes)
