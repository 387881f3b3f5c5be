"""Label shift: the scores of each class stay, how many there are of each does not."""

import matplotlib.pyplot as plt
import numpy as np

from abstain.datasets import screening_clinic

clinic = screening_clinic(random_state=0)
bins = np.linspace(-16, 0, 33)
figure, axes = plt.subplots(ncols=3, figsize=(12, 3.6), layout="constrained", sharex=True)
for ax, scores, y, title in (
    (axes[0], clinic.scores_val, clinic.y_val, "validation: 1 in 10 is ill"),
    (axes[1], clinic.scores_target, clinic.y_target, "batch: 1 in 3 is ill"),
):
    for label, color, name in ((0, "#56B4E9", "healthy"), (1, "#D55E00", "ill")):
        ax.hist(scores[y == label], bins, color=color, alpha=0.6, label=name)
    ax.set(title=title, xlabel="logit", ylabel="patients")
for scores, y, style in (
    (clinic.scores_val, clinic.y_val, "-"),
    (clinic.scores_target, clinic.y_target, "--"),
):
    for label, color in ((0, "#56B4E9"), (1, "#D55E00")):
        density, _ = np.histogram(scores[y == label], bins, density=True)
        axes[2].stairs(density, bins, color=color, linestyle=style, linewidth=1.5)
axes[2].plot([], [], "k-", label="validation")
axes[2].plot([], [], "k--", label="batch")
axes[2].set(title="each class by itself: the same", xlabel="logit", ylabel="density")
for ax in axes:
    ax.legend(frameon=False, loc="upper left")
