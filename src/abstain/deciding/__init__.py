"""The one function that decides, and what it is given: a batch in, an outcome out.

:meth:`abstain.Abstainer.decide`, :meth:`abstain.Policy.adapt`, summaries, files, the report
and its back-test are this, with different words around it.
"""

from __future__ import annotations

from abstain.deciding._batch import Batch as Batch
from abstain.deciding._batch import calibrated_apart as calibrated_apart
from abstain.deciding._batch import known_labels as known_labels
from abstain.deciding._decide import decide as decide
from abstain.deciding._doubts import warn_of as warn_of
from abstain.deciding._doubts import warn_of_scale as warn_of_scale
from abstain.deciding._doubts import with_undefined as with_undefined
from abstain.deciding._drift import KnownRows as KnownRows
from abstain.deciding._drift import with_drift as with_drift
from abstain.deciding._given import Given as Given
from abstain.deciding._given import Proof as Proof
from abstain.deciding._given import calibrated as calibrated
from abstain.deciding._given import check_order_kept as check_order_kept
from abstain.deciding._given import labelled_rows as labelled_rows
from abstain.deciding._outcome import Outcome as Outcome
from abstain.deciding._shift import ShiftEvidence as ShiftEvidence
from abstain.deciding._shift import estimate_shift as estimate_shift

__all__: list[str] = []
