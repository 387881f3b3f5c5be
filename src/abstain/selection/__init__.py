"""How much to withhold: a budget, a target, a cost, or what labels certify."""

from abstain.selection._assumption import AssumptionCheck, check_mixture
from abstain.selection._budget import budget_capacity
from abstain.selection._certificate import Bound, Certificate, Evidence, certify
from abstain.selection._certified_search import CertifiedChoice, certified_choice, claims_of
from abstain.selection._cost import Cost
from abstain.selection._selection import Selection
from abstain.selection._source import Source
from abstain.selection._split import check_confidence, split_for_certificate
from abstain.selection._stream import RateController, priority
from abstain.selection._target import check_target, choose_for_target

__all__ = [
    "AssumptionCheck",
    "Bound",
    "Certificate",
    "CertifiedChoice",
    "Cost",
    "Evidence",
    "RateController",
    "Selection",
    "Source",
    "budget_capacity",
    "certified_choice",
    "certify",
    "check_confidence",
    "check_mixture",
    "check_target",
    "choose_for_target",
    "claims_of",
    "priority",
    "split_for_certificate",
]
