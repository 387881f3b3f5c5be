"""Every calibrator with every region and rule, run as SQL, decides as the library does."""

import numpy as np
import pytest

from .cases import BINARY, MANY, of_four, of_two, variants
from .engines import assert_decides_alike, columns_of


def single_on_one(engine):
    """Which precision the scores of an engine have in the quick tests: each has one of them."""
    return np.float32 if engine.dialect == "duckdb" else np.float64


def some(changed, part):
    """Every one of the variants, or a few of them: another few for every part."""
    return [*changed] if part is None else [*changed][part % 5 :: 5]


def check_two(engine, name, scale, dtype, part=None):
    policy, scores = of_two(name, scale)
    scores = scores.astype(dtype)
    engine.load(columns_of(scores))
    assert_decides_alike(engine, policy, scores)
    for changed in some(variants(policy, scores), part):
        assert_decides_alike(engine, changed, scores, probabilities=part is None)
    other = 1 - scores if scale == "probabilities" else np.zeros_like(scores)
    pair = np.column_stack([other, scores])
    engine.load(columns_of(pair))
    for changed in some(variants(policy, pair), part)[::4]:
        assert_decides_alike(engine, changed, pair)


def check_four(engine, name, dtype, part=None):
    policy, scores = of_four(name)
    scores = scores.astype(dtype)
    engine.load(columns_of(scores))
    for changed in some(variants(policy, scores), part):
        assert_decides_alike(engine, changed, scores)


@pytest.mark.parametrize("scale", ["probabilities", "logits"])
@pytest.mark.parametrize("name", BINARY)
def test_two_classes(engine, name, scale):
    check_two(engine, name, scale, single_on_one(engine), part=BINARY.index(name))


@pytest.mark.parametrize("name", MANY)
def test_four_classes(engine, name):
    check_four(engine, name, single_on_one(engine), part=MANY.index(name))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", ["probabilities", "logits"])
@pytest.mark.parametrize("name", BINARY)
def test_two_classes_at_length(engine, name, scale, dtype):
    check_two(engine, name, scale, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", MANY)
def test_four_classes_at_length(engine, name, dtype):
    check_four(engine, name, dtype)


@pytest.mark.parametrize("name", ["bcts", "isotonic", "beta"])
def test_postgres(postgres, name):
    check_two(postgres, name, "probabilities", np.float32, part=BINARY.index(name))
    if name in MANY:
        check_four(postgres, name, np.float64, part=MANY.index(name))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", BINARY)
def test_postgres_at_length(postgres, name, dtype):
    for scale in ("probabilities", "logits"):
        check_two(postgres, name, scale, dtype)
    if name in MANY:
        check_four(postgres, name, dtype)
