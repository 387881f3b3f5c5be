"""A rule chosen on a summary of rows is what it is chosen on the rows: saturated, tied, rare."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from abstain import Abstainer

from .arrays import seeds
from .cases import Case, cases
from .machine import fuzzed, outcome

AREA = "summaries"
# Sums may be off by a rounding.
ROUNDING = 1 + 1e-9

_PROBA = np.linspace(0.01, 0.99, 600)
_Y = (np.random.default_rng(1).random(600) < _PROBA).astype(int)
# Three of four rows at 1, which is one bin and too heavy.
KEPT = [
    {
        "case": Case(
            metric,
            _PROBA,
            _Y,
            np.r_[np.ones(300), np.linspace(0.1, 0.9, 100)],
            how={"budget": 0.25, "calibration": "platt", "shift": "none"},
        ),
        "seed": 0,
    }
    for metric in ("auroc", "sensitivity@specificity=0.9", "average-precision")
]


@st.composite
def heavy(draw):
    """Return a case many of whose rows are one and the same, or two."""
    case = draw(cases(classes=(2, 2, 2, 3, 5)))
    rng = np.random.default_rng(draw(seeds()))
    times = np.ones(len(case.scores), dtype=int)
    for _ in range(draw(st.integers(0, 3))):
        times[rng.integers(len(times))] = draw(st.sampled_from([2, 10, 60, 300]))
    weight = None if case.weight is None else np.repeat(case.weight, times)
    if weight is not None:
        # What a summary can hold.
        weight = np.clip(weight, 0.001, 1e6)
    return replace(case, scores=np.repeat(case.scores, times, axis=0), weight=weight)


@fuzzed(AREA, quick=8, share=3.0, examples=KEPT, case=heavy(), seed=seeds())
def test_a_rule_of_a_summary_keeps_to_the_budget(case, seed):
    abstainer = Abstainer(case.metric, random_state=0, **case.how)
    decided = outcome(lambda: _both(abstainer, case, seed), looked_at=lambda _: None)
    if isinstance(decided, Exception):
        return "refused"
    decisions, policy = decided
    withheld = policy.rows(case.scores).abstain
    weight = np.ones(len(withheld)) if case.weight is None else case.weight
    budget = case.how.get("budget")
    if budget is not None:
        most = budget if isinstance(budget, int) else budget * weight.sum()
        assert weight[withheld].sum() <= most * ROUNDING
    assert policy.assumption.assumed == decisions.assumption.assumed
    np.testing.assert_allclose(policy.priors, decisions.priors, atol=1e-3)
    return "within"


def _both(abstainer, case, seed):
    """Return what is decided about rows, and the rule from summaries of their parts."""
    abstainer.fit(case.scores_val, case.y_val)
    decisions = abstainer.decide(case.scores, case.weight)
    part = np.random.default_rng(seed).random(len(case.scores)) < 0.5
    one, other = (
        abstainer.summarise(case.scores[at], None if case.weight is None else case.weight[at])
        for at in (part, ~part)
    )
    return decisions, abstainer.decide_summary(one.merge(other))
