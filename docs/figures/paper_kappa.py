"""The paper's Figure D.1: sampled kappa comes to the deterministic one as draws are added."""

import matplotlib.pyplot as plt
import numpy as np

from abstain.paper import EXPERIMENTS, Options

found = EXPERIMENTS["kappa-convergence"](Options(repeats=3))
m = np.array(found.n_samples)
mean = found.differences.mean(axis=0)

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.loglog(m, found.differences.T, color="#56B4E9", linewidth=1, alpha=0.7)
axes.loglog(m, mean, color="#0072B2", marker="o", label="mean of three simulations")
axes.loglog(
    m, mean[0] / np.sqrt(m), color="#4D4D4D", linestyle="--", label="one over the root of M"
)
axes.set(xlabel="label vectors M", ylabel="mean absolute difference of kappa")
axes.legend(frameon=False)
