"""Risk-coverage curves: how the error of the kept rows falls as more are withheld."""

import matplotlib.pyplot as plt
import numpy as np

from abstain import Abstainer
from abstain.datasets import screening_clinic
from abstain.evaluation import risk_coverage

clinic = screening_clinic(random_state=0)
abstainer = Abstainer("accuracy", budget=0.15, calibration="platt", scale="logits", random_state=0)
decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
wrong = (decisions.prediction != clinic.y_target).astype(float)
scores = {
    "least probable first": 1 - decisions.proba.max(axis=1),
    "at random": np.random.default_rng(0).uniform(size=len(wrong)),
    "the best there is": wrong,
}

figure, axes = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
colors = ("#0072B2", "#4D4D4D", "#009E73")
for (name, score), color in zip(scores.items(), colors, strict=True):
    curve = risk_coverage(wrong, score)
    axes.plot(
        curve.coverage, curve.selective_risk, color=color, label=f"{name}: AURC {curve.aurc:.3f}"
    )
axes.set(xlabel="coverage: share kept", ylabel="error rate of the kept", ylim=(-0.005, 0.25))
axes.grid(color="0.92")
axes.legend(frameon=False)
