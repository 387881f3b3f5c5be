"""How good decisions turned out to be: realised metrics, comparisons, significance, tables."""

from __future__ import annotations

from abstain.evaluation._compare import Dataset, compare
from abstain.evaluation._evaluate import Evaluation, evaluate
from abstain.evaluation._evaluate import Realised as Realised
from abstain.evaluation._intervals import JudgedRows as JudgedRows
from abstain.evaluation._operating import OperatingPoint as OperatingPoint
from abstain.evaluation._operating import as_most_probable as as_most_probable
from abstain.evaluation._operating import count_in_words as count_in_words
from abstain.evaluation._operating import operating_lines as operating_lines
from abstain.evaluation._operating import operating_point
from abstain.evaluation._operating import operating_remarks as operating_remarks
from abstain.evaluation._risk_coverage import RiskCoverage as RiskCoverage
from abstain.evaluation._risk_coverage import risk_coverage
from abstain.evaluation._significance import best_methods, signed_rank_test
from abstain.evaluation._splits import (
    dirichlet_priors,
    grouped_split,
    shifted_rows,
    tweak_one_priors,
)
from abstain.evaluation._table import Cell as Cell
from abstain.evaluation._table import ResultTable
from abstain.evaluation._team import TeamResult as TeamResult

__all__ = [
    "Dataset",
    "Evaluation",
    "ResultTable",
    "best_methods",
    "compare",
    "dirichlet_priors",
    "evaluate",
    "grouped_split",
    "operating_point",
    "risk_coverage",
    "shifted_rows",
    "signed_rank_test",
    "tweak_one_priors",
]
