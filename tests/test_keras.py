"""Test-time dropout with a small Keras network."""

import os

import numpy as np
import pytest

os.environ.setdefault("KERAS_BACKEND", "torch")
keras = pytest.importorskip("keras", reason="Keras is not installed")

from abstain.keras import sample_predictions  # noqa: E402

# Keras itself reads tensors in a way NumPy deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


@pytest.fixture
def network():
    keras.utils.set_random_seed(0)
    return keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(3),
        ]
    )


INPUTS = np.random.default_rng(0).normal(size=(10, 4)).astype("float32")


def test_only_dropout_drops_and_layers_come_back(network):
    plain = keras.ops.convert_to_numpy(network(INPUTS))
    weights = [np.array(weight) for weight in network.get_weights()]
    samples = sample_predictions(network, INPUTS, n_samples=5)
    assert samples.shape == (5, 10, 3)
    assert np.ptp(samples, axis=0).min() > 0
    for before, after in zip(weights, network.get_weights(), strict=True):
        assert (before == after).all()
    assert keras.ops.convert_to_numpy(network(INPUTS)) == pytest.approx(plain)


def test_layers_come_back_after_an_error(network):
    with pytest.raises((ValueError, TypeError)):
        sample_predictions(network, np.zeros((2, 9), dtype="float32"), n_samples=2)
    first, second = (keras.ops.convert_to_numpy(network(INPUTS)) for _ in range(2))
    assert (first == second).all()


def test_errors(network):
    with pytest.raises(ValueError, match="no dropout layer"):
        sample_predictions(keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)]), INPUTS)
    with pytest.raises(ValueError, match="`n_samples` must be at least 1"):
        sample_predictions(network, INPUTS, n_samples=0)
