"""What the shift does to probabilities, and what adapting them gives."""

import matplotlib.pyplot as plt

from abstain import Abstainer
from abstain.datasets import screening_clinic
from abstain.plots import PriorsDisplay, ReliabilityDisplay

clinic = screening_clinic(random_state=0)
figure, axes = plt.subplots(ncols=3, figsize=(12, 3.9), layout="constrained")
for ax, shift, title in (
    (axes[0], "none", "As they were at validation"),
    (axes[2], "auto", "Adapted to the batch"),
):
    abstainer = Abstainer(
        "auroc", budget=0.15, calibration="platt", shift=shift, scale="logits", random_state=0
    )
    decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    ReliabilityDisplay.from_predictions(clinic.y_target, decisions.proba, ax=ax)
    ax.set_title(title)
PriorsDisplay.from_decisions(decisions, clinic.y_target, ax=axes[1])
axes[1].set(title="Class proportions, without labels", ylim=(0, 1.4))
