"""
When a score means something else
=================================

Every estimate without labels rests on an assumption. Here it is broken: a model that
tells dear from cheap districts of California was validated mostly around Los Angeles
and is used mostly around San Francisco. What a score *means* has changed, and scores
alone cannot tell how. What does the library say?
"""

# %%
# The data
# --------
# From NannyML's installed package: scores and labels of the validation districts, and
# scores of 2,000 others. Their labels exist too, but the model's owner would not have
# them.

from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import abstain

folder = Path(find_spec("nannyml").submodule_search_locations[0]) / "datasets" / "data"
reference = pd.read_csv(folder / "california_housing_reference.csv")
later = pd.read_csv(folder / "california_housing_analysis.csv")[3_000:5_000]
y_new = pd.read_csv(folder / "california_housing_analysis_gt.csv")["clf_target"][
    3_000:5_000
]

# %%
# What it says
# ------------
# Four things that may have happened are weighed: nothing, other shares of the classes,
# another mix of scores, or both. Here the scores moved, with or without the shares, and
# the two say very different things, so the interval spans both. That none of the four
# is true, no score tells.

from_scores = abstain.estimate(
    reference["y_pred_proba"],
    reference["clf_target"],
    later["y_pred_proba"],
    "accuracy",
    prediction_val=reference["y_pred"],
    prediction=later["y_pred"],
    random_state=0,
)
print(from_scores.assumption.summary())
for world, there in from_scores.alternative.items():
    print(f"if it is {world!r}: ", there["accuracy"])

# %%
# Label some rows
# ---------------
# A hundred and fifty new districts, picked at random, are looked up. They become the
# validation data for the rest; being a sample of it, they need no adapting.

picked = np.random.default_rng(0).permutation(len(later)) < 150
few, rest = later[picked], later[~picked]
from_labels = abstain.estimate(
    few["y_pred_proba"],
    y_new[picked],
    rest["y_pred_proba"],
    "accuracy",
    prediction_val=few["y_pred"],
    prediction=rest["y_pred"],
    shift="none",
    random_state=0,
)
true = (later["y_pred"] == y_new).mean()
print("from the scores alone:  ", from_scores["accuracy"])
print("with 150 labelled rows: ", from_labels["accuracy"])
print(f"true:                    {true:.4f}")

# %%
# Before and after
# ----------------

claims = {
    "at validation": (reference["y_pred"] == reference["clf_target"]).mean(),
    "from scores alone\n(of two worlds)": from_scores["accuracy"].value,
    "with 150 labels": from_labels["accuracy"].value,
}
intervals = [from_scores["accuracy"].interval, from_labels["accuracy"].interval]
colors = ["#4D4D4D", "#D55E00", "#0072B2"]

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.axvline(true, color="black", linestyle="--", label="true")
ax.scatter(claims.values(), range(3), color=colors, s=60, zorder=3)
ax.hlines(
    [1, 2], *zip(*intervals, strict=True), color=colors[1:], linewidth=4, alpha=0.5
)
ax.set_yticks(range(3), claims)
ax.set(xlabel="accuracy in the new districts, with 90% intervals", ylim=(2.6, -0.6))
ax.set_title("What is claimed, and what is true")
ax.grid(axis="x", color="0.92")
ax.legend(frameon=False)
plt.show()

# sphinx_gallery_start_ignore
worlds = from_scores.assumption.worlds
assert min(worlds["scores"], worlds["both"]) > 0.4
assert np.diff(from_scores["accuracy"].interval) > 2 * np.diff(
    from_scores.alternative["scores"]["accuracy"].interval
)
assert from_scores["accuracy"].value - true > 0.15
assert intervals[0][0] > true
assert intervals[1][0] < true < intervals[1][1]
# sphinx_gallery_end_ignore

# %%
# **What to conclude:** where what a score means has changed in a way that no world has
# foreseen, scores alone overstate the accuracy by far, a wide interval is all the
# warning there is, and 150 random labels are enough to get the truth into it.
