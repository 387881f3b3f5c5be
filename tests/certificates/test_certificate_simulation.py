"""Certificates are valid: how often their bounds fail, with and without a shift, by simulation."""

import numpy as np
import pytest
from scipy.stats import norm

from abstain import Abstainer
from abstain.certificates import Evidence, certify
from abstain.exceptions import TargetUnreachable

# Scores of the two classes: normal, two standard deviations apart.
DISTANCE = 2.0


def sample(n, positive_rate, rng):
    y = (rng.uniform(size=n) < positive_rate).astype(int)
    return rng.normal(size=n) + DISTANCE * y, y


def true_rates(policy):
    """Sensitivity and specificity of the kept, exactly, from where the rule cuts the scores."""
    grid = np.linspace(-6, 8, 20_001)
    decisions = policy.apply(grid)
    kept = ~decisions.abstain
    positive = decisions.prediction == 1
    density = norm.pdf(grid[:, None] - np.array([0.0, DISTANCE]))
    right = np.array([(kept & ~positive) @ density[:, 0], (kept & positive) @ density[:, 1]])
    specificity, sensitivity = right / (kept @ density)
    return sensitivity, specificity


@pytest.mark.parametrize(
    ("target_rate", "repeats"),
    [(0.3, 12), *(pytest.param(rate, 400, marks=pytest.mark.slow) for rate in (0.3, 0.08))],
)
def test_a_certified_target_fails_no_more_often_than_it_may(target_rate, repeats):
    rng = np.random.default_rng(1)
    goals, confidence = {"sensitivity": 0.9, "specificity": 0.9}, 0.9
    failures, found, withheld, margins = 0, 0, [], []
    for _ in range(repeats):
        scores, y = sample(2_000, 0.3, rng)
        target, _ = sample(1_000, target_rate, rng)
        abstainer = Abstainer(
            "sensitivity@specificity=0.9",
            target=goals,
            confidence=confidence,
            calibration="platt",
            scale="logits",
            random_state=int(rng.integers(2**31)),
        ).fit(scores, y)
        try:
            decisions = abstainer.decide(target)
        except TargetUnreachable:
            continue
        found += 1
        sensitivity, specificity = true_rates(decisions.policy)
        failures += sensitivity < 0.9 or specificity < 0.9
        withheld.append(decisions.abstention_rate)
        margins.append(min(sensitivity, specificity) - 0.9)
    print(
        f"\ntarget rate {target_rate}: {found}/{repeats} certified, {failures} failed "
        f"({failures / repeats:.1%}), mean abstention {np.mean(withheld):.3f}, "
        f"mean slack {np.mean(margins):.3f}"
    )
    # Three standard deviations above the error allowed.
    assert failures <= repeats * 0.1 + 3 * np.sqrt(repeats * 0.1 * 0.9)
    assert found > 0.95 * repeats
    # The least that any window with these rates withholds is 0.195 and 0.184.
    assert np.mean(withheld) < 0.36


@pytest.mark.slow
@pytest.mark.parametrize("target_rate", [0.3, 0.08], ids=["no shift", "shift"])
def test_the_bounds_of_a_fixed_budget_fail_no_more_often_than_they_may(target_rate):
    rng = np.random.default_rng(2)
    repeats, failures, sizes = 400, 0, []
    for _ in range(repeats):
        scores, y = sample(1_000, 0.3, rng)
        target, _ = sample(1_000, target_rate, rng)
        decisions = (
            Abstainer(
                "auroc",
                budget=0.2,
                confidence=0.9,
                calibration="platt",
                scale="logits",
                random_state=int(rng.integers(2**31)),
            )
            .fit(scores, y)
            .decide(target)
        )
        sensitivity, specificity = true_rates(decisions.policy)
        bounds = decisions.certificate.bounds
        failures += (
            bounds["sensitivity"].lower > sensitivity
            or bounds["specificity"].lower > specificity
            or bounds["balanced-accuracy"].lower > (sensitivity + specificity) / 2
        )
        sizes.append([sensitivity - bounds["sensitivity"].lower,
                      specificity - bounds["specificity"].lower])  # fmt: skip
    print(
        f"\ntarget rate {target_rate}: {failures}/{repeats} failed, mean distance below the truth "
        f"{np.mean(sizes, axis=0).round(3).tolist()}"
    )
    assert failures <= repeats * 0.1 + 3 * np.sqrt(repeats * 0.1 * 0.9)


@pytest.mark.slow
def test_worst_cases_and_auroc_bounds_fail_no_more_often_than_they_may():
    rng = np.random.default_rng(3)
    repeats, errors = 1_000, {"accuracy": 0, "f1": 0, "auroc": 0}
    low, high, prior_range = -0.5, 1.5, (0.05, 0.3)
    cuts = norm.cdf(np.array([low, high])[:, None] - np.array([0.0, DISTANCE]))
    rates = np.array([[cuts[0, 0], 1 - cuts[1, 0]], [cuts[0, 1], 1 - cuts[1, 1]]])

    def value(name, positive):
        C = np.array([[1 - positive], [positive]]) * rates
        if name == "accuracy":
            return np.trace(C) / C.sum()
        return 2 * C[1, 1] / (2 * C[1, 1] + C[0, 1] + C[1, 0])

    truth = {name: min(value(name, q) for q in prior_range) for name in ("accuracy", "f1")}
    # The area among the kept, from a large sample.
    big = [draw[(draw < low) | (draw > high)] for draw in
           (rng.normal(size=400_000), rng.normal(size=400_000) + DISTANCE)]  # fmt: skip
    area = np.searchsorted(np.sort(big[0]), big[1]).mean() / len(big[0])
    for _ in range(repeats):
        scores, y = sample(800, 0.3, rng)
        p = 1 / (1 + np.exp(-scores))
        abstain, prediction = (scores >= low) & (scores <= high), (scores > high).astype(np.intp)
        counts = np.zeros((2, 3))
        np.add.at(counts, (y, np.where(abstain, 2, prediction)), 1.0)
        evidence = Evidence(counts, p[~abstain], y[~abstain])
        certificate = certify(evidence, confidence=0.9, classes=[0, 1])
        for name in ("accuracy", "f1"):
            errors[name] += certificate.worst_case(name, prior_range) > truth[name]
        errors["auroc"] += certificate.bounds["auroc"].lower > area
    print(f"\nfailures in {repeats}: {errors}")
    assert errors["accuracy"] <= 0.1 * repeats
    assert errors["f1"] <= 0.1 * repeats
    # Asymptotic: allow it a little more than its tenth.
    assert errors["auroc"] <= 0.13 * repeats
