"""Validation rows that have a time: how far metrics wander, and what intervals make of it."""

import numpy as np
import pytest

import abstain
from abstain import Abstainer, Policy

N = 3_000


def stream(seed, wander, n=N, days=60):
    """Rows in time; what a score means walks at random from day to day."""
    rng = np.random.default_rng(seed)
    day = np.sort(rng.uniform(0, days, n))
    walk = np.cumsum(rng.normal(0, wander, days))
    logit = 2 * rng.normal(size=n)
    chance = 1 / (1 + np.exp(-(logit + walk[day.astype(int)])))
    return day, logit, (rng.uniform(size=n) < chance).astype(int)


def fitted(day, logit, y, **times):
    settings = {"calibration": "platt", "scale": "logits", "shift": "none", "random_state": 0}
    known = day < 40
    times = {name: one[known] for name, one in times.items()}
    return Abstainer("accuracy", budget=0.1, **settings).fit(logit[known], y[known], **times)


def width(value):
    low, high = value.interval
    return high - low


def test_a_metric_that_wanders_widens_intervals_and_moves_no_value():
    day, logit, y = stream(1, 0.4)
    batch = logit[day >= 45]
    plain = fitted(day, logit, y).decide(batch)
    timed = fitted(day, logit, y, time=day).decide(batch)
    np.testing.assert_array_equal(timed.abstain, plain.abstain)
    assert timed.estimate.after.value == plain.estimate.after.value
    assert width(timed.estimate.after) > 1.2 * width(plain.estimate.after)


def test_the_later_a_batch_the_wider():
    day, logit, y = stream(1, 0.4)
    abstainer, batch = fitted(day, logit, y, time=day), logit[day >= 45]
    widths = [width(abstainer.decide(batch, time=at).estimate.after) for at in (45, 60, 90)]
    assert widths == sorted(widths)
    assert widths[0] < widths[2]


@pytest.mark.slow
def test_intervals_hold_more_often_where_meaning_wanders():
    held = np.zeros(2)
    for seed in range(40):
        day, logit, y = stream(seed, 0.3, n=6_000)
        later = (day >= 45) & (day < 50)
        for k, times in enumerate(({}, {"time": day})):
            found = fitted(day, logit, y, **times).decide(logit[later])
            kept = ~found.abstain
            realised = (found.prediction == y[later])[kept].mean()
            held[k] += found.estimate.after.holds(realised)
    assert held[1] >= 0.7 * 40
    assert held[1] >= held[0] + 4


def test_a_policy_keeps_it(tmp_path):
    day, logit, y = stream(1, 0.4)
    found = fitted(day, logit, y, time=day).decide(logit[day >= 45])
    found.policy.save(tmp_path / "rule.json")
    loaded = Policy.load(tmp_path / "rule.json")
    assert loaded.source.drift == found.policy.source.drift
    applied = loaded.apply(logit[day >= 45])
    plain = fitted(day, logit, y).decide(logit[day >= 45]).policy.apply(logit[day >= 45])
    assert width(applied.estimate.after) > width(plain.estimate.after)


def test_estimates_of_several_metrics_carry_their_own():
    day, logit, y = stream(1, 0.4)
    known = day < 40
    data = logit[known], y[known], logit[~known], ["accuracy", "auroc"]
    settings = {"calibration": "platt", "scale": "logits", "shift": "none", "random_state": 0}
    plain = abstain.estimate(*data, **settings)
    timed = abstain.estimate(*data, time_val=day[known], time=day[~known], **settings)
    assert timed["accuracy"].value == plain["accuracy"].value
    assert width(timed["accuracy"]) > width(plain["accuracy"])
    assert width(timed["auroc"]) >= width(plain["auroc"])


def test_datetimes_and_text_are_times_too():
    day, logit, y = stream(1, 0.4)
    dates = np.datetime64("2026-01-01") + (day * 86_400).astype("timedelta64[s]")
    by_number = fitted(day, logit, y, time=day).decide(logit[day >= 45], time=50.0)
    abstainer = fitted(day, logit, y, time=dates)
    by_date = abstainer.decide(logit[day >= 45], time="2026-02-20")
    assert width(by_date.estimate.after) == pytest.approx(
        width(by_number.estimate.after), rel=1e-3
    )


def test_a_class_that_came_late_leaves_blocks_out(tmp_path):
    """Of blocks before it there is no estimate; the others tell, and a policy can be kept."""
    day, logit, y = stream(1, 0.4)
    y[: N // 4] = 0
    settings = {"calibration": "platt", "scale": "logits", "random_state": 0}
    abstainer = Abstainer("auroc", budget=0.1, **settings).fit(logit, y, time=day)
    found = abstainer.decide(logit[:500])
    assert np.isfinite(found.policy.source.drift.spread("auroc"))
    found.policy.save(tmp_path / "rule.json")
    assert Policy.load(tmp_path / "rule.json").source.drift == found.policy.source.drift


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (np.zeros(3), "`time` must have one entry per row"),
        (np.zeros(N), "of different times"),
        (np.full(N, np.nan), "`time` is missing in row 0"),
        (np.full(N, "soon"), "`time` in row 0 is none"),
    ],
)
def test_what_are_no_times_is_refused(times, message):
    _, logit, y = stream(1, 0.0)
    with pytest.raises(ValueError, match=message):
        Abstainer("accuracy", budget=0.1, scale="logits").fit(logit, y, time=times)


def test_too_few_rows_cannot_tell():
    day, logit, y = stream(1, 0.0, n=250)
    with pytest.raises(ValueError, match="300 validation rows or more"):
        Abstainer("accuracy", budget=0.1, scale="logits").fit(logit, y, time=day)


def test_the_time_of_a_batch_needs_those_of_validation_rows():
    day, logit, y = stream(1, 0.0)
    with pytest.raises(ValueError, match="of which no time is known"):
        fitted(day, logit, y).decide(logit[day >= 45], time=50)
