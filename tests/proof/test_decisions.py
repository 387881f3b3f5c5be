"""Decisions at a budget are compared rightly: pairs, marks, peers' wrappers, and the verdict."""

import numpy as np
import pytest
from benchmarks.proof import decisions
from benchmarks.proof._given import Given
from benchmarks.proof._lead import Lead, counted


def test_a_paired_difference_by_hand():
    paired = Lead.of([0.9, 0.8, 0.7, np.nan], [0.8, 0.8, 0.4, 0.1])
    # Differences 0.1, 0 and 0.3; the pair without a value is left out.
    assert paired.ours == pytest.approx(0.8)
    assert paired.difference == pytest.approx(0.4 / 3)
    assert paired.error == pytest.approx(np.std([0.1, 0.0, 0.3], ddof=1) / np.sqrt(3))
    assert paired.mark == ""


def test_marks_say_whose_lead_is_more_than_chance():
    better = Lead.of([0.9, 0.8, 0.7], [0.8, 0.69, 0.6])
    assert (better.mark, Lead.of([0.8, 0.69, 0.6], [0.9, 0.8, 0.7]).mark) == ("*", "!")
    assert Lead.of([1, 2], [3, 4], greater_is_better=False).mark == "*"
    same = Lead.of([0.5, 0.6], [0.5, 0.6 + 1e-12])
    assert same.mark == ""
    assert counted([better, same]) == "better in 1, tied in 1, worse in 0"


def test_what_is_never_defined_is_not_there():
    nothing = Lead.of([np.nan], [1.0])
    assert nothing.mark == ""
    assert not Lead.there(nothing.plain("a"), "a")
    kept = Lead.of([1.0, 2.0], [0.5, 1.0])
    assert Lead.kept(kept.plain("a"), "a") == kept


def test_raw_probability_withholds_the_least_certain_rows():
    raw = np.array([[0.9, 0.1], [0.4, 0.6], [0.45, 0.55], [0.2, 0.8]])
    assert decisions.raw_kept(raw, 0.25).tolist() == [True, True, False, True]
    assert decisions.raw_kept(raw, 0.5).tolist() == [True, False, False, True]
    assert decisions.raw_kept(raw, 0.05).all()


def test_given_probabilities_come_back():
    proba = np.array([[0.9, 0.1], [0.4, 0.6]])
    model = Given().fit(proba, [0, 0])
    assert model.predict_proba(proba) is proba
    assert model.predict(proba).tolist() == [0, 1]
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.filterwarnings("default")
def test_scikit_fallback_withholds_below_its_validation_quantile():
    pytest.importorskip("skfb", reason="scikit-fallback is a peer of the proof")
    rng = np.random.default_rng(0)
    p = rng.uniform(size=500)
    proba = np.column_stack([1 - p, p])
    y = (rng.uniform(size=500) < p).astype(int)
    withheld = decisions.fallback_withheld(proba, y, proba, 0.2)
    largest = proba.max(axis=1)
    assert withheld.mean() == pytest.approx(0.2, abs=0.02)
    assert largest[withheld].max() < largest[~withheld].min()
    # Where rows are less certain than at validation, more are withheld than was asked for.
    middle = np.column_stack([1 - (0.4 + 0.2 * p), 0.4 + 0.2 * p])
    assert decisions.fallback_withheld(proba, y, middle, 0.2).mean() > 0.9


def made_up(ours, theirs):
    """Lines of two sets, with the same values on every split but for a little noise."""
    noise = np.array([0.0, 0.001, -0.001, 0.002])
    found = []
    for i in range(4):
        one = {"as it is": 0.5}
        for budget in decisions.BUDGETS:
            one[f"ours {budget:g}"] = ours + noise[i]
            one |= {f"{peer} {budget:g}": theirs - noise[i] for peer in decisions.PEERS}
        one |= {"scikit-fallback": 0.4, "ours, same share": 0.7 + noise[i], "share": 0.1 * (i + 1)}
        found.append(one)
    line = decisions._line("auroc", found)
    return {"hate_speech": [line], "clinic": [line]}


def test_the_verdict_says_first_where_ours_is_worse():
    found = made_up(ours=0.7, theirs=0.8)
    said = decisions.verdict(found)
    assert said.startswith("**Where ours is worse**")
    assert "auroc on clinic at 5% to max probability (by 0.099" in said
    # Of two classes entropy and margin are max probability: 3 and 5 peers at 3 budgets.
    assert "better in 2, tied in 0, worse in 24" in said
    assert "between 10% and 40% of a batch" in said
    assert decisions.headline(found)[1] == "0.700"


def test_the_verdict_of_wins_and_the_cells():
    found = made_up(ours=0.8, theirs=0.7)
    assert decisions.verdict(found).startswith("**Ours is nowhere worse**")
    line = found["clinic"][0]
    assert line["ours"] == "0.800 / 0.800 / 0.800"
    assert line["entropy"] == "0.700* / 0.700* / 0.700*"
    assert line["scikit-fallback"] == "0.400* (25%)"


def test_a_split_gives_every_method_a_figure():
    part = decisions.split(decisions.load("breast_cancer"), "label", 0)
    found = decisions._realised("breast_cancer", "auroc", part)
    assert {f"{peer} 0.15" for peer in ("ours", *decisions.PEERS)} <= found.keys()
    assert found["entropy 0.3"] == found["max probability 0.3"]
    assert found["ours 0.3"] > found["as it is"]
