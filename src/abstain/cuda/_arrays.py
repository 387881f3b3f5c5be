"""Arrays on a device: taken as they come, without a copy, and given back as what they came as.

And the operations of a rule carried out on them, with the arrays of NumPy or CuPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from abstain._inputs import ROW_SUM_TOLERANCE, ClassOrder
from abstain.calibration import Calibrator
from abstain.policy import Policy, decided
from abstain.program import Arrays, carried_out, given


@dataclass(frozen=True, eq=False)
class OnDevice:
    """Scores on a device, as CuPy sees them.

    Attributes
    ----------
    values : cupy.ndarray of shape (n,) or (n, n_classes)
        In the order of the classes.
    given : object
        What came, for its kind.
    """

    values: Any
    given: Any

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Work on the device, and in the order, of what came."""
        cp = cupy()
        with self.values.device:
            if not _is_tensor(self.given):
                yield
                return
            import torch

            stream = torch.cuda.current_stream(self.given.device)
            with cp.cuda.ExternalStream(stream.cuda_stream):
                yield

    def back(self, array: Any) -> Any:
        """Return an array as what the scores came as, where it is."""
        if not _is_tensor(self.given):
            return array
        import torch
        from torch.utils.dlpack import from_dlpack

        if array.dtype == bool:
            # Not every version of PyTorch takes truth values over.
            return from_dlpack(array.view("uint8")).view(torch.bool)
        return from_dlpack(array)


def device_scores(scores: Any, order: ClassOrder) -> OnDevice:
    """Return scores on a device as CuPy sees them, in the order of the classes.

    Raises
    ------
    TypeError
        If they are no floating-point numbers.
    ValueError
        If their shape is not that of scores of these classes.
    """
    cp = cupy()
    plain = scores.detach() if _is_tensor(scores) else scores
    if _is_tensor(plain) and str(plain.dtype) == "torch.bfloat16":
        # CuPy has none; float32 holds every one of them.
        plain = plain.float()
    values = cp.asarray(plain)
    if values.dtype.kind != "f":
        raise TypeError(
            f"`scores` on a device must be floating-point numbers; got {values.dtype}. Convert "
            f"them, as with scores.float()."
        )
    if values.dtype.itemsize == 2:
        values = values.astype(cp.float32)
    n_classes = len(order.classes)
    if values.ndim == 2 and values.shape[1] == 1 and n_classes == 2:
        values = values[:, 0]
    fits = values.ndim == 2 and values.shape[1] == n_classes
    if not fits and not (values.ndim == 1 and n_classes == 2):
        raise ValueError(
            f"`scores` must have a column for each of {n_classes} classes"
            f"{', or one dimension' if n_classes == 2 else ''}; got the shape {values.shape}."
        )
    if not len(values):
        raise ValueError("`scores` must have at least one row; it has none.")
    if values.ndim == 1:
        order.need_positive("`scores` has one dimension: the score is that of the positive class")
        return OnDevice(cp.ascontiguousarray(values), scores)
    places = [order.columns.tolist().index(label) for label in order.classes.tolist()]
    if places != sorted(places):
        values = values[:, places]
    return OnDevice(cp.ascontiguousarray(values), scores)


def _is_tensor(values: Any) -> bool:
    return hasattr(values, "detach")


def cupy() -> Any:
    """Return CuPy, or say how to get it."""
    try:
        import cupy
    except ModuleNotFoundError as error:
        raise ImportError(
            "Scores on a GPU need CuPy, which comes with an extra for CUDA 12: pip install "
            "'abstain[gpu]'; or for CUDA 13: pip install cupy-cuda13x. Or move them to memory: "
            "scores.cpu()."
        ) from error
    return cupy


def unfit(xp: Any, calibrator: Calibrator, scores: Any) -> tuple[Any, Any]:
    """Tell which rows have no score, and which have one that cannot be."""
    gaps = xp.isnan(scores)
    wrong = xp.isinf(scores)
    if calibrator.scale == "probabilities":
        wrong |= (scores < 0) | (scores > 1)
    if scores.ndim == 1:
        return gaps, wrong
    gaps, wrong = gaps.any(axis=1), wrong.any(axis=1)
    if calibrator.scale == "probabilities":
        wrong |= xp.abs(scores.sum(axis=1) - 1) > ROW_SUM_TOLERANCE
    return gaps, wrong & ~gaps


def calibrated(xp: Any, calibrator: Calibrator, scores: Any) -> Any:
    """Return probabilities in double precision, of two classes those of the positive one."""
    columns, smallest = _columns(xp, calibrator, scores)
    rows = given(len(columns))
    (proba,) = carried_out(Arrays(xp), [calibrator.stated(rows, smallest)], {rows: columns})
    return xp.ascontiguousarray(proba.T)


def made_of(
    xp: Any, policy: Policy, scores: Any, what: Literal["proba", "prediction", "abstain"]
) -> Any:
    """Return what a policy makes of rows: probabilities, places of classes, or who is withheld."""
    columns, smallest = _columns(xp, policy.calibrator, scores)
    rows = given(len(columns))
    wanted = getattr(decided(policy, rows, smallest), what)
    return carried_out(Arrays(xp), [wanted], {rows: columns})[0].T


def _columns(xp: Any, calibrator: Calibrator, scores: Any) -> tuple[Any, float]:
    """Return scores in double precision with a row for each class, and their least step."""
    # The smallest step of the precision that probabilities came in, as in memory.
    smallest = float(np.finfo(np.float32 if scores.dtype.itemsize < 8 else np.float64).eps)
    scores = scores.astype(xp.float64)
    given_in = calibrator.scale == "probabilities"
    if scores.ndim == 1:
        return xp.stack([1.0 - scores if given_in else xp.zeros_like(scores), scores]), smallest
    columns = xp.ascontiguousarray(scores.T)
    return columns / columns.sum(axis=0) if given_in else columns, smallest
