"""Through the door: refused, or the same to the last bit as what plain arrays give."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

import abstain
from abstain import Abstainer, AbstainingClassifier
from abstain.evaluation import evaluate

from .machine import Defect, fuzzed, outcome
from .tables import (
    GAPS,
    LABELS,
    NO_LABELS,
    NO_SCORES,
    SAME_SCORES,
    classified,
    names,
    same_labels,
)

HOW = {"calibration": "temperature", "shift": "none", "random_state": 0}


def abstainer(**more):
    return Abstainer("accuracy", budget=0.25, **HOW, **more)


def labels_of(kind, k):
    return LABELS[kind][:k]


def same(found, plain, labels):
    assert found.classes.tolist() == labels
    assert [*map(type, found.classes.tolist())] == [*map(type, labels)]
    np.testing.assert_array_equal(found.abstain, plain.abstain)
    np.testing.assert_array_equal(found.proba, plain.proba)
    assert found.prediction.tolist() == [labels[column] for column in plain.columns]


@fuzzed(
    "inputs",
    quick=9,
    share=3,
    problem=classified(),
    kind=st.sampled_from([*LABELS]),
    fit=st.sampled_from([*SAME_SCORES]),
    apply=st.sampled_from([*SAME_SCORES]),
    data=st.data(),
    examples=[],
)
def test_the_same_in_another_container(problem, kind, fit, apply, data):
    proba, codes = problem
    labels = labels_of(kind, proba.shape[1])
    plain = abstainer().fit(proba, codes).decide(proba)
    order = data.draw(st.permutations(range(len(labels))))
    y = same_labels(data.draw, labels, codes)
    given = SAME_SCORES[fit](proba, labels, [*range(len(labels))])
    fitted = outcome(lambda: abstainer().fit(given, y, classes=labels))
    if isinstance(fitted, Exception):
        raise Defect(f"refused: {fitted}") from fitted
    batch = SAME_SCORES[apply](proba, labels, order)
    decisions = fitted.decide(batch)
    same(decisions, plain, labels)
    same(decisions.policy.apply(SAME_SCORES[apply](proba, labels, order)), plain, labels)
    truth = evaluate(decisions, same_labels(data.draw, labels, codes))
    # What is not defined is not equal to itself.
    assert repr(truth.realised) == repr(evaluate(plain, codes).realised)
    return "decided"


@fuzzed(
    "inputs",
    quick=4,
    problem=classified(),
    kind=st.sampled_from([*LABELS]),
    scores=st.sampled_from([*SAME_SCORES]),
    data=st.data(),
)
def test_an_estimate_of_another_container(problem, kind, scores, data):
    proba, codes = problem
    labels = labels_of(kind, proba.shape[1])
    plain = abstain.estimate(proba, codes, proba, metrics="accuracy", **HOW)
    y = same_labels(data.draw, labels, codes)
    given = [SAME_SCORES[scores](proba, labels, [*range(len(labels))]) for _ in range(2)]
    found = abstain.estimate(given[0], y, given[1], metrics="accuracy", classes=labels, **HOW)
    assert found["accuracy"] == plain["accuracy"]
    return "estimated"


@fuzzed(
    "inputs",
    quick=9,
    share=2,
    problem=classified(),
    kind=st.sampled_from([*NO_SCORES]),
    where=st.sampled_from(["fit", "decide", "apply", "estimate", "weight"]),
    scale=st.sampled_from(["probabilities", "logits"]),
)
def test_what_is_no_score_is_refused(problem, kind, where, scale):
    proba, codes = problem
    wrong = NO_SCORES[kind](proba)
    fitted = abstainer(scale=scale).fit(proba, codes)
    calls = {
        "fit": lambda: abstainer(scale=scale).fit(wrong, codes),
        "decide": lambda: fitted.decide(wrong),
        "apply": lambda: fitted.decide(proba).policy.apply(wrong),
        "estimate": lambda: abstain.estimate(proba, codes, wrong, metrics="accuracy", scale=scale),
        "weight": lambda: fitted.decide(proba, sample_weight=wrong),
    }
    assert isinstance(outcome(calls[where]), Exception), kind
    return "refused"


@fuzzed(
    "inputs",
    quick=9,
    share=2,
    problem=classified(),
    kind=st.sampled_from([*LABELS]),
    gap=st.sampled_from(GAPS + NO_LABELS),
    way=st.sampled_from(["list", "objects", "series", "masked"]),
    where=st.sampled_from(["fit", "estimate", "evaluate", "calibrate", "classifier", "classes"]),
)
def test_no_label_becomes_a_class(problem, kind, gap, way, where):
    proba, codes = problem
    labels = labels_of(kind, proba.shape[1])
    values = [labels[code] for code in codes.tolist()]
    values[len(values) // 2] = gap
    objects = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        objects[row] = value
    y = {"list": values, "objects": objects, "series": pd.Series(objects)}.get(way)
    if way == "masked":
        y = np.ma.masked_array([labels[code] for code in codes.tolist()], mask=codes == 0)
    fitted = abstainer().fit(proba, [labels[code] for code in codes.tolist()], classes=labels)
    calls = {
        "fit": lambda: abstainer().fit(proba, y),
        "estimate": lambda: abstain.estimate(proba, y, proba, metrics="accuracy"),
        "evaluate": lambda: evaluate(fitted.decide(proba), y),
        "calibrate": lambda: abstain.calibration.TemperatureScaling().fit(proba, y),
        "classifier": lambda: AbstainingClassifier(DummyClassifier(), cv=2).fit(proba, y),
        "classes": lambda: abstainer().fit(proba, codes, classes=[*labels[:-1], gap]),
    }
    assert isinstance(outcome(calls[where]), Exception)
    return "refused"


@fuzzed(
    "inputs",
    quick=4,
    problem=classified(classes=(2, 3)),
    wrong=st.sampled_from([[True, 1, 0], [1, "1", 2], [0.5, "0.5", 1], ["a", b"a", "b"]]),
    objects=st.booleans(),
)
def test_labels_that_look_alike_are_refused(problem, wrong, objects):
    proba, codes = problem
    values = [wrong[code] for code in codes.tolist()]
    y = np.array([*values, None], dtype=object)[:-1] if objects else values
    refusal = outcome(lambda: abstainer().fit(proba, y))
    assert isinstance(refusal, Exception)
    return "refused"


@fuzzed(
    "inputs",
    quick=4,
    problem=classified(),
    gap=st.sampled_from(GAPS),
    kind=st.sampled_from([*LABELS]),
    seed=st.integers(0, 2**32 - 1),
)
def test_known_labels_are_those_and_no_others(problem, gap, kind, seed):
    proba, codes = problem
    labels = labels_of(kind, proba.shape[1])
    fitted = abstainer().fit(proba, [labels[code] for code in codes.tolist()], classes=labels)
    known = np.random.default_rng(seed).random(len(codes)) < 0.4
    known[-1] = False
    given = [labels[c] if k else gap for c, k in zip(codes.tolist(), known, strict=True)]
    decisions = outcome(lambda: fitted.decide(proba, y_target=given), looked_at=len)
    assert not isinstance(decisions, Exception)
    if known.any():
        np.testing.assert_array_equal(decisions.known, known)
        assert decisions.prediction[known].tolist() == [labels[c] for c in codes[known].tolist()]
    return "decided"


@fuzzed(
    "inputs",
    quick=6,
    problem=classified(),
    texts=st.lists(names(min_size=1), min_size=4, max_size=4, unique=True),
    carried=st.lists(
        st.one_of(
            st.sampled_from(["abstain", "prediction", "gain", "reason", "threshold", "id"]),
            st.sampled_from([0, 5, 1.5, None, ("a", 1), pd.Timestamp("2020-01-01")]),
            names(min_size=1),
        ),
        max_size=3,
        unique_by=str,
    ),
    library=st.sampled_from(["pandas", "polars", "pyarrow"]),
)
def test_what_came_in_a_frame_comes_back(problem, texts, carried, library):
    import polars
    import pyarrow

    proba, codes = problem
    labels = texts[: proba.shape[1]]
    fitted = outcome(lambda: abstainer().fit(proba, [labels[c] for c in codes], classes=labels))
    if isinstance(fitted, Exception):
        assert any("\0" in label or not _utf8(label) for label in labels)
        return "refused"
    scores = {f"p_{label}": proba[:, k] for k, label in enumerate(labels)}
    carried = [name for name in carried if str(name) not in scores and _utf8(str(name))]
    if library != "pandas":
        carried = [*map(str, carried)]
    values = {name: [f"{k}-{row}" for row in range(len(proba))] for k, name in enumerate(carried)}
    make = {"pandas": pd.DataFrame, "polars": polars.DataFrame, "pyarrow": pyarrow.table}[library]
    frame = make({**values, **scores})
    decisions = fitted.decide(frame)
    result = decisions.to_frame()
    assert type(result) is type(frame)
    listed = [_column(result, place) for place in range(_width(result))]
    for given in values.values():
        assert given in listed
    heads = [*getattr(result, "column_names", result.columns)]
    assert len({*map(str, heads)}) == len(heads)
    ours = "abstain_abstain" if "abstain" in carried else "abstain"
    assert _column(result, heads.index(ours)) == decisions.abstain.tolist()
    for k, label in enumerate(labels):
        assert _column(result, heads.index(f"p_{label}")) == decisions.proba[:, k].tolist()
    return "decided"


def _utf8(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _width(frame):
    return frame.num_columns if hasattr(frame, "num_columns") else frame.shape[1]


def _column(frame, place):
    if hasattr(frame, "iloc"):
        return frame.iloc[:, place].tolist()
    if hasattr(frame, "to_series"):
        return frame.to_series(place).to_list()
    return frame.column(place).to_pylist()


@fuzzed(
    "inputs",
    quick=2,
    problem=classified(rows=(16, 40)),
    kind=st.sampled_from(["numbers", "text", "text like nothing", "long text", "text and case"]),
    data=st.data(),
)
def test_a_classifier_takes_any_labels(problem, kind, data):
    proba, codes = problem
    codes = np.concatenate([codes, codes])
    X = np.log(np.concatenate([proba, proba]))
    labels = labels_of(kind, proba.shape[1])
    y = same_labels(data.draw, labels, codes)
    how = {"budget": 0.2, "cv": 2, "calibration": "identity", "random_state": 0}
    found = AbstainingClassifier(LogisticRegression(), **how).fit(X, y)
    assert found.classes_.tolist() == sorted(labels)
    assert {*found.predict(X).tolist()} <= {*labels}
    return "decided"


@pytest.mark.parametrize("scale", ["logits", "probabilities"])
def test_an_id_is_no_score(scale):
    scores = np.linspace(0.1, 0.9, 20)
    y = np.arange(20) % 2
    table = pd.DataFrame({"id": np.arange(20), "score": scores})
    with pytest.raises(ValueError, match=r"may be an id|must sum to 1"):
        abstainer(scale=scale, positive=1).fit(table, y)
    fitted = abstainer(scale=scale, positive=1).fit(np.column_stack([1 - scores, scores]), y)
    with pytest.raises(ValueError, match=r"may be an id|must sum to 1"):
        fitted.decide(table)
