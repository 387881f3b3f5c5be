"""PyTorch: the logits of a trained network, and draws of its test-time dropout.

Draws are what the paper's baseline needs (Gal and Ghahramani): dropout layers on, everything
else as in evaluation. Every layer is as it was afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, as_array
from abstain._numerics import progress as shown
from abstain.exceptions import extra

__all__ = ["collect_logits", "dropout_only", "sample_predictions"]


def collect_logits(
    model: Any, loader: Any, *, device: Any = None, progress: bool | None = None
) -> tuple[FloatArray, NDArray[Any] | None]:
    """Return the outputs of a network on all rows of a loader, and the labels it gives.

    Parameters
    ----------
    model : torch.nn.Module
        A trained network.
    loader : DataLoader, or iterable of batches
        Batches of inputs, or pairs (inputs, labels). A pair is what two-part lists and tuples
        are taken for. Labels are one-dimensional in each batch.
    device : torch.device or str, optional
        Where the inputs are moved to; the device of the network's parameters when not given.
        The network itself is not moved.
    progress : bool, optional
        Show how far it has come on stderr; when not given, if that is a terminal.

    Returns
    -------
    logits : ndarray of shape (n,) or (n, n_classes)
        The outputs as they are, in float64. A single column becomes one dimension, the logit of
        the positive class. Fit an :class:`abstain.Abstainer` with ``scale="logits"`` on them.
    labels : ndarray of shape (n,) or None
        The labels, or None where the loader gives none.

    Raises
    ------
    ValueError
        If the loader is empty, or gives labels in some batches only.

    Notes
    -----
    The network is in evaluation and nothing is differentiated meanwhile; every layer's mode is
    restored at the end, also after an error or an interruption. A loader that shuffles gives
    its rows, and the labels with them, in another order than the data set's.
    """
    torch = _torch()
    place = _device_of(model) if device is None else device
    logits: list[NDArray[Any]] = []
    labels: list[NDArray[Any]] = []
    with _evaluating(model), torch.no_grad():
        # A bar is for a loader that knows how many batches there are.
        known = hasattr(loader, "__len__")
        for batch in shown(loader, "logits", show=progress) if known else loader:
            inputs, found = _parted(batch)
            logits.append(as_array(model(inputs if place is None else inputs.to(place))))
            if found is not None:
                labels.append(np.asarray(as_array(found)))
    if not logits:
        raise ValueError("`loader` gave no batch; pass a loader with at least one row.")
    if labels and len(labels) != len(logits):
        raise ValueError(
            f"`loader` must give labels in every batch or in none; {len(labels)} of "
            f"{len(logits)} batches have them."
        )
    outputs: FloatArray = np.concatenate(logits).astype(np.float64)
    if outputs.ndim == 2 and outputs.shape[1] == 1:
        outputs = outputs[:, 0]
    return outputs, np.concatenate(labels) if labels else None


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Within the block all layers are in evaluation; afterwards each is as it was."""
    layers = list(model.modules())
    modes = [layer.training for layer in layers]
    try:
        model.eval()
        yield
    finally:
        for layer, mode in zip(layers, modes, strict=True):
            layer.training = mode


def sample_predictions(
    model: Any, inputs: Any, *, n_samples: int = 100, random_state: int | None = None
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
        ``Abstainer.decide(..., score_samples=...)`` with ``score="dropout-variance"``;
        :func:`abstain.scores.dropout_mean` of them is the prediction in the paper's appendix.

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
    dropping = [layer for layer in model.modules() if isinstance(layer, kinds)]
    if not dropping:
        raise ValueError(
            "`model` has no dropout layer, so its predictions do not vary from draw to draw. "
            "Test-time dropout needs layers such as torch.nn.Dropout; dropout called as a "
            "function cannot be switched on."
        )
    with _evaluating(model):
        for layer in dropping:
            # The flag of this layer alone; train() would also reach the layers inside it.
            layer.training = True
        yield


def _torch() -> Any:
    with extra("torch", "abstain.torch needs PyTorch"):
        return import_module("torch")


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


def _parted(batch: Any) -> tuple[Any, Any]:
    """Return the inputs and the labels of a batch; None for labels that are not there."""
    if not isinstance(batch, list | tuple):
        return batch, None
    if len(batch) == 1:
        return batch[0], None
    if len(batch) == 2:
        return batch[0], batch[1]
    raise ValueError(
        f"A batch of `loader` must be inputs, or a pair of inputs and labels; got {len(batch)} "
        f"parts. Pass a generator that makes such pairs."
    )


def _device_of(model: Any) -> Any:
    """Return where the network is; None for one without parameters."""
    first = next(chain(model.parameters(), model.buffers()), None)
    return None if first is None else first.device
