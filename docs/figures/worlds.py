"""Four things that may have happened to a batch: what each does to scores, and what is found."""

import matplotlib.pyplot as plt
import numpy as np

from abstain.shift import AutoShift

rng = np.random.default_rng(0)


def cases(n):
    """Scores that mean what they say: P(ill) is that of the logit."""
    logit = rng.normal(-0.5, 2, size=n)
    return logit, rng.uniform(size=n) < 1 / (1 + np.exp(-logit))


def both_columns(logit):
    p = 1 / (1 + np.exp(-logit))
    return np.column_stack([1 - p, p])


validation, ill = cases(2_000)
others, ill_others = cases(30_000)
fewer_ill = np.where(ill_others, 0.25, 1.0)
fewer_sure = 0.25 + 0.75 * np.exp(-((others / 2) ** 2))
kept = {
    "nothing moved\n": np.ones(len(others)),
    "label shift:\nfewer of the ill": fewer_ill,
    "the scores alone moved:\nfewer of the clear cases": fewer_sure,
    "both\n": fewer_ill * fewer_sure,
}

names = ["nothing", "label", "scores", "both"]
bins = np.linspace(-7, 7, 29)
figure, axes = plt.subplots(
    2, 4, figsize=(12, 4.6), layout="constrained", height_ratios=[2.4, 1], sharex="row"
)
for column, (title, share) in enumerate(kept.items()):
    batch = others[rng.uniform(size=len(others)) < share][:1_000]
    found = AutoShift().fit(both_columns(validation), both_columns(batch), ill.astype(int))
    top, bottom = axes[:, column]
    top.hist(batch, bins, density=True, color="#56B4E9", alpha=0.7, label="batch")
    density, _ = np.histogram(validation, bins, density=True)
    top.stairs(density, bins, color="black", linewidth=1.5, label="validation")
    top.set(title=title, xlabel="logit", ylim=(0, 0.38), yticks=[])
    weights = found.world_weights_
    colors = ["#D55E00" if k == column else "0.75" for k in range(4)]
    bars = bottom.barh(names, weights, color=colors)
    bottom.bar_label(bars, [f"{weight:.0%}" for weight in weights], padding=3)
    bottom.set(xlim=(0, 1.25), xticks=[], xlabel="weight found")
    bottom.invert_yaxis()
    bottom.spines[["top", "right", "bottom"]].set_visible(False)
axes[0, 0].set_ylabel("density")
axes[0, 0].legend(frameon=False, loc="upper left")
