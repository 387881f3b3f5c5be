"""Policies to be written as SQL: every calibrator with every region and every rule."""

from dataclasses import replace
from functools import cache

import numpy as np

from abstain import Abstainer
from abstain.datasets import screening_clinic, simulate_four_class_normal
from abstain.metrics import Accuracy
from abstain.regions import Box, GainThreshold, Interval, ProbabilityBoxes, TopShare
from abstain.rules import Argmax, BestGain, Threshold
from abstain.selection import Selection
from abstain.summaries import RowSummary

BINARY = ["bcts", "beta", "dirichlet", "identity", "isotonic", "nbvs", "platt", "temperature",
          "vector"]  # fmt: skip
MANY = [name for name in BINARY if name not in ("beta", "platt")]
SCORES = ("entropy", "gini", "js-divergence", "margin", "max-probability")
EDGES = np.array([0.0, 1.0, 0.5, 1e-30, 1 - 1e-7, 0.1])
NAMES = np.array(["a", "b", "c", "d"])


@cache
def of_two(name, scale="logits", n=200):
    """A policy of two classes, and scores of the positive one in double precision."""
    clinic = screening_clinic(n, n, random_state=0)

    def scores_of(logit):
        return logit if scale == "logits" else 1 / (1 + np.exp(-logit))

    scores = scores_of(clinic.scores_target)
    policy = (
        Abstainer("auroc", budget=0.2, calibration=name, scale=scale, random_state=0)
        .fit(scores_of(clinic.scores_val), clinic.y_val)
        .decide(scores)
        .policy
    )
    edges = EDGES if scale == "probabilities" else 200 * (EDGES - 0.5)
    # Without what serves adapting, which decides nothing and takes the time.
    return replace(policy, source=None), np.append(scores, edges)


@cache
def of_four(name, n=200):
    """A policy of four classes, and probabilities of each in double precision."""
    simulation = simulate_four_class_normal(n, random_state=0)
    policy = (
        Abstainer("kappa:quadratic", budget=0.2, calibration=name, random_state=0)
        .fit(simulation.proba, NAMES[simulation.y])
        .decide(simulation.proba)
        .policy
    )
    scores = np.vstack([simulation.proba, np.eye(4), np.full((1, 4), 0.25)])
    return replace(policy, source=None), scores


def choose_by_score(score, proba, capacity, seed=0):
    """The region that withholds the highest scores within a capacity."""
    selection = Selection(budget=0.0, score=score)
    return selection.family(Accuracy(), RowSummary(proba), seed)(capacity).region


def regions(proba):
    """One region of every kind, and those that withhold nothing."""
    k = proba.shape[1]
    yield Interval.empty()
    yield Interval(float(np.quantile(proba[:, 1], 0.3)), float(np.quantile(proba[:, 1], 0.6)))
    gains = np.random.default_rng(0).normal(size=(k, k))
    yield GainThreshold(gains, threshold=0.1)
    yield GainThreshold(gains, threshold=np.inf)
    yield TopShare(k=1, threshold=0.7)
    yield TopShare(k=2, threshold=0.95)
    yield ProbabilityBoxes(())
    halves = [
        half
        for column in range(k)
        for half in Box.whole(column, k).halved(0, float(np.median(proba[:, 0])))
    ]
    yield ProbabilityBoxes((halves[0], halves[3]))
    for score in (*SCORES, *(["distance-from-half"] if k == 2 else [])):
        yield choose_by_score(score, proba, len(proba) // 3)


def rules(k):
    """One rule of every kind."""
    yield Argmax()
    yield BestGain(np.random.default_rng(1).normal(size=(k, k)))
    if k == 2:
        yield Threshold(0.25)


def variants(policy, scores):
    """The policy with every region, and with every rule."""
    yield policy
    for region in regions(policy.predict_proba(scores)):
        yield replace(policy, region=region)
    for rule in rules(len(policy.classes)):
        yield replace(policy, rule=rule)
