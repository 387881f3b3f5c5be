"""The same budget spent for accuracy and for the metric, and what each buys."""

import matplotlib.pyplot as plt

from abstain import Abstainer
from abstain.datasets import screening_clinic
from abstain.plots import AbstentionCurveDisplay, RegionDisplay

clinic = screening_clinic(random_state=0)
figure, (left, middle, right) = plt.subplots(ncols=3, figsize=(12, 3.8), layout="constrained")
for ax, score, title in (
    (left, "max-probability", "By the largest probability: around 0.5"),
    (middle, None, "For sensitivity at 99% specificity"),
):
    abstainer = Abstainer(
        "sensitivity@specificity=0.99",
        budget=0.15,
        score=score,
        calibration="platt",
        scale="logits",
        random_state=0,
    )
    decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    RegionDisplay.from_decisions(decisions, clinic.y_target, ax=ax)
    ax.set(title=title, yscale="log", ylim=(20, 30_000))
AbstentionCurveDisplay.from_decisions(
    decisions,
    clinic.y_target,
    budgets=(0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3),
    methods=("delta-metric", "max-probability", "random"),
    ax=right,
)
right.set(title="What the budget buys", ylabel="sensitivity of the kept rows", ylim=(0, 0.45))
