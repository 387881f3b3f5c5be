"""Bounds of a rate and of an area, by hand."""

import numpy as np
import pytest
from scipy import stats

from abstain._numerics import auroc_lower, clopper_pearson


def test_clopper_pearson_by_hand():
    low, high = clopper_pearson(0, 20, 0.05)
    assert (float(low), float(high)) == (0.0, pytest.approx(1 - 0.05 ** (1 / 20)))
    low, high = clopper_pearson(20, 20, 0.05)
    assert (float(low), float(high)) == (pytest.approx(0.05 ** (1 / 20)), 1.0)
    low, high = clopper_pearson(0, 0, 0.05)
    assert (float(low), float(high)) == (0.0, 1.0)
    # The bound is the rate at which so many hits or more have the chance of the error.
    low, high = clopper_pearson(17, 20, 0.05)
    assert stats.binom.sf(16, 20, float(low)) == pytest.approx(0.05)
    assert stats.binom.cdf(17, 20, float(high)) == pytest.approx(0.05)


def test_the_auroc_bound_is_delongs():
    # The worked numbers: positives above 3/3, 3/3, 2/3 of the negatives.
    p, y = np.array([0.9, 0.8, 0.4, 0.1, 0.2, 0.6]), np.array([1, 1, 1, 0, 0, 0])
    area, lower = auroc_lower(p, y, 0.05)
    assert area == pytest.approx(8 / 9)
    deviation = np.sqrt(np.var([1, 1, 2 / 3], ddof=1) / 3 + np.var([1, 1, 2 / 3], ddof=1) / 3)
    odds = np.log(area / (1 - area)) - 1.6448536 * deviation / (area * (1 - area))
    assert lower == pytest.approx(1 / (1 + np.exp(-odds)))
    assert auroc_lower(p[:3], y[:3], 0.05)[1] == 0
    perfect = auroc_lower(np.arange(10.0), np.arange(10) >= 5, 0.05)
    assert perfect == (1.0, pytest.approx(0.05 ** (1 / 5)))
