"""Arms with promises: whom the labels let be released, at any prevalence of a range."""

import matplotlib.pyplot as plt
import numpy as np

from abstain import Abstainer
from abstain.datasets import screening_clinic

clinic = screening_clinic(6_000, 3_000, random_state=0)
abstainer = Abstainer(
    "auroc", arms={"npv": 0.98, "specificity": 0.98}, prior_range=(0.02, 0.3),
    calibration="platt", scale="logits", random_state=0,
)  # fmt: skip
decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)

p = np.clip(decisions.proba[:, 1], 1e-6, 1 - 1e-6)
scores = np.log(p / (1 - p))
names = ["released", "to a person", "acted on"]
arm = np.where(decisions.abstain, 1, 2 * (decisions.prediction == 1))
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
bins = np.linspace(scores.min(), scores.max(), 70)
axes.hist(
    [scores[arm == number] for number in range(3)],
    bins=bins,
    stacked=True,
    color=["#009E73", "#BBBBBB", "#D55E00"],
    label=[
        f"{name}: {one.rows:,}, about {one.positives:,.0f} of them ill"
        for name, one in zip(names, decisions.arms, strict=True)
    ],
)
axes.set(
    xlabel="log-odds of being ill",
    ylabel="new cases",
    title="npv 0.98 and specificity 0.98, from 2% to 30%",
)
axes.legend(frameon=False)
