"""Policy: the frozen rule, as data, to save, load and apply to new rows.

A policy file is JSON that a person can read. It holds numbers and names, nothing executable,
and a checksum that tells an edited or damaged file from a whole one.
"""

from __future__ import annotations

from abstain.policy._arms import Arm
from abstain.policy._arms import arms_in_words as arms_in_words
from abstain.policy._decisions import NO_SCORE as NO_SCORE
from abstain.policy._decisions import ColumnByNumber as ColumnByNumber
from abstain.policy._decisions import Decisions as Decisions
from abstain.policy._decisions import check_decisions as check_decisions
from abstain.policy._decisions import decision_columns as decision_columns
from abstain.policy._decisions import free_name as free_name
from abstain.policy._decisions import gains_by_row as gains_by_row
from abstain.policy._groups import GroupDecisions as GroupDecisions
from abstain.policy._policy import Policy
from abstain.policy._policy import rule_of as rule_of
from abstain.policy._policy import warn_of_unscored as warn_of_unscored
from abstain.policy._program import answered as answered
from abstain.policy._program import decided as decided
from abstain.policy._program import score_columns as score_columns
from abstain.policy._program import stated as stated
from abstain.policy._stored import POLICY as POLICY

__all__ = ["Arm", "Policy"]
