"""The paper's experiments, reproduced."""

from __future__ import annotations

from abstain.paper._agreement import auroc_agreement, sensitivity_agreement
from abstain.paper._binary import CATDOG, IMDB, LSC, PHSC
from abstain.paper._experiment import Experiment as Experiment
from abstain.paper._experiment import Options
from abstain.paper._experiment import Result as Result
from abstain.paper._experiment import write_stand_in as write_stand_in
from abstain.paper._retinopathy import RETINOPATHY
from abstain.paper._simulations import figure1, kappa_convergence
from abstain.paper._table_experiment import TableExperiment as TableExperiment
from abstain.paper._table_experiment import TableResult as TableResult

__all__ = ["EXPERIMENTS", "Options"]

#: The experiments that ``abstain reproduce`` knows, by name.
EXPERIMENTS: dict[str, Experiment] = {
    "auroc-agreement": auroc_agreement,
    "figure1": figure1,
    "kappa-convergence": kappa_convergence,
    "sensitivity-agreement": sensitivity_agreement,
    **{experiment.name: experiment for experiment in (IMDB, CATDOG, LSC, PHSC, *RETINOPATHY)},
}
