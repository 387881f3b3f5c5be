import numpy as np
import pytest

from abstain._kernels.atoms import drawn_positives

# One label; a few; rare among many; normal; nearly all; certain.
BINOMIAL = [
    (1, 0.3),
    (7, 0.6),
    (16, 0.05),
    (400, 0.01),
    (400, 0.4),
    (1000, 0.98),
    (50, 1.0),
    (9, 0.0),
]


@pytest.mark.parametrize(("weight", "p"), BINOMIAL)
def test_whole_weights_are_binomial_counts(weight, p):
    # Twenty atoms alike, so that draws of different atoms must differ as well.
    drawn = drawn_positives(np.full(20, float(weight)), np.full(20, p), 0, 2000, 1)
    mean, variance = weight * p, weight * p * (1 - p)
    error = 5 * (variance / drawn.size) ** 0.5
    assert drawn.mean() == pytest.approx(mean, abs=error + 1e-12)
    assert drawn.var() == pytest.approx(variance, rel=0.06, abs=1e-12)
    assert ((drawn == np.round(drawn)) & (drawn >= 0) & (drawn <= weight)).all()
    if variance > 0:
        assert abs(np.corrcoef(drawn[:, 0], drawn[:, 1])[0, 1]) < 0.12


def test_a_fraction_of_weight_is_one_label_of_that_weight():
    drawn = drawn_positives(np.array([0.25, 2.5]), np.array([0.4, 0.4]), 0, 5000, 2)
    assert set(np.unique(drawn[:, 0])) == {0.0, 0.25}
    assert set(np.unique(drawn[:, 1])) == {0.0, 0.5, 1.0, 1.5, 2.0, 2.5}
    assert drawn.mean(axis=0) == pytest.approx([0.1, 1.0], abs=0.04)


def test_a_draw_is_the_same_alone_as_among_others():
    weight, p = np.ones(50), np.linspace(0, 1, 50)
    many = drawn_positives(weight, p, 0, 10, 3)
    np.testing.assert_array_equal(drawn_positives(weight, p, 7, 1, 3)[0], many[7])
    assert (many[0] != many[1]).any()
    assert (drawn_positives(weight, p, 0, 1, 4)[0] != many[0]).any()
