"""The paper's Figures C.1 and C.2: how well its two algorithms for auROC agree.

The correlations are made by docs/generate_paper_tables.py.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt

path = Path("..", "paper-agreement.json")
found = json.loads(path.read_text(encoding="utf-8"))["auroc-agreement"]
figure, axes = plt.subplots(ncols=2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, (kind, values) in zip(axes, found.items(), strict=True):
    ax.hist(values, bins=30, color="#0072B2")
    ax.set(xlabel=f"{kind.capitalize()} correlation", title=f"lowest: {min(values):.4f}")
axes[0].set_ylabel("simulated datasets")
