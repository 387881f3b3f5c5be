"""Five ordered grades, withheld for quadratic kappa: where the rows of each grade go."""

import matplotlib.pyplot as plt
import numpy as np

from abstain import Abstainer
from abstain.plots import ConfusionAbstentionDisplay

rng = np.random.default_rng(0)
frequency = np.array([0.4, 0.2, 0.2, 0.1, 0.1])
y = rng.choice(5, size=4_000, p=frequency)
seen = y + rng.normal(scale=0.7, size=4_000)
# Logits of a model that knows how the grades look.
scores = np.log(frequency) - (seen[:, None] - np.arange(5)) ** 2 / (2 * 0.7**2)

abstainer = Abstainer(
    "kappa:quadratic", budget=0.2, calibration="bcts", scale="logits", random_state=0
)
decisions = abstainer.fit(scores[:2_000], y[:2_000]).decide(scores[2_000:])

figure, axes = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
ConfusionAbstentionDisplay.from_decisions(decisions, y[2_000:], ax=axes)
