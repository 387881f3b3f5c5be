"""Figures are continuous: the last digits of scores, which differ between machines, move none."""

import numpy as np
import pytest

import abstain
from abstain import Abstainer

ROWS = 400
# What another processor, NumPy or BLAS may do to a score, and what that may do to a figure.
MOVED, MOST = 1e-12, 1e-5
METRICS = {
    2: ["accuracy", "f1", "kappa", "auroc", "average-precision", "sensitivity@specificity=0.9"],
    10: ["accuracy", "kappa:quadratic", "f1:macro", "top-k=2"],
}
CASES = [(n, metric) for n, metrics in METRICS.items() for metric in metrics]


def logits_of(n_classes, digits=None):
    rng = np.random.default_rng(n_classes)
    y = rng.integers(n_classes, size=2 * ROWS)
    logits = rng.normal(size=(2 * ROWS, n_classes))
    logits[np.arange(2 * ROWS), y] += 1.5
    return logits if digits is None else logits.round(digits), y


def moved(logits, by):
    """Logits a little up or down; equal ones stay equal, as they do on any processor."""
    return logits * (1 + by * np.where(np.sin(1e4 * logits) > 0, 1, -1))


def numbers(estimate):
    return [
        number
        for one in (estimate.before, estimate.after)
        for number in (one.value, *one.interval)
    ]


def figures(logits, y, metric, weight=None):
    """Every figure without labels that a batch can be given, by each way there is."""
    n_classes = logits.shape[1]
    old, new = logits[:ROWS], logits[ROWS:]
    weights = (None, None) if weight is None else (weight[:ROWS], weight[ROWS:])
    abstainer = Abstainer(metric, budget=0.15, scale="logits", random_state=0)
    abstainer.fit(old, y[:ROWS], weights[0], classes=range(n_classes))
    decisions = abstainer.decide(new, weights[1])
    policy = abstainer.decide_summary(abstainer.summarise(new, weights[1]))
    applied = decisions.policy.apply(new, weights[1])
    estimated = abstain.estimate(
        old, y[:ROWS], new, metric, scale="logits", classes=range(n_classes), random_state=0,
        sample_weight_val=weights[0], sample_weight=weights[1],
    )  # fmt: skip
    value = next(iter(estimated.values.values()))
    return {
        "decide": [*numbers(decisions.estimate), *decisions.priors],
        "apply": numbers(applied.estimate),
        "summary": [*numbers(policy.estimate), *policy.priors],
        "estimate": [value.value, *value.interval],
    }


def largest_moves(before, after):
    return {way: np.abs(np.subtract(before[way], after[way])).max() for way in before}


@pytest.mark.filterwarnings("ignore::abstain.exceptions.AssumptionWarning")
@pytest.mark.parametrize(("n_classes", "metric"), CASES)
def test_no_figure_moves(n_classes, metric):
    logits, y = logits_of(n_classes)
    found = largest_moves(figures(logits, y, metric), figures(moved(logits, MOVED), y, metric))
    assert max(found.values()) <= MOST, found


@pytest.mark.filterwarnings("ignore::abstain.exceptions.AssumptionWarning")
@pytest.mark.parametrize(("n_classes", "metric"), [(2, "kappa"), (2, "auroc"), (10, "accuracy")])
def test_nor_with_weights(n_classes, metric):
    logits, y = logits_of(n_classes)
    weight = np.random.default_rng(1).uniform(0.2, 3, len(y))
    found = largest_moves(
        figures(logits, y, metric, weight), figures(moved(logits, MOVED), y, metric, weight)
    )
    assert max(found.values()) <= MOST, found


@pytest.mark.filterwarnings("ignore::abstain.exceptions.AssumptionWarning")
@pytest.mark.parametrize(
    ("n_classes", "metric", "digits"),
    [
        (2, "accuracy", 1),
        (2, "auroc", 1),
        (2, "sensitivity@specificity=0.9", 1),
        (2, "kappa", 2),
        (10, "accuracy", 1),
        (10, "kappa:quadratic", 2),
    ],
)
def test_nor_where_rounded_logits_tie_but_for_their_last_digit(n_classes, metric, digits):
    """0.3 - 0.1 is not 0.5 - 0.3 to the last digit, and equal logits are so no more either."""
    logits, y = logits_of(n_classes, digits)
    up_or_down = np.random.default_rng(1).choice([-1, 1], logits.shape)
    untied = logits * (1 + MOVED * up_or_down)
    found = largest_moves(figures(logits, y, metric), figures(untied, y, metric))
    assert max(found.values()) <= MOST, found


@pytest.mark.filterwarnings("ignore::abstain.exceptions.AssumptionWarning")
@pytest.mark.parametrize(
    ("n_classes", "metric"), [(2, "accuracy"), (2, "auroc"), (10, "f1:macro")]
)
def test_nor_by_single_precision_and_back(n_classes, metric):
    logits, y = logits_of(n_classes)
    back = logits.astype(np.float32).astype(np.float64)
    found = largest_moves(figures(logits, y, metric), figures(back, y, metric))
    assert max(found.values()) <= MOST, found


@pytest.mark.parametrize(("n_classes", "metric"), [(2, "auroc"), (10, "kappa")])
def test_the_order_of_rows_moves_nothing(n_classes, metric):
    logits, y = logits_of(n_classes)
    order = np.random.default_rng(2).permutation(ROWS)
    abstainer = Abstainer(metric, budget=0.15, scale="logits", random_state=0)
    abstainer.fit(logits[:ROWS], y[:ROWS])
    one, other = (abstainer.decide(logits[ROWS:][rows]) for rows in (slice(None), order))
    np.testing.assert_allclose(numbers(one.estimate), numbers(other.estimate), atol=1e-9)
    np.testing.assert_array_equal(one.abstain[order], other.abstain)
