"""A monitor: chunks however they come, alarms that stand, and a state that survives."""

import base64
import hashlib
import json
import zlib
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from abstain import Abstainer
from abstain.datasets import screening_clinic, simulate_four_class_normal
from abstain.monitoring import Alarm, Chunk, Monitor

CLINIC = screening_clinic(2_000, 6_000, random_state=0)
ABSTAINER = Abstainer(
    "sensitivity@specificity=0.9", budget=0.1, calibration="platt", scale="logits", random_state=0
).fit(CLINIC.scores_val, CLINIC.y_val)
POLICY = ABSTAINER.decide(CLINIC.scores_target).policy
FIRST = datetime(2026, 3, 1, 9, tzinfo=UTC)


def day(k):
    return FIRST + timedelta(days=k)


def filled(n_days=5, **options):
    """Return a monitor with quiet days of 500 rows, the last of which is still open."""
    monitor = Monitor(POLICY, every="day", **options)
    for k in range(n_days):
        monitor.add(CLINIC.scores_target[500 * k : 500 * (k + 1)], day(k))
    return monitor


def test_quiet_days_raise_nothing_and_are_told_as_they_are():
    monitor = filled().close()
    assert not monitor.alarms
    assert [one.name for one in monitor.chunks] == [f"2026-03-0{k}" for k in range(1, 6)]
    first, decided = monitor.chunks[0], POLICY.apply(CLINIC.scores_target[:500])
    assert (first.rows, first.missing) == (500, 0)
    assert first.referred == pytest.approx(decided.abstain.sum(), abs=1)
    assert first.estimate.after.value == pytest.approx(decided.estimate.after.value, abs=0.03)
    np.testing.assert_allclose(first.priors, decided.current_priors.values, atol=0.01)
    assert set(first.worlds) == {"nothing", "label", "scores", "both"}


def test_alarms_name_what_happened_since_when_and_what_to_do():
    monitor = filled()
    for k in range(5, 8):
        healthy = CLINIC.scores_target[CLINIC.y_target == 0]
        monitor.add(np.resize(healthy, 500), day(k))
    alarms = {alarm.kind: alarm for alarm in monitor.close().alarms}
    found = alarms["proportions"]
    assert isinstance(found, Alarm)
    assert found.began == "2026-03-06"
    assert found.began_between[0] <= found.began <= found.began_between[1]
    assert "class 1" in found.text
    assert "adapt" in found.advice
    assert found.evidence > 2
    assert "ALARM proportions" in monitor.to_text()
    assert "scores" not in alarms  # label shift is explained


def test_scores_that_mean_something_else_are_told_from_label_shift():
    monitor = filled()
    for k in range(5, 8):
        monitor.add(0.3 * CLINIC.scores_target[500 * k : 500 * (k + 1)], day(k))
    assert "scores" in {alarm.kind for alarm in monitor.close().alarms}


def test_scores_of_another_model_are_told():
    monitor = filled()
    monitor.add(40 + CLINIC.scores_target[:500], day(5))
    alarms = {alarm.kind: alarm for alarm in monitor.close().alarms}
    assert "Stop" in alarms["model"].advice


def test_a_floor_is_crossed_by_no_chunk_alone():
    value = filled().close().chunks[0].estimate.after.value
    quiet, low = filled(8, floor=value - 0.3).close(), filled(12, floor=value + 0.4).close()
    assert not quiet.alarms
    assert [alarm.kind for alarm in low.alarms] == ["metric"]
    assert low.alarms[0].chunk > "2026-03-03"


def test_more_referrals_than_capacity_fill_a_queue():
    monitor = filled(6, capacity=10).close()
    assert "referrals" in {alarm.kind for alarm in monitor.alarms}
    assert monitor.queue == pytest.approx(sum(one.referred for one in monitor.chunks) - 60)
    assert "Waiting for a person" in monitor.to_text()
    assert filled(3, capacity=0.5).close().queue == 0


def test_an_alarm_stands_until_it_is_acknowledged_and_comes_again():
    monitor = filled(3)
    shifted = np.resize(CLINIC.scores_target[CLINIC.y_target == 0], 500)
    for k in range(3, 6):
        monitor.add(shifted, day(k))
    monitor.add(CLINIC.scores_target[:500], day(6))
    assert "proportions" in {alarm.kind for alarm in monitor.alarms}
    assert not monitor.acknowledge("proportions", "referrals", "scores", "model").alarms
    for k in range(7, 10):
        monitor.add(shifted, day(k))
    assert {alarm.began for alarm in monitor.close().alarms} == {"2026-03-08"}
    with pytest.raises(ValueError, match="`kinds` must be of proportions"):
        monitor.acknowledge("everything")


def test_labels_that_contradict_the_estimate_raise_an_alarm_and_a_correction_withdraws_it():
    monitor = filled().close()
    rows = slice(0, 500)
    before = monitor.label("2026-03-01", CLINIC.scores_target[rows], CLINIC.y_target[rows])
    assert before.realised.rows == 500
    assert before.realised.after >= before.realised.before
    assert not monitor.alarms
    wrong = 1 - CLINIC.y_target[rows]
    monitor.label("2026-03-01", CLINIC.scores_target[rows], wrong)
    (alarm,) = monitor.alarms
    assert alarm.kind == "labels"
    assert "Calibrate anew" in alarm.advice
    monitor.label("2026-03-01", CLINIC.scores_target[rows], CLINIC.y_target[rows])
    assert not monitor.alarms


def test_labels_may_come_late_and_out_of_order():
    monitor = filled().close()
    for k in (3, 0, 2):
        rows = slice(500 * k, 500 * (k + 1))
        name = f"2026-03-0{k + 1}"
        monitor.label(name, CLINIC.scores_target[rows], CLINIC.y_target[rows])
    orders = [one.realised and one.realised.order for one in monitor.chunks]
    assert orders == [1, None, 2, 0, None]
    with pytest.raises(ValueError, match="no chunk '2027"):
        monitor.label("2027", CLINIC.scores_target[:5], CLINIC.y_target[:5])


def test_labels_of_one_class_or_picked_by_score_are_no_alarm():
    monitor = filled().close()
    scores, y = CLINIC.scores_target[:500], CLINIC.y_target[:500]
    unsure = np.abs(POLICY.predict_proba(scores)[:, 1] - 0.5) < 0.3
    monitor.label("2026-03-01", scores[unsure], y[unsure])
    few = np.flatnonzero(y == 0)[:12]
    found = monitor.label("2026-03-02", scores[few], y[few])
    assert np.isnan(found.realised.after)  # no sensitivity without the ill
    assert not monitor.alarms
    weights = np.where(unsure, 1.0, 3.0)
    weighed = monitor.label("2026-03-03", scores, y, weights).realised
    judged = POLICY.apply(scores)
    assert weighed.before == pytest.approx(
        POLICY.metric.observed(y, judged.proba, sample_weight=weights, classes=[0, 1])
    )


def test_missing_periods_are_gaps_and_empty_chunks_say_so():
    monitor = Monitor(POLICY, every="day")
    monitor.add(CLINIC.scores_target[:500], day(0))
    monitor.add(CLINIC.scores_target[500:1000], day(4))
    assert [one.name for one in monitor.close().chunks] == ["2026-03-01", "2026-03-05"]
    by_hand = Monitor(POLICY)
    (empty,) = by_hand.add([], "2026-03-01", name="closed on Sunday")
    assert (empty.rows, empty.priors) == (0, None)
    assert np.isnan(empty.referral_rate)
    assert np.isnan(empty.estimate.after.value)
    assert "closed on Sunday" in by_hand.to_text()
    assert not by_hand.alarms


def test_a_chunk_of_one_class_is_label_shift_of_the_largest_kind():
    monitor = Monitor(POLICY)
    for k in range(3):
        monitor.add(np.resize(CLINIC.scores_target[CLINIC.y_target == 1], 400), name=str(k))
    kinds = {alarm.kind for alarm in monitor.alarms}
    assert "proportions" in kinds
    assert monitor.chunks[0].priors[1] > 0.9


def test_rows_without_a_score_use_capacity():
    scores = CLINIC.scores_target[:400].copy()
    scores[:100] = np.nan
    (chunk,) = Monitor(POLICY).add(scores)
    assert (chunk.rows, chunk.missing) == (300, 100)
    assert chunk.referred >= 100
    (nothing,) = Monitor(POLICY).add(np.full(50, np.nan))
    assert (nothing.rows, nothing.referred) == (0, 50)
    with pytest.raises(ValueError, match="NaN"):
        Monitor(POLICY).add(scores, missing="error")


def test_rows_may_come_in_any_order_and_late_ones_are_a_chunk_of_their_own():
    order = np.random.default_rng(0).permutation(2_500)
    times = np.array([day(k // 500) for k in range(2_500)])
    mixed, sorted_ = Monitor(POLICY, every="day"), filled().close()
    mixed.add(CLINIC.scores_target[:2_500][order], times[order])
    mixed.close()
    assert [one.name for one in mixed.chunks] == [one.name for one in sorted_.chunks]
    for one, other in zip(mixed.chunks, sorted_.chunks, strict=True):
        assert one.estimate == other.estimate
    mixed.add(CLINIC.scores_target[2_500:2_600], day(1))
    assert mixed.chunks[-1].name == "2026-03-02 (late)"
    assert [one.name for one in mixed.in_time()][2] == "2026-03-02 (late)"


def test_zones_are_brought_together_and_times_without_one_stand_alone():
    east, west = timezone(timedelta(hours=9)), timezone(timedelta(hours=-8))
    moment = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
    monitor = Monitor(POLICY, every="day")
    times = [moment.astimezone(zone) for zone in (east, west, UTC)] * 50
    monitor.add(CLINIC.scores_target[:150], times)
    monitor.add(CLINIC.scores_target[150:300], "2026-03-02T00:30:00+01:00")  # still the first
    assert [one.name for one in monitor.close().chunks] == ["2026-03-01"]
    assert monitor.chunks[0].rows == 300
    with pytest.raises(ValueError, match="mixes times with a zone"):
        monitor.add(CLINIC.scores_target[:2], [moment, moment.replace(tzinfo=None)])
    with pytest.raises(ValueError, match="missing in row 1"):
        monitor.add(CLINIC.scores_target[:2], [moment, None])
    with pytest.raises(ValueError, match="must be times"):
        monitor.add(CLINIC.scores_target[:2], [1.5, 2.5])
    with pytest.raises(ValueError, match="is none: 'yesterday'"):
        monitor.add(CLINIC.scores_target[:2], "yesterday")
    with pytest.raises(ValueError, match="one entry per row"):
        monitor.add(CLINIC.scores_target[:2], [moment] * 3)
    with pytest.raises(ValueError, match="`time` is needed"):
        monitor.add(CLINIC.scores_target[:2])


@pytest.mark.parametrize(
    ("every", "names"),
    [
        ("month", ["2026-01", "2026-02", "2026-03"]),
        ("week", ["2026-01-26", "2026-02-02", "2026-03-02"]),
        ("hour", ["2026-01-31 12:00", "2026-02-02 12:00", "2026-03-03 12:00"]),
    ],
)
def test_periods_are_those_of_the_calendar(every, names):
    monitor = Monitor(POLICY, every=every)
    times = np.array(["2026-01-31T12:34", "2026-02-02T12:34", "2026-03-03T12:34"], "M8[m]")
    monitor.add(CLINIC.scores_target[:300], np.repeat(times, 100))
    assert [one.name for one in monitor.close().chunks] == names


def test_so_many_rows_are_a_chunk_however_they_are_handed_in():
    whole, parts = Monitor(POLICY, every="1,000 rows"), Monitor(POLICY, every=1000)
    whole.add(CLINIC.scores_target[:2_500])
    for part in np.array_split(CLINIC.scores_target[:2_500], 7):
        parts.add(part)
    assert [one.rows for one in parts.chunks] == [one.rows for one in whole.chunks] == [1000] * 2
    assert [one.estimate for one in parts.chunks] == [one.estimate for one in whole.chunks]
    assert parts.close().chunks[-1].rows == 500


def test_a_summary_is_as_good_as_its_rows():
    rows = CLINIC.scores_target[:1_000]
    here, there = Monitor(POLICY), Monitor(POLICY)
    here.add(rows, name="a")
    there.add_summary(ABSTAINER.summarise(rows), name="a", start="2026-03-01", end="2026-03-02")
    assert here.chunks[0].estimate == there.chunks[0].estimate
    assert there.chunks[0].end - there.chunks[0].start == 86_400
    with pytest.raises(ValueError, match="`start` and `end` go together"):
        there.add_summary(ABSTAINER.summarise(rows), start="2026-03-01")
    with pytest.raises(ValueError, match="already"):
        here.add(rows, name="a")


def test_many_classes_are_watched_too():
    source = simulate_four_class_normal(4_000, random_state=0)
    batch = simulate_four_class_normal(6_000, random_state=1)
    fitted = Abstainer("accuracy", budget=0.1, calibration="identity").fit(source.proba, source.y)
    monitor = Monitor(fitted.decide(batch.proba[:3_000]).policy)
    for k in range(3, 6):
        monitor.add(batch.proba[1_000 * k : 1_000 * (k + 1)], name=str(k))
    assert not monitor.alarms
    last = batch.proba[batch.y == 3]
    for k in range(6, 9):
        monitor.add(np.resize(last, (1_000, 4)), name=str(k))
    assert "proportions" in {alarm.kind for alarm in monitor.alarms}


def test_a_state_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "state.json"
    whole, stopped = filled(6), filled(3)
    stopped.label("2026-03-01", CLINIC.scores_target[:500], CLINIC.y_target[:500])
    whole.label("2026-03-01", CLINIC.scores_target[:500], CLINIC.y_target[:500])
    stopped.save(path)
    again = Monitor.load(path, POLICY)
    for k in range(3, 6):
        again.add(CLINIC.scores_target[500 * k : 500 * (k + 1)], day(k))
    assert again.close().to_dict() == whole.close().to_dict()
    assert path.stat().st_size < 100_000
    assert all(isinstance(one, Chunk) for one in again.chunks)
    other = ABSTAINER.decide(CLINIC.scores_target[:1_000]).policy
    with pytest.raises(ValueError, match="watches another rule"):
        Monitor.load(path, other)


@pytest.mark.parametrize(
    "harm",
    [
        lambda state: state["chunks"][0]["sums"].update(proportions=[[1, 2, 3]]),
        lambda state: state["chunks"][0]["sums"].update(proportions=[[1, 2, 3, 4, 5]] * 2),
        lambda state: state["chunks"][0].update(rows=-1),
        lambda state: state["chunks"][0].update(start=1e300),
        lambda state: state["chunks"][0].update(priors=[0.5]),
        lambda state: state.update(every="fortnight"),
        lambda state: state.update(cleared={"weather": 1}),
        lambda state: state["open"].update(summary="no summary"),
        lambda state: state.update(open={**state["open"], "more": 1}),
        lambda state: state.pop("policy"),
        lambda state: state.update(format="abstain-policy"),
    ],
)
def test_a_strangers_state_is_an_error_and_no_crash(tmp_path, harm):
    path = tmp_path / "state.json"
    filled(3).save(path)
    state = json.loads(path.read_text())
    harm(state)
    with pytest.raises(ValueError, match="state"):
        Monitor.load(resealed(path, state), POLICY)


def resealed(path, state):
    """Write a state with the checksum that its content has."""
    state.pop("sha256", None)
    text = json.dumps(state, sort_keys=True, separators=(",", ":"))
    path.write_text(json.dumps({**state, "sha256": hashlib.sha256(text.encode()).hexdigest()}))
    return path


def test_a_state_that_was_cut_changed_or_is_a_bomb_is_refused(tmp_path):
    path = tmp_path / "state.json"
    filled(3).save(path)
    text = path.read_text()
    for broken in (text[:-40], text.replace("2026-03-01", "2026-03-07"), "[" * 10_000, "", "[1]"):
        path.write_text(broken)
        with pytest.raises(ValueError, match="no state of a monitor"):
            Monitor.load(path, POLICY)
    state = json.loads(text)
    bomb = zlib.compress(b"\0" * 2**28, 9)
    state["open"]["summary"] = base64.b85encode(bomb).decode()
    with pytest.raises(ValueError, match="too large or cut"):
        Monitor.load(resealed(path, state), POLICY)


def test_what_is_asked_for_wrongly_is_said():
    with pytest.raises(TypeError, match="`policy` must be a Policy"):
        Monitor("triage.json")
    for wrong, said in (
        ({"every": "fortnight"}, "`every` must be month, week, day, hour or a number of rows"),
        ({"every": 0}, "every"),
        ({"tolerance": 0}, "`tolerance` must be above 0"),
        ({"false_alarms": 11}, "`false_alarms` must be above 0"),
        ({"capacity": 1.5}, "`capacity` must be a share"),
        ({"floor": float("nan")}, "`floor` must be finite"),
        ({"prior_range": (0.5, 0.2)}, "prior_range"),
    ):
        with pytest.raises(ValueError, match=said):
            Monitor(POLICY, **wrong)
    with pytest.raises(ValueError, match="`name` and `more` are for"):
        Monitor(POLICY, every="day").add(CLINIC.scores_target[:5], day(0), name="a")


def test_a_range_of_proportions_is_the_users_or_the_certificates():
    shifted = np.resize(CLINIC.scores_target[CLINIC.y_target == 0], 500)
    wide = Monitor(POLICY, prior_range=(0.0, 0.6))
    for k in range(4):
        wide.add(shifted, name=str(k))
    assert "proportions" not in {alarm.kind for alarm in wide.alarms}


def test_it_shows_itself():
    empty, monitor = Monitor(POLICY), filled(20).close()
    assert repr(empty) == "<Monitor: no chunk yet>"
    assert repr(monitor).startswith("<Monitor: 12 chunks, 2026-03-01 to 2026-03-12")
    assert "No chunk yet" in empty._repr_html_()
    assert "however often one looks" in monitor._repr_html_()
    assert len(filled(3).close().to_text().splitlines()) == 6
