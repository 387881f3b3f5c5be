"""The whole team: what a person's opinion is worth, and what comes out of model and opinion.

A reviewer is how often which answer is given for which class; the posterior of the model's
probabilities and an answer is Bayes' rule. The paper takes people as perfect.
"""

from __future__ import annotations

from abstain.team._assignment import Assignment, assign
from abstain.team._combined import Opinions as Opinions
from abstain.team._combined import combined
from abstain.team._combined import posterior as posterior
from abstain.team._metric import TeamMetric as TeamMetric
from abstain.team._queue import Waiting, simulate_queue
from abstain.team._region import OpinionGain as OpinionGain
from abstain.team._region import hanging as hanging
from abstain.team._reviewer import LabelledOpinions as LabelledOpinions
from abstain.team._reviewer import Reviewer
from abstain.team._reviewer import opinion_codes as opinion_codes
from abstain.team._reviewer import opinions_by_name as opinions_by_name
from abstain.team._team import KEYS as KEYS
from abstain.team._team import Answer as Answer
from abstain.team._team import Team as Team

__all__ = ["Assignment", "Reviewer", "Waiting", "assign", "combined", "simulate_queue"]
