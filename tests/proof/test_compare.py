"""Paired comparisons by hand."""

import math

import pytest
from benchmarks.proof._compare import Compared, Paired, gap_figures, gap_text, lost_text, percent

RUNS = [
    {"ours": 0.1, "a": 0.2, "b": 0.4},
    {"ours": 0.3, "a": 0.2, "b": math.nan},
    {"ours": 0.2, "a": 0.5, "b": 0.6},
]


def test_the_best_peer_is_compared_run_by_run():
    paired = Paired.of(RUNS, ("ours", "a", "b"))
    assert paired.means == pytest.approx({"ours": 0.2, "a": 0.3, "b": 0.5})
    # Differences 0.1, -0.1, 0.3: mean 0.1, standard deviation 0.2.
    assert paired.gap["peer"] == "a"
    assert paired.gap["gap"] == pytest.approx(0.1)
    assert paired.gap["gap_error"] == pytest.approx(0.2 / math.sqrt(3))
    assert gap_text(paired.gap) == "+0.1000 ± 0.1155 (a)"


def test_a_run_that_one_lacks_does_not_count_in_their_difference():
    gap, _ = Paired.of(RUNS, ("ours", "b")).against("b")
    assert gap == pytest.approx((0.3 + 0.4) / 2)


def test_without_peers_there_is_no_gap():
    assert Paired.of(RUNS, ("ours",)).gap == {}
    assert gap_text({}) == ""
    assert gap_figures(math.nan, math.nan) == ""
    assert gap_figures(0.5, math.nan) == "+0.5000"
    assert percent(math.nan) == ""


def line(gap, error=0.01, **more):
    return {"gap": gap, "gap_error": error, "peer": "CBPE", "metric": "accuracy", **more}


def test_what_is_lost_comes_first_the_clearest_before_what_may_be_chance():
    compared = Compared({"x": line(0.5), "y": line(-0.015), "z": line(-0.03)})
    text = lost_text(compared)
    assert text == (
        "another's error is clearly smaller on z (CBPE by 0.0300 ± 0.0100). Within two standard "
        "errors: y (CBPE by 0.0150 ± 0.0100). Ours is smallest on 1 of 3 lines."
    )
    assert compared.in_short("sets") == "ours best on 1 of 3 sets, clearly behind on 1"


def test_nothing_lost():
    assert lost_text(Compared({"x": line(0.5)})) == "ours has the smallest error on all 1 lines."


def test_errors_are_averaged_over_lines_of_a_metric():
    lines = {"x": line(0, ours=0.1, CBPE=0.3), "y": line(0, ours=0.3, CBPE=math.nan)}
    lines["z"] = {**line(0, ours=9.0, CBPE=9.0), "metric": "auroc"}
    found = Compared(lines).mean_errors(("ours", "CBPE", "ATC")[:2], of="accuracy")
    assert found == pytest.approx({"ours": 0.2, "CBPE": 0.3})
