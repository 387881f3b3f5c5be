"""Who is asked about which case: worked by hand, and beside every assignment there is."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abstain.team import Reviewer, assign

TEAM = {
    "expert": Reviewer(accuracy=0.98, classes=[0, 1]),
    "student": Reviewer(accuracy=0.8, classes=[0, 1]),
}


def saved(p, confusions, costs):
    """What a panel's opinions save of one case, by definition."""
    n_classes = len(p)
    without = min(sum(p[i] * costs[i][j] for i in range(n_classes)) for j in range(n_classes))
    with_them = 0.0
    for answers in product(range(n_classes), repeat=len(confusions)):
        joint = [
            p[i] * np.prod([c[i][a] for c, a in zip(confusions, answers, strict=True)])
            for i in range(n_classes)
        ]
        with_them += min(
            sum(joint[i] * costs[i][j] for i in range(n_classes)) for j in range(n_classes)
        )
    return without - with_them


def best_by_hand(proba, confusions, costs, limits, prices, most):
    """The most that any assignment gains: all are tried."""
    people = range(len(confusions))
    panels = [p for p in product([0, 1], repeat=len(confusions)) if sum(p) <= most]
    worth = [
        [
            saved(row, [confusions[k] for k in people if panel[k]], costs)
            - sum(prices[k] for k in people if panel[k])
            if any(panel)
            else 0.0
            for panel in panels
        ]
        for row in proba
    ]
    best = 0.0
    for chosen in product(range(len(panels)), repeat=len(proba)):
        load = np.sum([panels[k] for k in chosen], axis=0)
        if (load <= limits).all():
            best = max(best, sum(worth[row][k] for row, k in enumerate(chosen)))
    return best


def test_by_hand():
    found = assign([0.5, 0.7, 0.02], TEAM, capacity={"expert": 1, "student": 5})

    # The expert saves 0.48 of the first and 0.28 of the second, the student 0.3 and 0.1.
    assert found.asked.tolist() == [[True, False], [False, True], [False, False]]
    np.testing.assert_allclose(found.gain, [0.48, 0.1, 0.0], atol=1e-12)
    assert found.load == {"expert": 1, "student": 1}
    assert repr(found) == ("<Assignment: 2 of 3 cases get an opinion; expert: 1, student: 1>")


def test_a_price_keeps_from_asking_for_little():
    found = assign([0.5, 0.7], TEAM, capacity=5, cost={"expert": 0.35, "student": 0.05})

    # 0.48 - 0.35 and 0.28 - 0.35 of the expert, 0.3 - 0.05 and 0.1 - 0.05 of the student.
    assert found.asked.tolist() == [[False, True], [False, True]]
    np.testing.assert_allclose(found.gain, [0.25, 0.05], atol=1e-12)


def test_errors_have_their_costs():
    # Where a miss costs fifty, a probability of 2% is worth a look.
    found = assign([0.02], TEAM, capacity=1, errors=[[0, 1], [50, 0]])

    assert found.asked.any()
    assert not assign([0.02], TEAM, capacity=1).asked.any()


def test_two_opinions_where_one_leaves_doubt():
    names = ("a", "b", "c")
    three = {name: Reviewer(accuracy=0.7, classes=[0, 1, 2]) for name in names}
    two = {name: Reviewer(accuracy=0.8, classes=[0, 1]) for name in names}

    assert assign([[0.2, 0.4, 0.4]], three, capacity=1, most=2).asked.sum() == 2
    # The second of two alike can only make a tie.
    assert assign([0.5], two, capacity=1, most=2).asked.sum() == 1


@given(st.integers(0, 2**20), st.sampled_from([1, 2]), st.sampled_from([2, 3]))
def test_no_assignment_gains_more(seed, most, n_classes):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_classes) * 0.7, size=4)
    costs = rng.uniform(0, 3, size=(n_classes, n_classes)) * (1 - np.eye(n_classes))
    confusions = [rng.dirichlet(np.ones(n_classes), size=n_classes) for _ in range(2)]
    limits, prices = rng.integers(0, 4, size=2), rng.uniform(0, 0.1, size=2)
    team = {k: Reviewer(one, classes=[*range(n_classes)]) for k, one in enumerate(confusions)}
    found = assign(
        proba,
        team,
        capacity={k: int(limits[k]) for k in team},
        cost={k: float(prices[k]) for k in team},
        errors=costs,
        most=most,
    )

    assert (found.asked.sum(axis=0) <= limits).all()
    assert (found.asked.sum(axis=1) <= most).all()
    assert (found.gain >= 0).all()
    best = best_by_hand(proba, confusions, costs, limits, prices, most)
    assert found.gain.sum() == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("proba", [np.full((3, 2), 0.5), np.array([[1.0, 0.0]])])
def test_nobody_has_time(proba):
    found = assign(proba, TEAM, capacity=0)

    assert not found.asked.any()
    assert not found.gain.any()


def test_who_knows_nothing_is_not_asked():
    found = assign([0.5], {"coin": Reviewer(accuracy=0.5, classes=[0, 1])}, capacity=1)

    assert not found.asked.any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reviewers": {}}, "`reviewers` must be a mapping of names to reviewers"),
        ({"reviewers": {"a": Reviewer(accuracy=0.9, classes=[0, 1, 2])}},
         "`reviewers` must know the 2 classes of `proba`; 'a' knows 3"),
        ({"capacity": {"expert": 3}},
         "`capacity` must be said of every reviewer; 'student' is missing"),
        ({"capacity": 1.5}, "`capacity` must be a whole number of at least 0; got 1.5"),
        ({"cost": np.nan}, "`cost` must be finite; got nan"),
        ({"most": 3}, "`most` must be at most 2; got 3"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        assign(**{"proba": [0.5], "reviewers": TEAM, "capacity": 1, **changes})
