"""What a larger budget buys, by three methods: estimated without labels, and realised."""

import matplotlib.pyplot as plt

from abstain import Abstainer
from abstain.datasets import screening_clinic
from abstain.plots import AbstentionCurveDisplay

clinic = screening_clinic(2000, 2000, random_state=0)
abstainer = Abstainer(
    "sensitivity@specificity=0.9", budget=0.15, calibration="platt", scale="logits", random_state=0
)
decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)

figure, axes = plt.subplots(figsize=(7, 4.6), layout="constrained")
AbstentionCurveDisplay.from_decisions(
    decisions,
    clinic.y_target,
    budgets=[0, 0.05, 0.1, 0.15, 0.2, 0.3],
    methods=["delta-metric", "max-probability", "js-divergence"],
    ax=axes,
)
