"""MAPIE's risk control (1.x) set to abstaining: learn then test over thresholds."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Controlled", "accuracy_control", "rates_control"]

#: How many thresholds are tested, the default of MAPIE, and how many ends pairs are made of.
THRESHOLDS, ENDS = 100, 30
#: How finely an order of testing is learnt; MAPIE's 1,000 takes a second and finds the same.
BETAS = np.logspace(-25, 0, 100)

#: Probabilities in; the class of each row out, NaN where it is withheld.
Controlled = Callable[[NDArray[Any]], NDArray[Any]]


def accuracy_control(
    proba: NDArray[Any],
    y: NDArray[Any],
    *,
    target: float,
    confidence: float,
    batch: NDArray[Any],
    split: bool,
) -> Controlled | None:
    """Return the rule that withholds least of those that keep the accuracy of the kept.

    ``MultiClassificationLTTController`` predicts the most probable class where its probability
    reaches a threshold and withholds the rest. The thresholds to test are quantiles of the
    unlabelled batch. With ``split`` half of the rows learn in which order to test.
    """
    from mapie.risk_control import MultiClassificationLTTController, abstention_rate

    largest = proba.max(axis=1)
    thresholds = [
        threshold
        for threshold in _quantiles(batch.max(axis=1), THRESHOLDS)
        if _some_of(largest >= threshold, y * 0, split)
    ]
    controller = MultiClassificationLTTController(
        predict_function=np.asarray,
        risks=[_risk(lambda y_true: np.ones(len(y_true), dtype=bool))],
        target_level=[target],
        confidence_level=confidence,
        best_predict_param_choice=abstention_rate,
        list_predict_params=np.array(thresholds),
        classes=np.arange(proba.shape[1]),
        fwer_method="split_fixed_sequence" if split else "bonferroni_holm",
    )
    return _calibrated(controller, proba, y)


def rates_control(
    proba: NDArray[Any],
    y: NDArray[Any],
    *,
    target: float,
    confidence: float,
    batch: NDArray[Any],
    split: bool,
) -> Controlled | None:
    """Return the rule that withholds least of those that keep sensitivity and specificity.

    ``BinaryClassificationController`` with two thresholds: 0 below the lower, 1 from the higher
    on, withheld between them.
    """
    from mapie.risk_control import BinaryClassificationController, abstention_rate

    ends = _quantiles(batch[:, 1], ENDS)
    pairs = [
        (low, high)
        for low in ends
        for high in ends
        if low <= high and _some_of(~np.isnan(between(proba, low, high)), y, split)
    ]
    controller = BinaryClassificationController(
        predict_function=between,
        risk=[_risk(lambda y_true: y_true == 1), _risk(lambda y_true: y_true == 0)],
        target_level=[target, target],
        confidence_level=confidence,
        best_predict_param_choice=abstention_rate,
        list_predict_params=np.array(pairs),
        fwer_method="split_fixed_sequence" if split else "bonferroni_holm",
    )
    return _calibrated(controller, proba, y)


def between(proba: NDArray[Any], low: float, high: float) -> NDArray[Any]:
    """Predict 0 below the lower threshold and 1 from the higher on; NaN between them."""
    p = np.asarray(proba)[:, 1]
    return np.where(p >= high, 1.0, np.where(p < low, 0.0, np.nan))


def _risk(of: Callable[[NDArray[Any]], NDArray[Any]]) -> Any:
    """Return the share that is right, of the kept rows that a function of the labels picks."""
    from mapie.risk_control import BinaryRisk

    return BinaryRisk(
        risk_occurrence=lambda y_true, y_pred: y_pred == y_true,
        risk_condition=lambda y_true, y_pred: of(y_true) & ~np.isnan(y_pred),
        higher_is_better=True,
    )


def _quantiles(values: NDArray[Any], many: int) -> NDArray[Any]:
    """Return thresholds that withhold from nothing to nearly everything, without repeats."""
    return np.unique(np.quantile(values, np.linspace(0, 0.99, many)))


def _some_of(kept: NDArray[Any], y: NDArray[Any], split: bool) -> bool:
    """Whether rows of every class are kept, in both halves where they are split.

    MAPIE's p-value of no rows is NaN, with which its search ends and finds nothing at all, so such
    thresholds must not be in the list.
    """
    parts = [slice(len(y) // 2), slice(len(y) // 2, None)] if split else [slice(None)]
    return all((kept[part] & (y[part] == k)).any() for part in parts for k in np.unique(y))


def _calibrated(controller: Any, proba: NDArray[Any], y: NDArray[Any]) -> Controlled | None:
    """Return how it predicts, or None where it finds no threshold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if controller.fwer_method == "split_fixed_sequence":
            # The rows are in random order already.
            half = len(y) // 2
            controller.learn_fixed_sequence_order(
                proba[:half], y[:half], beta_grid=BETAS, binary=True
            )
            proba, y = proba[half:], y[half:]
        controller.calibrate(proba, y)
    return None if controller.best_predict_param is None else controller.predict
