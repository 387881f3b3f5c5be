"""The controller of a stream: the rate is kept whatever the cases are."""

import json
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abstain import Abstainer
from abstain.datasets import screening_clinic, simulate_four_class_normal
from abstain.exceptions import AssumptionWarning
from abstain.monitoring import RateController


def policy_for(metric="sensitivity@specificity=0.9", **parameters):
    clinic = screening_clinic(1_000, 1_000, random_state=0)
    settings = {"budget": 0.1, "calibration": "platt", "scale": "logits", "random_state": 0}
    abstainer = Abstainer(metric, **{**settings, **parameters})
    decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    return clinic, decisions.policy


CLINIC, POLICY = policy_for()


@settings(max_examples=30)
@given(
    st.lists(st.floats(-20, 20), min_size=1, max_size=300),
    st.sampled_from([0.0, 0.05, 0.3, 1.0]),
    st.sampled_from([0.01, 0.1]),
)
def test_the_rate_is_within_its_bound_for_any_stream(scores, rate, step):
    controller = RateController(POLICY, CLINIC.scores_target, rate=rate, step=step)
    for part in np.array_split(np.array(scores), 3):
        if len(part):
            controller.decide(part)
    n = len(scores)
    assert abs(controller.abstention_rate - rate) <= (1 + 2 * step) / (step * n) + 1e-9


def test_a_drifting_mix_keeps_the_rate_where_the_fixed_rule_does_not():
    rng = np.random.default_rng(0)
    n = 20_000
    # The share of ill patients rises from 5% to 60%.
    y = rng.uniform(size=n) < np.linspace(0.05, 0.6, n)
    rows = [rng.permutation(np.flatnonzero(CLINIC.y_target == label)) for label in (0, 1)]
    picks = np.where(y, rows[1][np.arange(n) % len(rows[1])], rows[0][np.arange(n) % len(rows[0])])
    stream = CLINIC.scores_target[picks]
    controller = RateController(POLICY, CLINIC.scores_target, rate=0.1, step=0.01)
    decisions = controller.decide(stream)
    fixed = POLICY.apply(stream).abstain
    late = slice(n // 2, n)
    assert decisions.abstain.mean() == pytest.approx(0.1, abs=0.006)
    assert decisions.abstain[late].mean() == pytest.approx(0.1, abs=0.012)
    assert abs(fixed[: n // 4].mean() - 0.1) > 0.02
    assert decisions.abstain[: n // 4].mean() == pytest.approx(0.1, abs=0.02)
    assert decisions.prediction.shape == (n,)


def test_without_drift_the_same_cases_go_to_people():
    controller = RateController(POLICY, CLINIC.scores_target, rate=0.1, step=0.001)
    mine = controller.decide(CLINIC.scores_target).abstain
    assert (mine == POLICY.apply(CLINIC.scores_target).abstain).mean() > 0.97


@pytest.mark.parametrize(
    ("metric", "parameters"),
    [
        ("auroc", {}),
        ("kappa", {}),
        ("auroc", {"score": "entropy"}),
        ("sensitivity@specificity=0.9", {"decision": "optimal"}),
        ("auroc", {"target": {"sensitivity": 0.95, "specificity": 0.9}, "budget": None}),
    ],
)
def test_what_a_region_withholds_is_more_pressing(metric, parameters):
    clinic, policy = policy_for(metric, **parameters)
    decisions = policy.apply(clinic.scores_target)
    pressing = decisions.priority
    assert 0 < decisions.abstain.sum() < 1_000
    assert pressing[decisions.abstain].min() >= pressing[~decisions.abstain].max() - 1e-9


def test_many_classes():
    source = simulate_four_class_normal(2_000, random_state=0)
    abstainer = Abstainer("top-k:2", budget=0.1, calibration="bcts", shift="none")
    policy = abstainer.fit(source.proba, source.y).decide(source.proba).policy
    controller = RateController(policy, source.proba, rate=0.2, step=0.02)
    assert controller.decide(source.proba).abstain.mean() == pytest.approx(0.2, abs=0.03)


def test_a_controller_goes_on_where_it_stopped():
    whole = RateController(POLICY, CLINIC.scores_target, rate=0.1)
    everything = whole.decide(CLINIC.scores_target).abstain
    first = RateController(POLICY, CLINIC.scores_target, rate=0.1)
    part = first.decide(CLINIC.scores_target[:400]).abstain
    second = RateController(POLICY, CLINIC.scores_target, rate=0.1).restore(first.to_dict())
    rest = second.decide(CLINIC.scores_target[400:]).abstain
    assert np.concatenate([part, rest]).tolist() == everything.tolist()
    assert second.to_dict() == whole.to_dict()


def test_bad_parameters():
    with pytest.raises(ValueError, match=r"`rate` must be in \[0, 1\]"):
        RateController(POLICY, CLINIC.scores_target, rate=1.5)
    with pytest.raises(ValueError, match="`step` must be between 0 and 1"):
        RateController(POLICY, CLINIC.scores_target, rate=0.1, step=0)
    nothing = policy_for(budget=0)[1]
    with pytest.raises(ValueError, match="withholds nothing"):
        RateController(nothing, CLINIC.scores_target, rate=0.1)


def test_cases_without_a_score_are_referred_however_many_came_before():
    controller = RateController(POLICY, CLINIC.scores_target, rate=0.1, step=0.1)
    for _ in range(3):
        assert controller.decide(np.full(50, np.nan), missing="refer").abstain.all()
    assert controller.abstention_rate == 1


def drifting(n=12_000, seed=0):
    """Cases of the clinic of whom more and more are ill."""
    rng = np.random.default_rng(seed)
    y = rng.uniform(size=n) < np.linspace(0.05, 0.6, n)
    rows = [np.flatnonzero(CLINIC.y_target == label) for label in (0, 1)]
    picks = np.where(y, rng.choice(rows[1], n), rng.choice(rows[0], n))
    return CLINIC.scores_target[picks], y


@pytest.mark.parametrize("metric", ["accuracy", "auroc", "sensitivity@specificity=0.9"])
def test_adapted_online_the_kept_are_predicted_better_at_the_same_rate(metric):
    clinic, policy = policy_for(metric)
    scores, y = drifting()
    right = {}
    for adapt in (None, "online"):
        controller = RateController(policy, clinic.scores_target, rate=0.1, step=0.01, adapt=adapt)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)
            decisions = controller.decide(scores)
        assert abs(controller.abstention_rate - 0.1) <= 1.02 / (0.01 * len(y)) + 1e-9
        late = ~decisions.abstain & (np.arange(len(y)) > len(y) // 2)
        right[adapt] = np.mean(decisions.prediction[late] == y[late])
    assert right["online"] > right[None] + 0.005
    assert decisions.priors[1] == pytest.approx(0.6, abs=0.12)
    assert np.isnan(decisions.estimate.after.value)


def test_adapted_online_parts_and_a_restart_change_nothing():
    scores, _ = drifting(n=400)
    fresh = partial(RateController, POLICY, CLINIC.scores_target, rate=0.1, adapt="online")
    whole = fresh().decide(scores)
    first = fresh()
    before = first.decide(scores[:150])
    state = json.loads(json.dumps(first.to_dict()))
    after = fresh().restore(state).decide(scores[150:])
    abstain = np.concatenate([before.abstain, after.abstain])
    np.testing.assert_array_equal(abstain, whole.abstain)
    np.testing.assert_allclose(np.vstack([before.proba, after.proba]), whole.proba, atol=1e-12)


def test_adapted_online_many_classes_missing_scores_and_no_rows():
    drawn = simulate_four_class_normal(1_000, random_state=0)
    abstainer = Abstainer("accuracy", budget=0.1, calibration="temperature", random_state=0)
    policy = abstainer.fit(drawn.proba, drawn.y).decide(drawn.proba).policy
    controller = RateController(policy, drawn.proba, rate=0.2, adapt="online")
    scores = np.array(drawn.proba[:50])
    scores[7] = np.nan
    decisions = controller.decide(scores, missing="refer")
    assert decisions.abstain[7]
    assert decisions.proba.shape == (50, 4)
    assert controller.proportions.n_seen == 49
    assert len(controller.decide(scores[:0])) == 0


def test_adapt_is_online_or_nothing():
    with pytest.raises(ValueError, match=r'`adapt` must be "online" or None; got .daily.'):
        RateController(POLICY, CLINIC.scores_target, rate=0.1, adapt="daily")
    online = RateController(POLICY, CLINIC.scores_target, rate=0.1, adapt="online")
    plain = RateController(POLICY, CLINIC.scores_target, rate=0.1)
    with pytest.raises(ValueError, match=r"`state` has no `proportions`"):
        online.restore(plain.to_dict())
