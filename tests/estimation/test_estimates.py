"""Estimates without labels: rectified by labelled rows, with intervals that hold."""

import warnings

import numpy as np
import pytest
from scipy.special import expit

from abstain import Abstainer, Policy
from abstain.exceptions import AssumptionWarning


def simulated(n, rate, seed, *, gap=1.5):
    """Scores of two normal classes: label shift is all that moves them."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < rate).astype(int)
    return gap * (2 * y - 1) + 1.5 * rng.standard_normal(n), y


def decided(metric="accuracy", *, n=1_000, rate=0.5, seed=0, **settings):
    scores_val, y_val = simulated(n, 0.3, [seed, 1])
    scores, y = simulated(n, rate, [seed, 2])
    settings = {"budget": 0.2, "scale": "logits", "random_state": seed, **settings}
    return Abstainer(metric, **settings).fit(scores_val, y_val).decide(scores), y


class TestRectified:
    @pytest.mark.parametrize("metric", ["accuracy", "f1", "auroc", "average-precision"])
    def test_labelled_rows_correct_probabilities_that_are_wrong(self, metric):
        """Identity leaves scores three times too sure; labels of the validation rows tell."""
        scores_val, y_val = simulated(3_000, 0.4, 3)
        scores, y = simulated(3_000, 0.4, 4)
        sure = [expit(3 * part) for part in (scores_val, scores)]
        abstainer = Abstainer(
            metric, budget=0.0, calibration="identity", shift="none", decision="argmax"
        )
        found = abstainer.fit(sure[0], y_val).decide(sure[1])
        realised = found.metric.observed(y, found.proba, prediction=found.columns)
        plug_in = found.metric.expected(found.proba)
        assert abs(plug_in - realised) > 0.03
        assert abs(found.estimate.before.value - realised) < 0.03

    def test_a_larger_level_is_wider(self):
        widths = []
        for level in (0.5, 0.9, 0.99):
            found, _ = decided(level=level)
            low, high = found.estimate.after.interval
            assert low <= found.estimate.after.value <= high
            assert found.estimate.after.level == level
            widths.append(high - low)
        assert widths == sorted(widths)

    @pytest.mark.parametrize("level", [0, 1, -0.1, "much"])
    def test_a_level_must_be_one(self, level):
        with pytest.raises((ValueError, TypeError), match="level"):
            decided(level=level)

    def test_what_never_went_wrong_still_may(self):
        """300 of 300 right: the lower end is about where a binomial interval has it."""
        rng = np.random.default_rng(5)
        y = rng.integers(2, size=300)
        scores = 4.0 * (2 * y - 1) + rng.uniform(-1, 1, 300)
        found = Abstainer("accuracy", budget=0.0, scale="logits").fit(scores, y).decide(scores)
        low, high = found.estimate.before.interval
        assert high > 0.995
        assert 0.95 < low < 0.999

    def test_separable_rows_have_a_wide_interval_and_it_is_said(self):
        rng = np.random.default_rng(6)
        y = np.repeat([0, 1], 20)
        scores = 3.0 * (2 * y - 1) + rng.uniform(-1, 1, 40)
        new = 3.0 * np.sign(rng.normal(size=300)) + rng.uniform(-1, 1, 300)
        abstainer = Abstainer("accuracy", budget=0.0, scale="logits").fit(scores, y)
        with pytest.warns(AssumptionWarning, match="only 40 labelled rows"):
            found = abstainer.decide(new)
        low, high = found.estimate.before.interval
        assert high - low > 0.02

    @pytest.mark.parametrize("rate", [0.3, pytest.param(0.6, marks=pytest.mark.slow)])
    def test_intervals_hold(self, rate):
        """Forty batches: far more than half of the 90% intervals hold, as they would by chance."""
        inside = []
        for seed in range(40):
            found, y = decided("balanced-accuracy", n=400, rate=rate, seed=seed)
            kept = ~found.abstain
            realised = found.metric.observed(
                y[kept], found.proba[kept], prediction=found.columns[kept]
            )
            inside.append(found.estimate.after.holds(realised))
        assert np.mean(inside) > 0.8

    def test_weights_equal_repetition(self):
        scores_val, y_val = simulated(400, 0.3, 7)
        scores, _ = simulated(400, 0.5, 8)
        twice = [np.repeat(part, 2) for part in (scores_val, y_val, scores)]
        settings = {"budget": 0.0, "scale": "logits", "random_state": 0, "calibration": "platt"}
        one = Abstainer("accuracy", **settings)
        one.fit(scores_val, y_val, np.full(400, 2.0))
        weighted = one.decide(scores, np.full(400, 2.0)).estimate.before
        repeated = Abstainer("accuracy", **settings).fit(*twice[:2]).decide(twice[2]).estimate
        assert weighted.value == pytest.approx(repeated.before.value, abs=0.01)


class TestAssumption:
    def test_label_shift_is_assumed_and_said(self):
        found, _ = decided()
        assert found.assumption.worlds["label"] == max(found.assumption.worlds.values())
        assert found.assumption.doubts == ()
        assert "label shift (" in found.assumption.summary()
        assert found.alternative["nothing"].before.value != found.estimate.before.value

    def test_scores_of_another_model_are_named(self):
        scores_val, y_val = simulated(1_000, 0.3, 9)
        scores, _ = simulated(1_000, 0.3, 10)
        abstainer = Abstainer("accuracy", budget=0.1, scale="logits").fit(scores_val, y_val)
        with pytest.warns(AssumptionWarning, match="same model"):
            found = abstainer.decide(20 * scores + 30)
        assert not found.assumption.check.fits

    def test_uncertain_rows_oversampled_are_not_adapted_to(self):
        scores_val, y_val = simulated(2_000, 0.3, 11)
        scores, y = simulated(8_000, 0.3, 12)
        often = np.random.default_rng(0).random(8_000) < np.where(abs(scores) < 1.5, 0.8, 0.2)
        abstainer = Abstainer("accuracy", budget=0.0, scale="logits").fit(scores_val, y_val)
        found = abstainer.decide(scores[often])
        # Where the classes overlap a mix of scores looks much like one of classes.
        assert found.assumption.worlds["label"] < 0.2
        np.testing.assert_allclose(found.priors, found.source_priors, atol=0.1)
        realised = found.metric.observed(y[often], found.proba)
        assert found.estimate.before.holds(realised)

    def test_applying_checks_batches_and_not_single_rows(self):
        scores_val, y_val = simulated(1_000, 0.3, 13)
        scores, _ = simulated(1_000, 0.3, 14)
        abstainer = Abstainer("accuracy", budget=0.1, scale="logits").fit(scores_val, y_val)
        policy = abstainer.decide(scores).policy
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert policy.apply(scores[:1]).assumption.assumed == "as-made"
            assert policy.apply(scores).assumption.doubts == ()
        with pytest.warns(AssumptionWarning, match="another model"):
            policy.apply(20 * scores + 30)

    def test_a_metric_that_is_not_defined_is_said(self):
        scores_val, y_val = simulated(500, 0.3, 15)
        abstainer = Abstainer("auroc", budget=0.0, scale="logits", shift="none")
        abstainer.fit(scores_val, y_val)
        with pytest.warns(AssumptionWarning, match="not defined"):
            found = abstainer.decide(np.full(200, -60.0))
        assert np.isnan(found.estimate.before.value)

    def test_it_is_kept_in_the_policy(self, tmp_path):
        found, _ = decided()
        found.policy.save(tmp_path / "rule.json")
        again = Policy.load(tmp_path / "rule.json")
        assert again.assumption.summary() == found.assumption.summary()
        assert again.estimate == found.estimate
        assert again.source.held_out is not None


class TestTarget:
    def test_the_lower_end_reaches_it(self):
        found, _ = decided(budget=None, target=0.93)
        assert found.estimate.after.interval[0] >= 0.93 - 0.01
        assert found.reached >= 0.9

    @pytest.mark.slow
    def test_it_is_seldom_missed(self):
        missed = []
        for seed in range(30):
            found, y = decided(budget=None, target=0.9, seed=seed, n=800)
            kept = ~found.abstain
            missed.append(found.metric.observed(y[kept], found.proba[kept]) < 0.9)
        assert np.mean(missed) <= 0.2

    def test_where_it_cannot_be_reached_for_sure_it_says_how_sure(self):
        found, _ = decided(budget=None, target=0.995, n=200, seed=1)
        assert found.reached < 0.95
        assert found.abstain.any()
