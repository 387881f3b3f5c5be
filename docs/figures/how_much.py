"""A budget, a target and a cost on one curve: three ways to say how much to withhold."""

import matplotlib.pyplot as plt
import numpy as np

from abstain import Abstainer, Cost
from abstain.datasets import screening_clinic
from abstain.plots import AbstentionCurveDisplay

clinic = screening_clinic(random_state=0)
settings = {"calibration": "platt", "scale": "logits", "random_state": 0}


def decide(**how_much):
    abstainer = Abstainer("accuracy", **how_much, **settings)
    return abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)


asked = {
    "budget=0.15": decide(budget=0.15),
    "target=0.95": decide(target=0.95),
    "cost=Cost(0.12)": decide(cost=Cost(0.12)),
}
figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
AbstentionCurveDisplay.from_decisions(
    asked["budget=0.15"],
    clinic.y_target,
    budgets=np.arange(0, 0.66, 0.05).tolist(),
    methods=["delta-metric"],
    ax=axes,
)
for (label, decisions), marker in zip(asked.items(), "*DP", strict=True):
    share = 100 * decisions.abstain.mean()
    value = decisions.estimate.after.value
    axes.plot(share, value, "#E69F00", marker=marker, markersize=11, markeredgecolor="black",
              linestyle="none", label=label)  # fmt: skip
axes.axhline(0.95, color="0.6", linestyle=":")
axes.legend(frameon=False, loc="lower right")
