"""Summaries of rows on a device: only the summary comes to the host."""

from __future__ import annotations

from typing import Any

from abstain._inputs import Missing
from abstain._summariser import Summariser
from abstain.cuda._arrays import OnDevice, arrived, cupy
from abstain.cuda._calibrators import calibrated, unfit
from abstain.cuda._kernels import AS_THEY_ARE, binned, logistic_of
from abstain.cuda._sample import sampled
from abstain.summaries import Bins, Sample, Summary

__all__ = ["check_fit", "refuse", "summarise", "summary_of"]


def summarise(
    summariser: Summariser, scores: Any, sample_weight: Any = None, *, missing: Missing = "error"
) -> Summary:
    """Return the summary of scores on a device; see :meth:`abstain.Abstainer.summarise`.

    Rows count once each, and rows without a score cannot be left out.
    """
    refuse(sample_weight=sample_weight)
    given = arrived(scores, summariser.order)
    with given.at_work():
        return summary_of(summariser, given, missing=missing, ends=True)


def refuse(**for_memory: Any) -> None:
    """Refuse what is for rows in memory."""
    for name, given in for_memory.items():
        if given is not None:
            raise ValueError(
                f"`{name}` is for scores in memory, and these are on a device. Move them to "
                f"memory: scores.cpu()."
            )


def summary_of(
    summariser: Summariser, given: OnDevice, *, missing: Missing, ends: bool
) -> Summary:
    """Return the summary of scores that arrived; the ends of bins are looked for or not."""
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
