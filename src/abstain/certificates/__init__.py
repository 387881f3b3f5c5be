"""What labels prove about a rule, at every prevalence at once."""

from __future__ import annotations

from abstain.certificates._arms import ARMS as ARMS
from abstain.certificates._arms import CONFIDENCE as CONFIDENCE
from abstain.certificates._arms import certified_arms as certified_arms
from abstain.certificates._arms import check_arms as check_arms
from abstain.certificates._certificate import KEYS as KEYS
from abstain.certificates._certificate import Bound, Certificate, Evidence, certify
from abstain.certificates._certificate import check_confidence as check_confidence
from abstain.certificates._certificate import split_for_certificate as split_for_certificate
from abstain.certificates._certified_search import certified_choice as certified_choice
from abstain.certificates._certified_search import claims_of as claims_of
from abstain.certificates._certified_search import rates_of as rates_of
from abstain.certificates._windows import certified_window as certified_window
from abstain.certificates._worst_case import check_prior_range as check_prior_range

__all__ = ["Bound", "Certificate", "Evidence", "certify"]
