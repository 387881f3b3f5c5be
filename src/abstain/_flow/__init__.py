"""The one flow: calibrated probabilities of a batch in, priors, choice and estimate out.

``Abstainer.decide`` and ``Policy.adapt`` are this, with different words around it. The batch is
summarised once; everything but the mask of what is withheld is computed on the summary.
"""

from __future__ import annotations

from abstain._flow._basis import Basis as Basis
from abstain._flow._basis import basis_of as basis_of
from abstain._flow._calibrated import adapted_in_place as adapted_in_place
from abstain._flow._calibrated import calibrated_apart as calibrated_apart
from abstain._flow._calibrated import labelled_rows as labelled_rows
from abstain._flow._rows import Outcome as Outcome
from abstain._flow._rows import flow as flow
from abstain._flow._summary import SummaryOutcome as SummaryOutcome
from abstain._flow._summary import flow_of_summary as flow_of_summary
from abstain._flow._warnings import warn_of as warn_of
from abstain._flow._warnings import warn_of_scale as warn_of_scale
from abstain._flow._warnings import with_undefined as with_undefined

__all__: list[str] = []
