"""What summarises rows where they are: a fitted calibration, without what it was fitted on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import (
    ClassOrder,
    FloatArray,
    Missing,
    RowRoles,
    check_sample_weight,
    float_array,
    on_device,
    read_scores,
    row_roles,
)
from abstain._numerics import plain
from abstain.calibration import Calibrator
from abstain.deciding import calibrated_apart
from abstain.summaries import Bins, Sample, Summary


@dataclass(frozen=True, eq=False)
class Summariser:
    """Turns scores into a summary; made by :meth:`abstain.Abstainer.summariser`.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted.
    order : ClassOrder
        How scores come in.
    """

    calibrator: Calibrator
    order: ClassOrder

    @cached_property
    def _maker(self) -> str:
        """What tells apart summaries whose probabilities mean something else."""
        order = self.order
        facts: dict[str, Any] = {
            "calibration": self.calibrator.to_dict(),
            "classes": [repr(label) for label in order.classes.tolist()],
        }
        text = json.dumps(plain(facts), sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def summarise(
        self,
        scores: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        missing: Missing = "error",
    ) -> Summary:
        """Return the summary of some rows; see :meth:`abstain.Abstainer.summarise`."""
        if on_device(scores):
            from abstain.cuda import summarise

            return summarise(self, scores, sample_weight, missing=missing)
        given = read_scores(scores, self.order, scale=self.calibrator.scale)
        values, roles = row_roles(given.values, missing=missing)
        weight = _weights(sample_weight, roles.n_rows)
        # A part of many may have no rows, or none that counts.
        proba, _ = calibrated_apart(self.calibrator, values, roles if len(values) else _NO_ROWS)
        left = roles.left(weight)
        return Summary.of(
            proba,
            roles.scored(weight),
            self._maker,
            n_missing=roles.n_referred,
            missing_weight=None if left is None else left[roles.referred],
        )

    def of_part(self, part: Bins | Sample, n_rows: int, n_missing: int) -> Summary:
        """Return the summary of rows that were summed elsewhere, as this one would have."""
        return Summary.of_part(part, self._maker, n_rows, n_missing)

    def check(self, summary: Summary) -> None:
        """Raise if a summary was not made by this one, or of no rows."""
        if not isinstance(summary, Summary):
            raise TypeError(
                f"`summary` must be a Summary, as summarise() returns; got "
                f"{type(summary).__name__}. For scores use decide()."
            )
        if summary.maker != self._maker:
            raise ValueError(
                "`summary` was made with another calibration, or other classes, than this "
                "abstainer has. Summarise the rows with the abstainer that decides about them."
            )
        if not summary.n_rows:
            raise ValueError(
                "`summary` must have a row to decide about; it stands for none with a score"
                f"{f' and {summary.n_missing} without' if summary.n_missing else ''}."
            )


# Nothing is to be calibrated where there is nothing.
_NO_ROWS = RowRoles(0, rows=np.empty(0, dtype=np.intp))


def _weights(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray | None:
    """Return weights as they are: rows elsewhere are to be weighed on the same scales."""
    if sample_weight is None:
        return None
    weight = float_array(sample_weight, "sample_weight")
    if weight.shape != (n_rows,) or weight.any():
        check_sample_weight(weight, n_rows=n_rows)
    return weight
