"""The paper's Figure 1: ROC curves after withholding 30% for each of four objectives."""

import matplotlib.pyplot as plt

from abstain.paper import EXPERIMENTS, Options

found = EXPERIMENTS["figure1"](Options())
styles = {
    "base": ("nobody withheld", "black", "-"),
    "auroc": ("for auROC", "tab:blue", "-"),
    "js-divergence": ("by JS divergence", "tab:orange", "-"),
    "sensitivity@specificity=0.9": ("for sensitivity at 90% specificity", "tab:green", "-"),
    "accuracy": ("for accuracy", "tab:red", "-"),
}

figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
for row, (label, color, line) in styles.items():
    axes.plot(*found.curves[row], color=color, linestyle=line, label=label)
axes.axvline(0.1, color="black", linestyle="--", linewidth=1)
axes.set(xlabel="1 - specificity", ylabel="sensitivity", xlim=(0, 1), ylim=(0, 1.01))
axes.legend(loc="lower right", frameon=False)
