"""Laws that hold on any input: order, repetition, threads, and exact arithmetic."""

import os
from contextlib import contextmanager
from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from abstain import Abstainer, metrics
from abstain.exceptions import AbstainError

from .arrays import seeds
from .machine import Defect, fuzzed, outcome

MANY = ["accuracy", "error-rate", "balanced-accuracy", "mcc", "kappa", "kappa:linear"]
MANY += ["kappa:quadratic", "f1:macro", "f1:weighted", "jaccard:macro", "precision:macro"]
MANY += ["recall:micro", "fbeta:2:macro", "top-k=2"]
TWO = ["auroc", "average-precision", "f1", "precision", "sensitivity@specificity=0.8"]
TWO += ["specificity@sensitivity=0.8", "precision@recall=0.8", "recall@precision=0.8"]
TWO += ["partial-auroc=0.3", "net-benefit=0.2", "cost:[[0,1],[5,0]]"]


def sampled_hits():
    return metrics.SampledMetric(_hits, n_samples=5, n_groups=8, reads="prediction")


def _hits(y_true, prediction, sample_weight=None):
    return float(np.average(prediction == y_true, weights=sample_weight))


@st.composite
def flows(draw, rows=(4, 40), weighted=False):
    """A batch of few distinct scores, so that many rows are as good as others to withhold."""
    rng = np.random.default_rng(draw(seeds()))
    k = draw(st.integers(2, 4))
    n = draw(st.integers(*rows))
    digits = draw(st.sampled_from([1, 1, 2, 6]))
    y = np.arange(30) % k
    validation = np.round(rng.dirichlet(np.ones(k), 30) * 0.6 + 0.4 * np.eye(k)[y], digits)
    batch = np.round(rng.dirichlet(np.ones(k) * draw(st.sampled_from([0.3, 1, 5])), n), digits)
    validation, batch = (x + (x.sum(axis=1, keepdims=True) == 0) for x in (validation, batch))
    validation, batch = (x / x.sum(axis=1, keepdims=True) for x in (validation, batch))
    name = draw(st.sampled_from(MANY + (TWO if k == 2 else [])))
    weight = rng.choice([1.0, 2.0, 3.0], n) if weighted or draw(st.booleans()) else None
    how = draw(st.sampled_from([{"budget": b / 100} for b in (0, 10, 29, 50, 58, 90, 99)]))
    how = how | draw(st.sampled_from([{}, {}, {"score": "entropy"}, {"decision": "optimal"}]))
    shift = draw(st.sampled_from(["none", "em", "auto"]))
    calibration = draw(st.sampled_from(["identity", "bcts", "vector"]))
    how |= {"shift": shift, "calibration": calibration, "random_state": 0, "positive": k - 1}
    if k != 2:
        how.pop("positive")
    return name, how, (validation, y), batch, weight


def decided(name, how, validation, batch, weight=None):
    def call():
        return Abstainer(name, **how).fit(*validation).decide(batch, weight)

    found = outcome(call, looked_at=lambda d: (d.proba, d.priors))
    return None if isinstance(found, AbstainError | ValueError) else found


@fuzzed("laws", quick=3, flow=flows(), seed=seeds(), share=2.0)
def test_the_order_of_rows_changes_nothing(flow, seed):
    """Decisions about permuted rows are the same ones, permuted."""
    name, how, validation, batch, weight = flow
    order = np.random.default_rng(seed).permutation(len(batch))
    once = decided(name, how, validation, batch, weight)
    again = decided(name, how, validation, batch[order], None if weight is None else weight[order])
    if once is None or again is None:
        assert once is again
        return "refused"
    np.testing.assert_array_equal(again.abstain, once.abstain[order])
    np.testing.assert_array_equal(again.prediction, once.prediction[order])
    np.testing.assert_array_equal(again.proba, once.proba[order])
    return "decided"


@fuzzed("laws", quick=2, flow=flows(rows=(4, 20)), seed=seeds())
def test_the_order_of_rows_changes_no_choice(flow, seed):
    """Nor does it change what a metric chooses by itself, a sampled one included."""
    name, how, _, batch, weight = flow
    order = np.random.default_rng(seed).permutation(len(batch))
    part = None if weight is None else weight[order]
    capacity = how["budget"] * (len(batch) if weight is None else weight.sum())
    for metric in (metrics.get(name), sampled_hits()):
        choices = [
            metric.choose(rows, capacity, sample_weight=w)
            for rows, w in ((batch, weight), (batch[order], part))
        ]
        prediction, withheld = choices[0].apply(batch)
        other, again = choices[1].apply(batch)
        np.testing.assert_array_equal(withheld, again)
        np.testing.assert_array_equal(prediction, other)


@fuzzed("laws", quick=2, flow=flows(weighted=True), share=2.0)
def test_a_row_of_weight_2_is_the_row_twice(flow):
    """Whole weights are repetition: the same rows are withheld, and no more than the budget."""
    name, how, validation, batch, weight = flow
    times = weight.astype(int)
    first = np.cumsum(times) - times
    once = decided(name, how, validation, batch, weight)
    again = decided(name, how, validation, np.repeat(batch, times, axis=0))
    if once is None or again is None:
        assert once is again
        return "refused"
    # As a fraction of whole rows a budget allows whole rows; a weight may use up the rest.
    most = how["budget"] * weight.sum()
    assert weight[once.abstain].sum() <= most * (1 + 1e-9)
    assert again.abstain.sum() <= most + 1e-9
    if float(most).is_integer():
        np.testing.assert_array_equal(again.abstain[first], once.abstain)
    np.testing.assert_allclose(again.proba[first], once.proba, atol=1e-9)
    return "decided"


@fuzzed("laws", quick=1, flow=flows(rows=(30, 60)), share=0.5)
def test_threads_change_nothing(flow):
    """One thread and three decide and estimate the same, to the last bit."""
    name, how, validation, batch, weight = flow
    batch = np.tile(batch, (40, 1))
    weight = None if weight is None else np.tile(weight, 40)
    found = []
    for threads in (1, 3):
        with on_threads(threads):
            one = decided(name, how, validation, batch, weight)
            found.append(None if one is None else (one.abstain, one.proba, repr(one.estimate)))
    if found[0] is None:
        assert found[1] is None
        return "refused"
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert found[0][2] == found[1][2]
    return "decided"


@contextmanager
def on_threads(n):
    before = os.environ.get("ABSTAIN_NUM_THREADS")
    os.environ["ABSTAIN_NUM_THREADS"] = str(n)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("ABSTAIN_NUM_THREADS")
        else:
            os.environ["ABSTAIN_NUM_THREADS"] = before


@fuzzed("laws", quick=10, budget=st.integers(0, 9999), n=st.integers(1, 10**9), of=st.just(10**4))
def test_a_budget_in_decimals_is_that_many_rows(budget, n, of):
    """0.29 of 100 rows is 29 of them, as by fractions."""
    # What the room of the door does of its own: no batch has so many rows here.
    from abstain._inputs import whole_rows

    assert whole_rows((budget / of) * n) == Fraction(budget, of) * n // 1
    assert whole_rows((1 / n) * n) == 1


@st.composite
def tiny(draw):
    """A few rows whose probabilities are small fractions."""
    n, k = draw(st.integers(1, 7)), draw(st.integers(2, 3))
    counts = [
        draw(st.lists(st.integers(0, 8), min_size=k, max_size=k).filter(any)) for _ in range(n)
    ]
    rows = [[Fraction(c, sum(row)) for c in row] for row in counts]
    return rows, draw(st.integers(0, n - 1))


def exact_accuracy(rows):
    return sum(max(row) for row in rows) / Fraction(len(rows))


@fuzzed("laws", quick=8, problem=tiny())
def test_accuracy_is_chosen_as_by_fractions(problem):
    """Of few rows the best are kept: no subset that the budget allows is better."""
    rows, count = problem
    proba = np.array([[float(p) for p in row] for row in rows])
    choice = metrics.get("accuracy").choose(proba, count)
    _, withheld = choice.apply(proba)
    assert withheld.sum() <= count
    kept = [row for row, out in zip(rows, withheld, strict=True) if not out]
    best = max(
        exact_accuracy([row for i, row in enumerate(rows) if i not in out])
        for size in range(count + 1)
        for out in combinations(range(len(rows)), size)
    )
    # Equal rows stay together: where they do not all fit, none of them is withheld.
    tied = len({max(row) for row in rows}) < len(rows)
    if kept and not tied:
        assert exact_accuracy(kept) == best
    return "tied" if tied else "held"


def exact_kappa(counts, power):
    k = len(counts)
    total = sum(map(sum, counts))
    penalty = [[Fraction(abs(i - j)) ** power for j in range(k)] for i in range(k)]
    rows = [sum(row) for row in counts]
    columns = [sum(row[j] for row in counts) for j in range(k)]
    chance = sum(penalty[i][j] * rows[i] * columns[j] for i in range(k) for j in range(k))
    missed = sum(penalty[i][j] * counts[i][j] for i in range(k) for j in range(k))
    return None if chance == 0 else 1 - missed * total / chance


@fuzzed("laws", quick=8, problem=tiny(), power=st.sampled_from([1, 2]))
def test_kappa_is_valued_as_by_fractions(problem, power):
    """The expected value of what is kept is that of exact arithmetic, and it never got worse."""
    rows, count = problem
    proba = np.array([[float(p) for p in row] for row in rows])
    k = proba.shape[1]
    metric = metrics.get("kappa:linear" if power == 1 else "kappa:quadratic")
    (point,) = metric.curve(proba, [count / len(rows)], decision="argmax").points
    prediction, withheld = point.choice.apply(proba)
    assert withheld.sum() <= count

    def exact(kept):
        counts = [[Fraction(0)] * k for _ in range(k)]
        for row, j, inside in zip(rows, prediction, kept, strict=True):
            for i in range(k):
                counts[i][j] += row[i] * bool(inside)
        return exact_kappa(counts, power) if any(kept) else None

    value = exact(~withheld)
    if value is None or float(abs(value)) > 1e9:
        return "undefined"
    if not np.isclose(point.value, float(value), rtol=1e-9, atol=1e-9):
        raise Defect(f"{point.value} is not {float(value)}")
    before = exact(np.ones(len(rows), dtype=bool))
    if count and before is not None and withheld.any() and value < before:
        # Withholding fills the budget; it may cost something only where it has to.
        return "worse"
    return "held"
