"""Proportions are numbers, however little the data say."""

import numpy as np
import pytest

from abstain.exceptions import NotIdentifiable
from abstain.shift import BBSEHard, MaximumLikelihoodShift


@pytest.mark.parametrize("tiny", [0.0, 5e-324, 1e-300, 1e-17])
@pytest.mark.parametrize("weight", [None, 1e-300, 1e300])
@pytest.mark.parametrize("algorithm", ["newton", "em"])
def test_a_class_that_is_all_but_absent_has_a_proportion(tiny, weight, algorithm):
    source = np.array([[0.8, 0.2, tiny], [0.3, 0.7, tiny], [0.6, 0.4, tiny], [0.1, 0.9, tiny]])
    target = np.array([[0.0, tiny, 1.0], [0.9, 0.1, tiny], [0.2, 0.8, tiny]])
    heavy = None if weight is None else np.full(3, weight)
    estimator = MaximumLikelihoodShift(algorithm=algorithm, prior_rows=1.0, max_iter=2000)
    priors = estimator.fit(source, target, sample_weight_target=heavy).priors_
    assert priors.sum() == pytest.approx(1)
    assert (priors >= 0).all()


def test_proportions_that_would_all_be_below_0_are_not_identified():
    source = [[0.6, 0.4, 0.0]] * 3 + [[0.4, 0.6, 0.0]] * 3
    with pytest.raises(NotIdentifiable):
        BBSEHard().fit(source, [[0.0, 0.0, 1.0]], [0, 0, 1, 1, 1, 0])
