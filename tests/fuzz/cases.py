"""Strategies for whole ways of deciding: a problem, and everything that can be asked for it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from abstain import Abstainer, Cost

from .arrays import problems, seeds

CALIBRATIONS = ("auto", "identity", "temperature", "bcts", "vector", "nbvs", "isotonic",
                "dirichlet")  # fmt: skip
OF_TWO = ("platt", "beta")
SCORES = (None, None, "max-probability", "entropy", "margin", "js-divergence", "random")
SCORES_OF_TWO = ("distance-from-half", "class-thresholds")
METRICS = ("accuracy", "f1:macro", "balanced-accuracy", "kappa:quadratic", "mcc", "top-k=2",
           "recall:macro")  # fmt: skip
METRICS_OF_TWO = ("auroc", "average-precision", "sensitivity@specificity=0.9", "accuracy", "f1",
                  "kappa:quadratic", "precision@recall=0.8", "net-benefit=0.2", "mcc")  # fmt: skip
# Few classes are tried most; many are slow.
CLASSES = (2, 2, 2, 2, 3, 3, 5, 5, 5, 50)


@dataclass(frozen=True, eq=False)
class Case:
    """One way of deciding about one problem."""

    metric: str
    scores_val: Any
    y_val: Any
    scores: Any
    weight: Any = None
    how: dict[str, Any] = field(default_factory=dict)

    def decide(self):
        """Fit, and decide about the batch."""
        abstainer = Abstainer(self.metric, random_state=0, **self.how)
        abstainer.fit(self.scores_val, self.y_val)
        return abstainer.decide(self.scores, self.weight)


def as_given(logits, *, scale, columns, dtype):
    """Return logits on a scale, in so many columns, in a precision."""
    with np.errstate(all="ignore"):
        if columns == 1:
            logits = logits[:, 1] - logits[:, 0]
            values = logits if scale == "logits" else 1 / (1 + np.exp(-logits))
        elif scale == "logits":
            values = logits
        else:
            away = np.exp(logits - logits.max(axis=1, keepdims=True))
            values = away / away.sum(axis=1, keepdims=True)
        given = values.astype(dtype)
        if scale == "logits":
            most = np.finfo(dtype).max
            given = np.clip(given, -most, most)
    return given


def as_printed(proba, decimals):
    """Return probabilities with a few decimals, where these still sum to 1 or nearly."""
    rounded = np.round(proba, decimals)
    if proba.ndim == 1:
        return rounded
    near = np.abs(rounded.sum(axis=1, keepdims=True) - 1) < 9e-4
    return np.where(near, rounded, proba)


@st.composite
def cases(draw, *, classes=CLASSES, dtypes=("f8", "f4"), scores=SCORES, calibrations=CALIBRATIONS):
    """Return a way of deciding, of a problem that may be saturated, tied or constant."""
    k = draw(st.sampled_from(classes))
    n = draw(st.integers(2 * k, 60 if k < 50 else 2 * k))
    logits, y = draw(problems(classes=(k, k), rows=(n, n)))
    y[:k] = np.arange(k)
    rng = np.random.default_rng(draw(seeds()))
    rows = rng.integers(n, size=draw(st.integers(1, 40)))
    new = logits[rows].copy()
    if draw(st.booleans()):
        new += rng.normal(size=new.shape) * draw(st.sampled_from([1e-15, 1e-6, 1, 30]))
    form = {
        "scale": draw(st.sampled_from(["probabilities", "logits"])),
        "columns": draw(st.sampled_from([1, 2])) if k == 2 else k,
        "dtype": draw(st.sampled_from(dtypes)),
    }
    scores_val, target = as_given(logits, **form), as_given(new, **form)
    if form["scale"] == "probabilities" and draw(st.booleans()):
        # As printed: ties, zeros and ones, and rows that do not quite sum to 1.
        scores_val, target = (as_printed(values, 4) for values in (scores_val, target))
    amount = draw(
        st.one_of(
            st.sampled_from([0.0, 0.1, 0.29, 0.5, 0.9]).map(lambda share: {"budget": share}),
            st.integers(2, 8).map(lambda count: {"budget": count}),
            st.sampled_from([0.3, 0.6, 0.9]).map(lambda value: {"target": value}),
            st.sampled_from([0.01, 0.2, 3.0]).map(lambda price: {"cost": Cost(price)}),
        )
    )
    if "cost" not in amount:
        amount["score"] = draw(st.sampled_from(scores + (SCORES_OF_TWO if k == 2 else ())))
    weight = None
    if draw(st.integers(0, 3)) == 0:
        weight = rng.choice([0.0, 0.3, 1.0, 2.0, 1e-300, 1e6], size=len(target))
    how = {
        **amount,
        "scale": form["scale"],
        "calibration": draw(st.sampled_from(calibrations + (OF_TWO if k == 2 else ()))),
        "shift": draw(st.sampled_from(["auto", "none", "em"])),
        "decision": draw(st.sampled_from(["auto", "auto", "argmax", "optimal"])),
    }
    metric = draw(st.sampled_from(METRICS_OF_TWO if k == 2 else METRICS))
    return Case(metric, scores_val, y, target, weight, how)
