"""The paper's experiments, reproduced."""

from abstain.paper._agreement import auroc_agreement, sensitivity_agreement
from abstain.paper._experiment import Experiment, Options, Result

__all__ = ["EXPERIMENTS", "Experiment", "Options", "Result"]

#: The experiments that ``abstain reproduce`` knows, by name.
EXPERIMENTS: dict[str, Experiment] = {
    "auroc-agreement": auroc_agreement,
    "sensitivity-agreement": sensitivity_agreement,
}
