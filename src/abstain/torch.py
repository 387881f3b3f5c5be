"""PyTorch: draws of test-time dropout from a trained network.

What the paper's baseline needs (Gal and Ghahramani): dropout layers on, everything else as in
evaluation, and every layer as it was afterwards.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from abstain._validation import FloatArray

__all__ = ["dropout_only", "sample_predictions"]


def sample_predictions(
    model: Any,
    inputs: Any,
    *,
    n_samples: int = 100,
    random_state: int | None = None,
) -> FloatArray:
    """Return the outputs of a network in draws of test-time dropout.

    Parameters
    ----------
    model : torch.nn.Module
        A trained network with dropout layers.
    inputs : Tensor, tuple of Tensor, or iterable of batches
        What the network is called with: one tensor (or a tuple of arguments), or a list or
        ``DataLoader`` of such batches, whose outputs are put together. A loader must give the
        same rows in the same order each time it is read, so it must not shuffle. A batch of a
        loader that is a list is taken as (inputs, labels): its first part is used.
    n_samples : int
        How many draws; the paper's 100.
    random_state : int, optional
        Seeds PyTorch's generators for the draws; their states are put back afterwards.

    Returns
    -------
    ndarray of shape (n_samples, n, ...)
        The outputs of the network as they are, logits or probabilities. Pass them to
        ``Abstainer.decide(..., score_samples=...)`` with ``score="dropout-variance"``; their
        ``mean(axis=0)``, taken of probabilities, is the prediction in the paper's appendix.

    Raises
    ------
    ValueError
        If the network has no dropout layer, or ``n_samples`` is below 1.

    Notes
    -----
    Only layers that drop at random (``nn.Dropout`` and its kin) are switched to training;
    batch normalisation stays in evaluation and its running averages stay as they are. Every
    layer's mode is restored at the end, also after an error or an interruption.

    References
    ----------
    Gal, Ghahramani. Dropout as a Bayesian approximation. ICML 2016.
    """
    torch = _torch()
    if n_samples < 1:
        raise ValueError(f"`n_samples` must be at least 1; got {n_samples!r}.")
    draws = []
    with _seeded(random_state), dropout_only(model), torch.no_grad():
        for _ in range(n_samples):
            outputs = [_called(model, batch) for batch in _batches(inputs)]
            draws.append(np.concatenate(outputs))
    return np.stack(draws)


@contextmanager
def dropout_only(model: Any) -> Iterator[None]:
    """Within the block, dropout layers drop and all other layers are in evaluation.

    Parameters
    ----------
    model : torch.nn.Module
        The network; every layer's mode is as it was when the block ends, however it ends.

    Raises
    ------
    ValueError
        If the network has no dropout layer.
    """
    nn = _torch().nn
    kinds = (nn.modules.dropout._DropoutNd,)
    layers = list(model.modules())
    dropping = [layer for layer in layers if isinstance(layer, kinds)]
    if not dropping:
        raise ValueError(
            "`model` has no dropout layer, so its predictions do not vary from draw to draw. "
            "Test-time dropout needs layers such as torch.nn.Dropout; dropout called as a "
            "function cannot be switched on."
        )
    modes = [layer.training for layer in layers]
    try:
        model.eval()
        for layer in dropping:
            # The flag of this layer alone; train() would also reach the layers inside it.
            layer.training = True
        yield
    finally:
        for layer, mode in zip(layers, modes, strict=True):
            layer.training = mode


def _torch() -> Any:
    try:
        return import_module("torch")
    except ModuleNotFoundError as error:
        raise ImportError(
            "abstain.torch needs PyTorch, which comes with an extra: pip install 'abstain[torch]'"
        ) from error


@contextmanager
def _seeded(random_state: int | None) -> Iterator[None]:
    torch = _torch()
    if random_state is None:
        yield
        return
    devices = list(range(torch.cuda.device_count()))
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(random_state)
        yield


def _batches(inputs: Any) -> Iterator[Any]:
    """Yield the batches; one tensor or one tuple of arguments is a single batch."""
    if isinstance(inputs, _torch().Tensor | tuple):
        yield inputs
        return
    for batch in inputs:
        yield batch[0] if isinstance(batch, list) else batch


def _called(model: Any, batch: Any) -> FloatArray:
    output = model(*batch) if isinstance(batch, tuple) else model(batch)
    values: FloatArray = output.detach().cpu().numpy().astype(np.float64)
    return values
