"""The team against what else could be done, where the truth is known; and its intervals."""

import warnings

import numpy as np
import pytest

from abstain import Abstainer
from abstain.metrics import get

pytestmark = pytest.mark.slow

WAYS = {
    "combine": {"team": "combine"},
    "everybody": {"team": "combine", "budget": 0.999},
    "replace": {"team": "replace"},
    "confidence": {"team": "replace", "score": "max-probability"},
    "codoc": {"team": "replace", "score": "codoc"},
}
N_OWN, N_NEW, REPEATS = 800, 800, 100


def population(n, rng, priors, hang):
    """Scores that are off by a slope, labels, and answers of a reader who errs on hard rows."""
    codes = (rng.random(n) < priors).astype(int)
    latent = (2 * codes - 1) * 0.9 + rng.normal(size=n)
    right = 0.95 - hang * np.exp(-np.abs(latent))
    answers = np.where(rng.random(n) < right - 0.12 * codes, codes, 1 - codes)
    return 2.5 * latent, codes, answers


def one_repeat(seed, metric, priors, hang):
    """Return the realised metric of each way, of model and reader, and whether intervals held."""
    rng = np.random.default_rng(seed)
    scores, y, answers = population(N_OWN, rng, 0.4, hang)
    new, truth, said = population(N_NEW, rng, priors, hang)
    of, found, held = get(metric), {}, []

    def value(columns):
        return of.observed(truth, np.eye(2)[truth], prediction=columns)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, way in WAYS.items():
            fitted = Abstainer(
                metric, scale="logits", calibration="platt", random_state=seed, positive=1,
                **{"budget": 0.25, **way},
            ).fit(scores, y, reviewer=answers)  # fmt: skip
            decisions = fitted.decide(new)
            final = decisions.policy.combine(new, said)
            found[name] = value(final)
            if name == "combine":
                held.append(decisions.estimate.after.holds(found[name]))
                found["model"] = value(decisions.columns)
    return {**found, "reader": value(said)}, held


@pytest.mark.parametrize("metric", ["accuracy", "balanced-accuracy"])
@pytest.mark.parametrize("hang", [0.0, 0.25])
@pytest.mark.parametrize("priors", [0.4, 0.15])
def test_nothing_else_does_better_and_intervals_hold(metric, priors, hang):
    repeats = [one_repeat(seed, metric, priors, hang) for seed in range(REPEATS)]
    values = {name: np.array([one[0][name] for one in repeats]) for name in repeats[0][0]}
    # A reader alone answers everything, and is compared with a team that may ask as often.
    pairs = [("combine", "confidence"), ("combine", "codoc"), ("combine", "model")]
    for ours, other in (*pairs, ("everybody", "reader")):
        ahead = values[ours] - values[other]
        assert ahead.mean() > -2 * ahead.std() / np.sqrt(REPEATS), other
    held = np.mean([one for _, held in repeats for one in held])
    # Nine of ten, within two standard errors of so many repeats.
    assert held > 0.9 - 2 * np.sqrt(0.09 / REPEATS)
