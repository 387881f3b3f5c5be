"""Where the cases that matter are, for three operating points of the same scores."""

import matplotlib.pyplot as plt

from abstain import Abstainer
from abstain.datasets import screening_clinic
from abstain.plots import RegionDisplay

clinic = screening_clinic(random_state=0)
figure, axes = plt.subplots(ncols=3, figsize=(12, 3.6), layout="constrained", sharey=True)
for ax, specificity in zip(axes, (0.7, 0.9, 0.99), strict=True):
    abstainer = Abstainer(
        f"sensitivity@specificity={specificity}",
        budget=0.1,
        calibration="platt",
        scale="logits",
        random_state=0,
    )
    decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    RegionDisplay.from_decisions(decisions, ax=ax)
    ax.axvline(0.5, color="0.3", linestyle=":", linewidth=1)
    ax.set(title=f"{specificity:.0%} specificity", yscale="log", ylim=(20, 30_000))
