"""Evaluation given anything: defined, said to be not defined, or refused."""

from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import strategies as st

from abstain import Abstainer
from abstain.datasets import (
    screening_clinic,
    simulate_binary_normal,
    simulate_four_class_normal,
)
from abstain.evaluation import (
    Dataset,
    best_methods,
    compare,
    dirichlet_priors,
    evaluate,
    grouped_split,
    risk_coverage,
    shifted_rows,
    signed_rank_test,
    tweak_one_priors,
)
from abstain.monitoring import RateController

from .arrays import EDGES, anything, seeds, weights
from .machine import fuzzed, outcome
from .tables import GAPS, HOSTILE, classified, names

ROWS = 24
METRICS = ("accuracy", "f1:macro", "kappa:quadratic", "mcc", "balanced-accuracy", "auroc", "nope")


@cache
def decided(n_classes, seed, weighted, metric="accuracy"):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=ROWS - n_classes)])
    proba = np.exp(rng.normal(size=(ROWS, n_classes)) + 1.5 * np.eye(n_classes)[y])
    proba /= proba.sum(axis=1, keepdims=True)
    weight = rng.integers(0, 3, size=ROWS).astype(float) if weighted else None
    how = {"calibration": "identity", "shift": "none", "random_state": 0}
    abstainer = Abstainer(metric, budget=0.25, **how).fit(proba, y)
    return abstainer.decide(proba, weight), y


def group_values():
    value = st.one_of(
        st.sampled_from(GAPS),
        st.sampled_from(HOSTILE),
        st.sampled_from([0, 1, 2.5, True, 2**53, 2**53 + 1, "1", "True", b"a", np.int8(3)]),
        st.sampled_from([np.datetime64("2020-01-01"), pd.Timestamp("2020"), (1, 2), [1], {}]),
        st.text(max_size=3),
    )
    # Few of them, so that groups have rows.
    return st.lists(value, min_size=1, max_size=4).flatmap(
        lambda few: st.lists(st.sampled_from(few), min_size=ROWS, max_size=ROWS)
    )


def _as_objects(values):
    objects = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        objects[row] = value
    return objects


def groupings():
    values = group_values()
    return st.one_of(
        values,
        values.map(_as_objects),
        values.map(lambda v: pd.Series(_as_objects(v))),
        st.dictionaries(names(), values, max_size=2),
        st.lists(values, min_size=1, max_size=2).map(
            lambda columns: pd.DataFrame({k: _as_objects(v) for k, v in enumerate(columns)})
        ),
        st.lists(st.none() | st.integers(0, 2), min_size=ROWS, max_size=ROWS).map(pa.array),
        st.lists(st.booleans(), min_size=ROWS, max_size=ROWS).map(
            lambda mask: np.ma.masked_array(np.arange(ROWS) % 3, mask=mask)
        ),
        anything(ROWS),
    )


def defined(realised):
    """What has to be a number whatever the rows: all but what is documented as not defined."""
    return [realised.n, realised.level]


@fuzzed(
    "evaluation",
    quick=30,
    share=3,
    n_classes=st.integers(2, 4),
    seed=st.integers(0, 5),
    weighted=st.booleans(),
    groups=groupings(),
    metrics=st.lists(st.sampled_from(METRICS), max_size=2),
    level=st.none() | st.sampled_from([0.9, 0.5, 0, 1, -1, "a", np.nan, True]),
    examples=[
        {"n_classes": 2, "seed": 0, "weighted": True, "groups": g, "metrics": [], "level": None}
        for g in (
            [*range(ROWS)],
            [np.nan, None, pd.NA] * (ROWS // 3),
            ["(missing)", None] * (ROWS // 2),
            [1, "1"] * (ROWS // 2),
            np.array(["NaT", "2020-01-01"] * (ROWS // 2), dtype="datetime64[ns]"),
        )
    ],
)
def test_evaluate_by_groups(n_classes, seed, weighted, groups, metrics, level):
    decisions, y = decided(n_classes, seed, weighted)
    found = outcome(
        lambda: evaluate(decisions, y, groups=groups, metrics=metrics, level=level),
        looked_at=lambda e: [defined(one) for by in e.groups.values() for one in by.values()],
    )
    if isinstance(found, Exception):
        return "refused"
    listed = [label for label in found.groups if not isinstance(label, tuple)]
    if listed:
        assert sum(by["accuracy"].n for by in found.groups.values()) == ROWS
    for show in (found.to_dict, found.to_frame, found.to_text, found._repr_html_):
        shown = outcome(show, looked_at=lambda _: None)
        assert not isinstance(shown, Exception)
    by_name = found.to_dict()["groups"]
    if listed:
        assert len(by_name) == len(found.groups)
    assert len(found.to_frame()) == len(found.realised) * (1 + len(found.groups))
    return "evaluated"


@fuzzed(
    "evaluation",
    quick=20,
    n_classes=st.integers(2, 4),
    seed=st.integers(0, 5),
    y=anything(ROWS),
)
def test_evaluate_against_anything(n_classes, seed, y):
    decisions, _ = decided(n_classes, seed, False)
    found = outcome(lambda: evaluate(decisions, y), looked_at=lambda e: None)
    return "refused" if isinstance(found, Exception) else "evaluated"


@st.composite
def curves(draw):
    n = draw(st.integers(1, 12))
    number = st.one_of(st.sampled_from(EDGES), st.floats(allow_nan=False, width=32), st.booleans())
    losses = draw(st.lists(number, min_size=n, max_size=n))
    scores = draw(st.lists(number | st.sampled_from([np.inf, -np.inf]), min_size=n, max_size=n))
    return losses, scores, draw(weights(n))


@fuzzed("evaluation", quick=30, share=2, given=curves(), other=st.none() | anything())
def test_risk_and_coverage(given, other):
    losses, scores, weight = given
    if other is not None:
        scores = other
    found = outcome(lambda: risk_coverage(losses, scores, sample_weight=weight))
    if isinstance(found, Exception):
        return "refused"
    assert np.isfinite([found.aurc, found.augrc]).all()
    assert (found.coverage <= 1).all()
    return "computed"


@fuzzed(
    "evaluation",
    quick=25,
    values=st.one_of(
        anything(),
        st.integers(1, 4).flatmap(
            lambda n: st.lists(
                st.lists(
                    st.sampled_from([*EDGES, np.nan, np.inf, -np.inf]), min_size=n, max_size=n
                ),
                min_size=1,
                max_size=4,
            )
        ),
    ),
    procedure=st.sampled_from(["signed-rank", "paper", "other", None]),
    level=st.sampled_from([0.05, 0, 1, 2, "x", np.nan]),
    greater=st.booleans(),
)
def test_the_best_methods(values, procedure, level, greater):
    found = outcome(
        lambda: best_methods(values, greater_is_better=greater, level=level, procedure=procedure)
    )
    if isinstance(found, Exception):
        return "refused"
    assert found.any()
    return "computed"


@fuzzed("evaluation", quick=20, first=anything(), second=anything(), same=st.booleans())
def test_the_signed_rank_test(first, second, same):
    found = outcome(lambda: signed_rank_test(first, first if same else second))
    if isinstance(found, Exception):
        return "refused"
    assert 0 <= found <= 1
    return "computed"


HELPERS = {
    "shifted_rows": lambda a, b, c: shifted_rows(a, b, size=c, random_state=0),
    "shifted without": lambda a, b, c: shifted_rows(a, b, replace=False, random_state=c),
    "shifted labels": lambda a, b, c: shifted_rows([0, 1, 1, 0], a, size=b, random_state=c),
    "dirichlet": lambda a, b, c: dirichlet_priors(a, concentration=b, random_state=c),
    "dirichlet of 3": lambda a, b, c: dirichlet_priors(3, concentration=a, random_state=0),
    "tweak": lambda a, b, c: tweak_one_priors(a, b, tweaked=c),
    "tweak 3": lambda a, b, c: tweak_one_priors(3, a, tweaked=b),
    "split": lambda a, b, c: grouped_split(a, y=b, fraction=c, random_state=0),
    "split groups": lambda a, b, c: grouped_split(a, random_state=b),
    "split of some": lambda a, b, c: grouped_split([1, 1, 2, 2, 3, 3], y=a, fraction=0.4),
    "binary": lambda a, b, c: simulate_binary_normal(a, positive_rate=b, random_state=c),
    "binary means": lambda a, b, c: simulate_binary_normal(
        20, mean_negative=a, sd_positive=b, sd_negative=c, random_state=0
    ),
    "four": lambda a, b, c: simulate_four_class_normal(a, priors=b, random_state=c),
    "four means": lambda a, b, c: simulate_four_class_normal(20, means=a, sds=b, random_state=0),
    "clinic": lambda a, b, c: screening_clinic(a, b, random_state=c),
}
SMALL = st.sampled_from([0, 1, 2, 3, 7, 0.5, 0.3, -1, True, None, 1e-300, 1e300, 10**12])


@fuzzed(
    "evaluation",
    quick=60,
    share=3,
    name=st.sampled_from([*HELPERS]),
    a=SMALL | anything(),
    b=SMALL | anything(),
    c=SMALL | anything(),
    examples=[
        {"name": "dirichlet of 3", "a": 1e-300, "b": 0, "c": 0},
        {"name": "tweak", "a": 1, "b": 0.5, "c": 0},
        {"name": "split groups", "a": [1, "a", None, np.nan], "b": None, "c": 0},
    ],
)
def test_helpers(name, a, b, c):
    found = outcome(lambda: HELPERS[name](a, b, c))
    return "refused" if isinstance(found, Exception) else "computed"


@fuzzed(
    "evaluation",
    quick=3,
    problem=classified(rows=(20, 40)),
    methods=st.one_of(
        st.lists(st.sampled_from(["delta-metric", "random", "max-probability"]), max_size=2),
        st.dictionaries(names(), st.sampled_from(["delta-metric", "entropy"]), max_size=2),
        anything(2),
    ),
    budgets=st.lists(st.sampled_from([0.1, 0.5, 3, 0, 1, -1, "a", 10**400]), max_size=2)
    | anything(2),
    repeats=st.sampled_from([1, 2, 0, -1, 1.5, "a", None]),
    priors=st.none() | anything(3),
)
def test_compare(problem, methods, budgets, repeats, priors):
    proba, codes = problem
    data = Dataset(proba, codes, proba, codes)
    how = {"calibration": "identity", "shift": "none", "repeats": repeats, "priors": priors}
    found = outcome(
        lambda: compare(methods, data, "accuracy", budgets, **how), looked_at=lambda t: None
    )
    if isinstance(found, Exception):
        return "refused"
    for show in (found.to_text, found.to_markdown, found.to_latex, found.to_csv, found.to_json):
        assert isinstance(outcome(show), str)
    assert found.to_markdown().count("\n") == 1 + len({cell.row for cell in found.cells})
    return "compared"


@fuzzed(
    "evaluation",
    quick=15,
    seed=seeds(),
    reference=st.none() | anything(),
    rate=st.sampled_from([0.1, 0, 1, 0.5, -1, 2, "a", None, np.nan, True]),
    step=st.sampled_from([0.005, 0.5, 0, 1, 1e-300, np.nan, "a", None, 10**400]),
    batch=st.none() | anything(),
    state=st.none() | anything() | st.just({"level": np.nan, "n_seen": -1, "n_withheld": 5}),
)
def test_a_rate_controller(seed, reference, rate, step, batch, state):
    decisions, _ = decided(3, seed % 4, False)
    proba = decisions.proba

    def call():
        controller = RateController(
            decisions.policy, proba if reference is None else reference, rate=rate, step=step
        )
        if state is not None:
            controller.restore(state)
        found = controller.decide(proba if batch is None else batch)
        again = RateController(decisions.policy, proba, rate=rate, step=step)
        again.restore(controller.to_dict())
        return found.abstain, controller.level, controller.abstention_rate

    found = outcome(call)
    return "refused" if isinstance(found, Exception) else "decided"
