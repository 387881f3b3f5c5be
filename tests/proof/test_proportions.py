"""QuaPy is asked as it should be, and its answers are judged right."""

import numpy as np
import pytest
from benchmarks.honesty.shifts import Split
from benchmarks.proof import proportions


def scores(prevalence, n, seed):
    rng = np.random.default_rng(seed)
    y = (rng.uniform(size=n) < prevalence).astype(int)
    logit = 2 * (rng.normal(size=n) + 2 * y - 1)  # calibrated for even classes
    return logit, y


def shifted(n=600):
    (val, y_val), (new, y) = scores(0.5, n, 0), scores(0.2, n, 1)
    return Split(val, y_val, new, y, "logits", 0, np.array([0.8, 0.2]))


def test_probabilities_are_handed_through():
    through = proportions.HandsThrough(3)
    p = np.array([[0.2, 0.5, 0.3]])
    assert through.fit(None, None) is through
    assert through.predict_proba(p) is p
    assert through.predict(p).tolist() == [1]
    assert through.classes_.tolist() == [0, 1, 2]


def test_errors_by_hand():
    pytest.importorskip("quapy", reason="QuaPy is not installed")
    y = np.array([0] * 6 + [1] * 4)
    part = Split(y, y, y, y, "logits", 0, np.array([0.5, 0.5]))
    interval = np.array([[0.4, 0.55], [0.52, 0.6]])
    found = proportions.judged(proportions.Answer(np.array([0.7, 0.3]), interval, 2.0), part)
    assert found["MAE"] == pytest.approx(0.1)
    # Smoothed by 1/20: (0.6 + 0.05) / 1.1 and so on.
    assert found["RAE"] == pytest.approx((0.1 / 0.65 + 0.1 / 0.45) / 2)
    assert found["held"] == 0.5  # of what was drawn, 0.5 and 0.5
    assert found["seconds"] == 2.0


# On its own account, of a module that abstention asks SciPy for.
@pytest.mark.filterwarnings("ignore:scipy.misc is deprecated:DeprecationWarning")
def test_ours_and_quapy_find_the_proportions():
    pytest.importorskip("quapy", reason="QuaPy is not installed")
    pytest.importorskip("numpyro", reason="NumPyro is not installed")
    part = shifted()
    found = dict(proportions.answers(part, 2, bayesian=False))
    assert {*found} == {"ours", "ours, em", *proportions.POINTS}
    for answer in found.values():
        assert answer.proportions.sum() == pytest.approx(1)
        assert answer.proportions[1] == pytest.approx(part.y.mean(), abs=0.05)
    # The same likelihood, maximised by EM and by Newton's method.
    np.testing.assert_allclose(
        found["EMQ calibrated"].proportions, found["ours, em"].proportions, atol=0.02
    )
    assert found["EMQ"].interval is None
    assert found["ours"].interval.shape == (2, 2)


def a_line(method, gap, runs=24, held=float("nan"), seconds=0.5):
    return {
        "method": method, "runs": runs, "MAE": 0.02 + gap, "gap": gap, "gap_error": 0.001,
        "held": held, "seconds": seconds,
    }  # fmt: skip


def test_the_verdict_says_where_ours_loses():
    found = {
        name: [
            a_line("ours", 0.0, held=0.9),
            a_line("EMQ", gap, seconds=0.01),
            a_line("EMQ calibrated", 0.01),
            a_line("EMQ BCTS", float("nan"), runs=0),
            a_line("BayesianMAPLS", 0.0, runs=2, held=0.8, seconds=4.0),
        ]
        for name, gap in {"good": 0.2, "bad": -0.01}.items()
    }
    text = proportions.verdict(found)
    assert (
        "clearly smaller on bad (EMQ by 0.0100 ± 0.0010). Ours is smallest on 1 of 2 sets" in text
    )
    assert "ours 90 %, BayesianMAPLS 80 %" in text
    assert "0.010 s against 0.50 s" in text
