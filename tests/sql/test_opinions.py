"""The final answer in SQL: that of the policy, row by row."""

import numpy as np
import pandas as pd
import pytest

from abstain import Abstainer

duckdb = pytest.importorskip("duckdb")


def cases(n_classes, n=500):
    rng = np.random.default_rng(n_classes)
    proba = rng.dirichlet(np.full(n_classes, 0.7), size=n)
    codes = (rng.random((n, 1)) > proba.cumsum(axis=1)[:, :-1]).sum(axis=1)
    wrong = (codes + rng.integers(1, n_classes, size=n)) % n_classes
    answers = np.where(rng.random(n) < 0.8, codes, wrong).astype(object)
    answers[rng.random(n) < 0.2] = None
    return (
        proba,
        np.array([f"c{k}" for k in codes]),
        [a if a is None else f"c{a}" for a in answers],
    )


@pytest.mark.parametrize("team", ["combine", "replace", None])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sql_answers_as_the_policy_does(n_classes, team):
    proba, y, answers = cases(n_classes)
    settings = {"calibration": "identity", "shift": "none", "random_state": 0}
    abstainer = Abstainer("balanced-accuracy", budget=0.3, team=team, **settings)
    told = {} if team is None else {"reviewer": answers}
    policy = abstainer.fit(proba, y, **told).decide(proba).policy
    visits = pd.DataFrame(proba, columns=[f"p_c{k}" for k in range(n_classes)])
    visits["reader"], visits["row"] = answers, np.arange(len(y))
    visits.loc[3, "p_c0"] = None
    query = policy.to_sql(
        "duckdb", table="visits", scores=[f"p_c{k}" for k in range(n_classes)], opinion="reader"
    )
    found = duckdb.sql(f"SELECT * FROM ({query}) ORDER BY row").df()
    scores = visits[[f"p_c{k}" for k in range(n_classes)]].to_numpy()
    expected = policy.combine(scores, answers, missing="refer")
    given = [None if pd.isna(one) else one for one in found["abstain_answer"]]
    assert given == expected.tolist()
    assert found["abstain_abstain"].any()


def test_names_are_not_taken_twice():
    proba, y, _ = cases(2)
    policy = Abstainer("accuracy", budget=0.3).fit(proba, y).decide(proba).policy
    query = policy.to_sql("duckdb", table="t", scores=["p_c0", "p_c1"], opinion="answer")
    assert '"abstain_answer"' in query
