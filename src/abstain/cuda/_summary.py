"""Summaries of rows on a device: only the summary comes to the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from abstain._inputs import Missing
from abstain._kernels.row_hash import STEP, mixed
from abstain._summariser import Summariser
from abstain.cuda._arrays import OnDevice, calibrated, cupy, device_scores, unfit
from abstain.cuda._kernels import AS_THEY_ARE, binned, logistic_of
from abstain.summaries import SAMPLE_SEED, STEPS, Bins, Sample, Summary, most_rows, n_moments


def summarise(
    summariser: Summariser, scores: Any, sample_weight: Any = None, *, missing: Missing = "error"
) -> Summary:
    """Return the summary of scores on a device; see :meth:`abstain.Abstainer.summarise`.

    Rows count once each, and rows without a score cannot be left out.
    """
    refuse(sample_weight=sample_weight)
    given = device_scores(scores, summariser.order)
    with given.at_work():
        return summary_of(summariser, given, missing=missing, ends=True)


def refuse(**unsupported: Any) -> None:
    """Refuse what is for rows in memory."""
    for name, given in unsupported.items():
        if given is not None:
            raise ValueError(
                f"`{name}` is for scores in memory, and these are on a device. Move them to "
                f"memory: scores.cpu()."
            )


def summary_of(
    summariser: Summariser, given: OnDevice, *, missing: Missing, ends: bool
) -> Summary:
    """Return the summary of scores on a device; the ends of bins are looked for or not."""
    calibrator, values = summariser.calibrator, given.values
    of_one = logistic_of(calibrator) if values.ndim == 1 else None
    part: Bins | Sample
    if of_one is not None:
        part, n_missing, n_wrong = binned(values, of_one, ends=ends)
        check_fit(n_missing, n_wrong, len(values), missing)
        return summariser.of_part(part, len(values) - n_missing, n_missing)
    cp = cupy()
    gaps, wrong = unfit(cp, calibrator, values)
    n_missing, n_wrong = int(gaps.sum()), int(wrong.sum())
    check_fit(n_missing, n_wrong, len(values), missing)
    proba = calibrated(cp, calibrator, values[~gaps] if n_missing else values)
    part = binned(proba, AS_THEY_ARE, ends=ends)[0] if proba.ndim == 1 else sampled(cp, proba)
    return summariser.of_part(part, len(proba), n_missing)


def check_fit(n_missing: int, n_wrong: int, n_rows: int, missing: Missing) -> None:
    """Raise for scores that are not there, or cannot be."""
    if missing == "drop":
        raise ValueError(
            '`missing` "drop" is for scores in memory; on a device it is "error" or "refer". '
            "Leave rows out before: scores[~scores.isnan()]."
        )
    if missing not in ("error", "refer"):
        raise ValueError(f'`missing` must be "error" or "refer" on a device; got {missing!r}.')
    if n_wrong:
        raise ValueError(
            f"`scores` must be finite, and probabilities between 0 and 1 that sum to 1; {n_wrong} "
            f'of {n_rows} rows are not. If these are logits, pass scale="logits".'
        )
    if n_missing and missing == "error":
        raise ValueError(
            f"`scores` has gaps: {n_missing} of {n_rows} rows are NaN. Pass "
            f'missing="refer" to give these rows to a person.'
        )


def sampled(xp: Any, proba: Any) -> Sample:
    """Return what is kept of rows of more than two classes; see ``summaries.Sample``.

    With the arrays of NumPy or CuPy, picked where they are.
    """
    n, n_classes = proba.shape
    numbers, most = _numbers(xp, proba), most_rows(n_classes)
    edge, kept = np.inf, slice(None)
    if n > most:
        edge = float(xp.partition(numbers, most)[most])
        kept = xp.flatnonzero(numbers < edge)
    host = _to_host(xp, numbers[kept]), _to_host(xp, proba[kept])
    return Sample.gathered(*host, edge, _moments(xp, proba))


def _numbers(xp: Any, proba: Any) -> Any:
    """Return the number of each row, as ``row_numbers`` does on the host."""
    bits = xp.full(len(proba), SAMPLE_SEED, dtype=xp.uint64)
    for column in range(proba.shape[1]):
        own = xp.ascontiguousarray(proba[:, column]).view(xp.uint64)
        bits = mixed((bits ^ own) + STEP)
    return (bits >> np.uint64(11)) * 2.0**-53


def _moments(xp: Any, proba: Any) -> Any:
    """Return the sums of the moments of each group of rows."""
    n, n_classes = proba.shape
    steps = xp.rint(proba * STEPS)
    column = xp.argmax(proba, axis=1)
    group = column + n_classes * (steps[xp.arange(n), column] == STEPS)
    moments = np.zeros((1, 2 * n_classes, n_moments(n_classes)), dtype=np.int64)
    upper = np.triu_indices(n_classes)
    for k in range(2 * n_classes):
        own = steps[group == k]
        moments[0, k, 0] = len(own)
        # Whole numbers, whose sums stay below 2**53 and so are exact.
        if len(own) and moments.shape[2] > n_classes + 1:
            moments[0, k, 1:] = _to_host(xp, own.T @ own)[upper]
        elif len(own):
            moments[0, k, 1:] = _to_host(xp, own.sum(axis=0))
    return moments


def _to_host(xp: Any, array: Any) -> Any:
    return array if xp is np else xp.asnumpy(array)
