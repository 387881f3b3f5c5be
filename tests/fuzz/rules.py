"""Strategies for frozen rules put together by hand: any calibrator, region and rule, unfitted.

They are made in a millisecond, and go where no fit would: steep slopes, proportions of zero,
gains that are equal.
"""

import warnings

import numpy as np
from hypothesis import strategies as st

from abstain import Policy, calibration, metrics
from abstain.regions import (
    Box,
    GainThreshold,
    Interval,
    ProbabilityBoxes,
    ScoreThreshold,
    TopShare,
)
from abstain.rules import Argmax, BestGain, Threshold

from .arrays import problems, seeds
from .cases import CALIBRATIONS, OF_TWO, as_given, as_printed

SLOPES = (1e-12, 1e-3, 1.0, 1.0, 3.0, 100.0)
SCORES = ("max-probability", "entropy", "margin", "js-divergence")


@st.composite
def frozen(draw, *, classes=(2, 2, 2, 3, 5, 20), dtypes=("f4",)):
    """Return a policy and the scores that its edges lie among."""
    k = draw(st.sampled_from(classes))
    logits, y = draw(problems(classes=(k, k), rows=(2 * k, 2 * k + 20)))
    y[:k] = np.arange(k)
    form = {
        "scale": draw(st.sampled_from(["probabilities", "logits"])),
        "columns": draw(st.sampled_from([1, 2])) if k == 2 else k,
        "dtype": draw(st.sampled_from(dtypes)),
    }
    # Below where a steep slope, which no fit would find, leads beyond all numbers.
    scores = as_given(np.clip(logits, -1e300, 1e300), **form)
    if form["scale"] == "probabilities" and draw(st.booleans()):
        scores = as_printed(scores, draw(st.integers(1, 4)))
    rng = np.random.default_rng(draw(seeds()))
    name = draw(st.sampled_from([*CALIBRATIONS[1:], *(OF_TWO if k == 2 else ())]))
    calibrator = _calibrator(draw, name, form["scale"], scores, y, k, rng)
    source, priors = rng.dirichlet(np.ones(k), size=2)
    if draw(st.integers(0, 4)) == 0:
        priors = np.eye(k)[rng.integers(k)]
    if draw(st.booleans()):
        priors = source
    policy = Policy(
        classes=np.arange(k),
        calibrator=calibrator,
        source_priors=source,
        priors=priors,
        region=Interval.empty(),
        rule=Argmax(),
        metric=metrics.get("accuracy"),
        positive=1 if k == 2 else None,
    )
    decisions = policy.rows(scores)
    proba = decisions.compact
    rule = draw(st.sampled_from(["argmax", "gains", "threshold" if k == 2 else "argmax"]))
    rule = _rule(rule, proba, k, rng, whole=draw(st.booleans())).cleared(proba)
    region = _region(draw, decisions.proba, rule.predict(proba), k, rng)
    region, _ = region.cleared(proba, rule.predict(proba), outwards=draw(st.booleans()))
    return Policy(**{**_parts(policy), "region": region, "rule": rule}), scores


def _parts(policy):
    names = ("classes", "calibrator", "source_priors", "priors", "metric", "positive")
    return {name: getattr(policy, name) for name in names}


def _calibrator(draw, name, scale, scores, y, k, rng):
    if name == "isotonic" and scores.max() / 2 - scores.min() / 2 > 5e-4:
        # Of scores that are all but equal a curve is so steep that nobody can repeat it.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return calibration.get(name, scale=scale).fit(scores, y, classes=range(k))
    name = "bcts" if name == "isotonic" else name
    slope = draw(st.sampled_from(SLOPES))
    state = {
        "slope_": (rng.exponential(slope, k) if draw(st.booleans()) else np.full(k, slope)),
        "bias_": rng.normal(size=k) * draw(st.sampled_from([0.0, 1.0, 30.0])),
        "matrix_": np.eye(k) * slope + 0.1 * rng.normal(size=(k, k)),
    }
    if name == "identity":
        state |= {"slope_": np.ones(k), "bias_": np.zeros(k)}
    data = {"name": name, "scale": scale, **{key: value.tolist() for key, value in state.items()}}
    kept = {"name", "scale", *calibration.get(name, scale=scale).state}
    return calibration.from_dict(
        {key: value for key, value in data.items() if key in kept}, classes=np.arange(k)
    )


def _rule(kind, proba, k, rng, *, whole):
    if kind == "threshold":
        return Threshold(float(rng.choice(proba)))
    if kind == "gains":
        gains = rng.normal(size=(k, k))
        return BestGain(np.round(gains) if whole else gains)
    return Argmax()


def _region(draw, proba, prediction, k, rng):
    kinds = ["gains", "share", "score", "score", "boxes", "interval" if k == 2 else "gains"]
    kind, row = draw(st.sampled_from(kinds)), int(rng.integers(len(proba)))
    if kind == "interval":
        return Interval(*sorted(rng.choice(proba[:, 1], 2).tolist()))
    if kind == "gains":
        gains = rng.normal(size=(k, k))
        region = GainThreshold(np.round(gains) if draw(st.booleans()) else gains, np.inf)
        return GainThreshold(region.gains, float(region.score(proba, prediction)[row]))
    if kind == "share":
        top = TopShare(draw(st.integers(1, k + 2)), -np.inf)
        return TopShare(top.k, float(top.share(proba)[row]))
    if kind == "boxes":
        column, cut = int(rng.integers(k)), float(proba[row, 0])
        return ProbabilityBoxes(Box.whole(column, k).halved(0, cut)[: draw(st.integers(0, 2))])
    name = draw(st.sampled_from([*SCORES, *(["distance-from-half"] if k == 2 else [])]))
    parameters = {"priors": np.full(k, 1 / k).tolist()} if name == "js-divergence" else {}
    region = ScoreThreshold(name, np.inf, parameters)
    return ScoreThreshold(name, float(region.score(proba, prediction)[row]), parameters)
