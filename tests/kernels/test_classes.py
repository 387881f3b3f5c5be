"""Kernels over rows of classes, each against the loop it stands for."""

import math

import numpy as np
import pytest

from abstain._kernels import confusion, proportions, softmax

NOTHING = np.empty(0)
ALL = np.empty(0, dtype=np.bool_)
# Few and many classes, one row, and more rows than one piece holds.
SHAPES = [(1, 2), (5, 3), (40, 10), (70, 40), (700, 200)]


def made(shape, seed=0):
    rng = np.random.default_rng(seed)
    n, k = shape
    proba = rng.dirichlet(np.full(k, 0.5), size=n)
    return rng, proba, rng.integers(k, size=n), rng.random(n) * (rng.random(n) < 0.8)


def softmax_of(row):
    powers = [math.exp(x - max(row)) for x in row]
    return [power / math.fsum(powers) for power in powers]


# The reference is a loop over every number.
@pytest.mark.parametrize("shape", [*SHAPES[:4], (120, 200)])
def test_softmax(shape):
    rng, *_ = made(shape)
    logits = 5 * rng.normal(size=shape)
    slope, bias = rng.normal(size=shape[1]), rng.normal(size=shape[1])
    expected = np.array([softmax_of(row) for row in slope * logits + bias])
    np.testing.assert_allclose(softmax.scaled_softmax(logits, slope, bias), expected, rtol=1e-12)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("shape", SHAPES[:4])
def test_scaling_derivatives(shape, shared):
    rng, _, codes, weight = made(shape)
    k = shape[1]
    z, slope, bias = rng.normal(size=shape), rng.random(k), rng.normal(size=k)
    slope = np.full(k, slope[0]) if shared else slope
    targets = 0.9 * np.eye(k) + 0.1 / k
    m = 1 if shared else k
    loss, gradient, hessian = 0.0, np.zeros(m + k), np.zeros((m + k, m + k))
    for row, c, w in zip(z, codes, weight, strict=True):
        p = np.array(softmax_of(slope * row + bias))
        loss -= w * targets[c] @ np.log(p)
        # How each logit moves with each parameter.
        by = np.vstack([row[None] if shared else np.diag(row), np.eye(k)])
        gradient += w * by @ (p - targets[c])
        hessian += w * by @ (np.diag(p) - np.outer(p, p)) @ by.T
    got = softmax.scaling_derivatives(z, codes, weight, targets, (slope, bias), shared, 3)
    for mine, expected in zip(got, (loss, gradient, hessian), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_linear_softmax_loss(shape):
    rng, _, codes, weight = made(shape)
    k = shape[1]
    z, matrix, bias = rng.normal(size=shape), rng.normal(size=(k, k)), rng.normal(size=k)
    loss, by_matrix, by_bias = 0.0, np.zeros((k, k)), np.zeros(k)
    for row, c, w in zip(z, codes, weight, strict=True):
        p = np.array(softmax_of(row @ matrix + bias))
        loss -= w * math.log(p[c]) if w else 0.0
        p[c] -= 1
        by_matrix += w * np.outer(row, p)
        by_bias += w * p
    got = softmax.linear_softmax_loss(z, codes, weight, matrix, bias, 2)
    for mine, expected in zip(got, (loss, by_matrix, by_bias), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("shape", SHAPES)
def test_adapted_rows(shape):
    rng, proba, *_ = made(shape)
    weights = rng.random(shape[1])
    weights[0] = 0.0
    proba[-1] = np.eye(shape[1])[0]  # vanishes
    got = proportions.adapted(proba, weights)
    for row, mine in zip(proba[:-1], got[:-1], strict=True):
        np.testing.assert_allclose(mine, row * weights / math.fsum(row * weights), rtol=1e-12)
    np.testing.assert_array_equal(got[-1], proba[-1])


@pytest.mark.parametrize("shape", SHAPES)
def test_gains(shape):
    rng, proba, prediction, _ = made(shape)
    gains = rng.normal(size=(shape[1], shape[1]))
    of_row = proba @ gains
    got = confusion.linear_gain(proba, prediction, gains)
    np.testing.assert_allclose(got, of_row[np.arange(len(proba)), prediction], atol=1e-12)
    np.testing.assert_array_equal(confusion.best_gain(proba, gains), of_row.argmax(axis=1))


def test_the_first_of_equal_gains_is_best():
    proba = np.array([[0.5, 0.5], [0.25, 0.75], [0.75, 0.25]])
    np.testing.assert_array_equal(confusion.best_gain(proba, np.eye(2)), [0, 1, 0])
    np.testing.assert_array_equal(confusion.best_gain(proba, np.ones((2, 300))), [0, 0, 0])


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("withholding", [True, False])
@pytest.mark.parametrize("shape", [*SHAPES, (300, 2)])
def test_expected_confusion(shape, weighted, withholding):
    rng, proba, prediction, weight = made(shape)
    prediction[prediction == 1] = 0  # a class that nothing is predicted as
    kept = rng.random(len(proba)) < 0.6
    expected = np.zeros((shape[1], shape[1]))
    for x in range(len(proba)):
        if kept[x] or not withholding:
            expected[:, prediction[x]] += proba[x] * (weight[x] if weighted else 1.0)
    got = confusion.expected_confusion(
        proba, prediction, weight if weighted else NOTHING, kept if withholding else ALL
    )
    np.testing.assert_allclose(got, expected, atol=1e-12)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("shape", [*SHAPES[:4], (300, 2)])
def test_confusion_moments(shape, weighted):
    rng, proba, prediction, weight = made(shape)
    withheld = rng.random(len(proba)) < 0.4
    k = shape[1]
    sums, squares = np.zeros((2, k, k)), np.zeros((2, k, k, k))
    for x in range(len(proba)):
        g, j, w = int(withheld[x]), prediction[x], weight[x] if weighted else 1.0
        sums[g, :, j] += w * proba[x]
        squares[g, j] += w * np.outer(proba[x], proba[x])
    got = confusion.confusion_moments(proba, prediction, weight if weighted else NOTHING, withheld)
    np.testing.assert_allclose(got[0], sums, atol=1e-12)
    np.testing.assert_allclose(got[1], squares, atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 1000])
@pytest.mark.parametrize("shape", SHAPES)
def test_top_share(shape, k):
    _, proba, *_ = made(shape)
    expected = [math.fsum(sorted(row)[::-1][:k]) for row in proba]
    np.testing.assert_allclose(confusion.top_share(proba, k), expected, rtol=1e-12)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_mixture_derivatives(shape, weighted):
    rng, proba, _, weight = made(shape)
    weight = weight + 0.01 if weighted else NOTHING
    ratios = rng.random(shape[1])
    counts = weight if weighted else np.ones(len(proba))
    mixed = proba @ ratios
    share = proba / mixed[:, None]
    value, gradient, hessian = proportions.mixture_derivatives(proba, weight, ratios)
    assert value == pytest.approx(np.average(np.log(mixed), weights=counts), rel=1e-10)
    np.testing.assert_allclose(gradient, np.average(share, axis=0, weights=counts), rtol=1e-10)
    outer = share[:, :, None] * share[:, None, :]
    np.testing.assert_allclose(hessian, np.average(outer, axis=0, weights=counts), rtol=1e-9)
    classes = np.average(share * ratios, axis=0, weights=counts)
    np.testing.assert_allclose(
        proportions.expected_classes(proba, weight, ratios), classes, rtol=1e-10
    )


def test_rows_that_the_ratios_rule_out():
    proba = np.array([[1.0, 0.0], [0.5, 0.5], [0.2, 0.8]])
    ratios = np.array([0.0, 2.0])
    value, gradient, _ = proportions.mixture_derivatives(proba, NOTHING, ratios)
    assert value == -np.inf
    assert gradient == pytest.approx([(0.5 / 1.0 + 0.2 / 1.6) / 3, 1 / 3])
    np.testing.assert_allclose(proportions.expected_classes(proba, NOTHING, ratios), [0.0, 1.0])
    # A row that does not count may be ruled out.
    weight = np.array([0.0, 1.0, 1.0])
    value, *_ = proportions.mixture_derivatives(proba, weight, ratios)
    assert value == pytest.approx((math.log(1.0) + math.log(1.6)) / 2)


def test_likelihoods_too_small_for_a_product():
    proba, ratios = np.full((9, 2), 0.5), np.full(2, 1e-150)
    value, *_ = proportions.mixture_derivatives(proba, NOTHING, ratios)
    assert value == pytest.approx(math.log(1e-150))


def test_loss_and_products_are_those_of_the_dense_derivatives():
    rng = np.random.default_rng(1)
    z, y = rng.normal(size=(200, 12)), rng.integers(12, size=200)
    weight = rng.dirichlet(np.ones(200))
    targets = rng.dirichlet(np.ones(12), size=12)
    slope, bias = rng.normal(1, 0.2, size=12), rng.normal(size=12)
    value, gradient, hessian = softmax.scaling_derivatives(
        z, y, weight, targets, (slope, bias), False, 1
    )
    loss = softmax.ScalingLoss(z, y, weight, targets)
    loss.at(slope, bias)
    assert loss.value == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(loss.gradient.ravel(), gradient, atol=1e-12)
    vector = rng.normal(size=24)
    np.testing.assert_allclose(loss.times(*vector.reshape(2, 12)).ravel(), hessian @ vector)
    curvature = loss.curvature()
    np.testing.assert_allclose(np.r_[curvature[0], curvature[2]], np.diag(hessian))
    np.testing.assert_allclose(curvature[1], np.diag(hessian[:12, 12:]))
