"""Keras 3: draws of test-time dropout from a trained network, on any of its backends.

Keras tells a whole call whether it is training, which would also unfreeze batch normalisation;
here only the dropout layers are told so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from abstain._inputs import FloatArray

__all__ = ["dropout_only", "sample_predictions"]

# The layers that drop or disturb at random, by class name: they share no base class.
DROPPING = (
    "AlphaDropout",
    "Dropout",
    "GaussianDropout",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "SpatialDropout3D",
)


def sample_predictions(model: Any, inputs: Any, *, n_samples: int = 100) -> FloatArray:
    """Return the outputs of a Keras network in draws of test-time dropout.

    Parameters
    ----------
    model : keras.Model
        A trained network with dropout layers.
    inputs : array or tensor
        What the network is called with.
    n_samples : int
        How many draws; the paper's 100.

    Returns
    -------
    ndarray of shape (n_samples, n, ...)
        The outputs of the network as they are. See :func:`abstain.torch.sample_predictions`.

    Raises
    ------
    ValueError
        If the network has no dropout layer, or ``n_samples`` is below 1.
    """
    keras = _keras()
    if n_samples < 1:
        raise ValueError(f"`n_samples` must be at least 1; got {n_samples!r}.")
    with dropout_only(model):
        draws = [
            keras.ops.convert_to_numpy(model(inputs, training=False)) for _ in range(n_samples)
        ]
    return np.stack(draws).astype(np.float64)


@contextmanager
def dropout_only(model: Any) -> Iterator[None]:
    """Within the block, dropout layers drop whatever the call says; all else is as it was.

    Parameters
    ----------
    model : keras.Model
        The network; its layers are as they were when the block ends, however it ends.
    """
    dropping = [
        layer
        for layer in model._flatten_layers()
        if any(kind.__name__ in DROPPING for kind in type(layer).__mro__)
    ]
    if not dropping:
        raise ValueError(
            "`model` has no dropout layer, so its predictions do not vary from draw to draw."
        )
    try:
        for layer in dropping:
            # An attribute of the instance hides the method of its class until it is deleted.
            object.__setattr__(layer, "call", _always_dropping(layer.call))
        yield
    finally:
        for layer in dropping:
            layer.__dict__.pop("call", None)


def _always_dropping(call: Any) -> Any:
    def dropping(inputs: Any, *arguments: Any, **options: Any) -> Any:
        return call(inputs, training=True)

    return dropping


def _keras() -> Any:
    try:
        return import_module("keras")
    except ModuleNotFoundError as error:
        raise ImportError("abstain.keras needs Keras 3: pip install keras") from error
