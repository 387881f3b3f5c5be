"""The rule as a file of plain Python decides about every row as the library does."""

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.sql.cases import BINARY, MANY, choose_by_score, of_four, of_two, variants

from abstain import program
from abstain.policy import stated


def loaded(policy, **options):
    rule = {}
    exec(compile(policy.to_python(**options), "rule.py", "exec"), rule)
    return rule["decide"]


def plain(function):
    """A function of the standard library, for arrays: Python's own logarithm and exponential."""
    return np.vectorize(function, otypes=[float])


class PlainMath:
    """NumPy, but for the logarithm and the exponential of Python."""

    exp = staticmethod(plain(lambda x: math.inf if x > 709.782712893384 else math.exp(x)))
    log = staticmethod(plain(lambda x: math.log(x) if x > 0 else -math.inf))

    def __getattr__(self, name):
        return getattr(np, name)


def in_plain_math(policy, scores):
    """What the operations of a rule give, carried out with Python's logarithm and exponential."""
    rows = program.given(scores.shape[1])
    fit, made = stated(policy, rows, smallest=float(np.finfo(np.float64).eps))
    columns = np.ascontiguousarray(np.repeat(scores, 2, axis=0).T)
    machine = program.Arrays(PlainMath())
    with np.errstate(all="ignore"):
        found = program.carried_out(machine, [fit, *made], {rows: columns})
    return [np.atleast_1d(one.T)[::2] for one in found]


def assert_alike(policy, scores, **options):
    decide = loaded(policy, **options)
    given = scores[:, None] if scores.ndim == 1 else scores
    found = [decide(row) for row in given.tolist()]
    expected = policy.apply(scores)
    proba = np.array([list(one["probabilities"].values()) for one in found])
    # NumPy's exponential may differ in the last digit; what is made of it does not.
    np.testing.assert_allclose(proba, expected.proba, rtol=1e-13, atol=1e-300)
    assert [one["abstain"] for one in found] == expected.abstain.tolist()
    assert [one["prediction"] for one in found] == expected.prediction.tolist()
    _, exact, *_ = in_plain_math(policy, given)
    if policy.calibrator.name != "dirichlet":
        assert np.array_equal(proba, exact)


@pytest.mark.parametrize("scale", ["probabilities", "logits"])
@pytest.mark.parametrize("name", BINARY)
def test_two_classes(name, scale):
    policy, scores = of_two(name, scale)
    for changed in [*variants(policy, scores)][BINARY.index(name) % 3 :: 3]:
        assert_alike(changed, scores, columns=1)
    other = 1 - scores if scale == "probabilities" else np.zeros_like(scores)
    assert_alike(policy, np.column_stack([other, scores]))


@pytest.mark.parametrize("name", MANY)
def test_four_classes(name):
    policy, scores = of_four(name)
    for changed in [*variants(policy, scores)][MANY.index(name) % 3 :: 3]:
        assert_alike(changed, scores)


def test_given_probabilities_come_out_to_the_last_bit():
    """Without a logarithm or an exponential there is nothing to differ in."""
    for policy, scores in (of_two("identity", "probabilities"), of_four("identity")):
        decide = loaded(policy, columns=1 if scores.ndim == 1 else None)
        given = scores[:, None] if scores.ndim == 1 else scores
        found = [[*decide(row)["probabilities"].values()] for row in given.tolist()]
        assert np.array_equal(found, policy.apply(scores).proba)


def test_immense_logits():
    policy, _ = of_two("vector", "logits")
    most = float(np.finfo(np.float64).max)
    line = np.array([most, -most, 5e-324, 0.0, 750.0, -750.0, 1e101])
    assert_alike(policy, line, columns=1)
    assert_alike(policy, np.array([(a, b) for a in line for b in line]))


def test_what_is_no_score_goes_to_a_person():
    for policy, columns, wrong in (
        (of_two("bcts", "logits")[0], 1, [None, math.nan, math.inf, -math.inf]),
        (of_two("bcts", "probabilities")[0], 1, [None, math.nan, -1e-9, 1.0000001]),
    ):
        decide = loaded(policy, columns=columns)
        for one in wrong:
            assert decide([one]) == {"abstain": True, "prediction": None, "probabilities": None}
    decide = loaded(of_four("bcts")[0])
    assert decide([0.9, 0.9, 0.1, 0.1])["prediction"] is None
    with pytest.raises(ValueError, match="a row has 4 scores; got 3"):
        decide([0.5, 0.25, 0.25])


HOSTILE = ['"""', "'; import os #", "a\nb", "\\", "$classes", "ünï🙂"]


@pytest.mark.parametrize("label", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_labels_come_out_as_they_are(label):
    policy, scores = of_two("bcts")
    labels = np.array(["other", label])
    policy = replace(policy, classes=labels, columns=labels, positive=label, created=label)
    decide = loaded(policy, columns=1)
    assert {decide([one])["prediction"] for one in scores.tolist()} == {"other", label}


def test_it_needs_nothing_but_python(tmp_path):
    policy, scores = of_two("isotonic", "probabilities")
    (tmp_path / "rule.py").write_text(policy.to_python(columns=1))
    code = f"from rule import decide; print(decide([{float(scores[0])!r}])['abstain'])"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, '.'); {code}"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == f"{policy.apply(scores[:1]).abstain[0]}\n"


def test_what_cannot_be_exported_is_explained():
    policy, scores = of_two("bcts")
    random = choose_by_score("random", policy.predict_proba(scores), 10)
    with pytest.raises(TypeError, match="No operations are known for 'random': it is a hash"):
        replace(policy, region=random).to_python()
    with pytest.raises(ValueError, match="`columns` must be 2, one per class, or 1; got 3"):
        policy.to_python(columns=3)
    with pytest.raises(ValueError, match="`dtype` must be"):
        policy.to_python(dtype="float16")
