"""
Label shift, made and undone
============================

A model is validated where a third of the cases are positive, and used where there are
more of them, or fewer. What a positive looks like has not changed, only how many
there are: that is *label shift*. It makes the accuracy measured at validation wrong.
It can be undone without a new label.
"""

# %%
# A shift of our own making
# -------------------------
# From the second half of a survey (who tells of an affair) we draw batches of 900
# women in which 10 to 70 percent say yes. In the whole survey it is 32 percent.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from statsmodels.datasets import fair

import abstain
from abstain.evaluation import shifted_rows
from abstain.exceptions import AssumptionWarning

data = fair.load_pandas().data
y = (data.pop("affairs") > 0).astype(int).to_numpy()
model = make_pipeline(StandardScaler(), LogisticRegression())
p = cross_val_predict(model, data, y, method="predict_proba")[:, 1]
p_val, p_new, y_val, y_new = train_test_split(
    p, y, test_size=0.5, stratify=y, random_state=0
)

shares = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
batches = [
    shifted_rows(y_new, [1 - share, share], size=900, replace=False, random_state=0)
    for share in shares
]

# %%
# Estimate the accuracy of each batch from its scores
# ---------------------------------------------------
# :func:`abstain.estimate` finds the share of positives of the batch, adapts the
# probabilities, and says what accuracy to expect of the model's own predictions.
# Nothing is withheld here. That it is label shift it is not told: that the scores moved
# by themselves is weighed too, and as these scores are weak, an ``AssumptionWarning``
# says of some batches how far their shares are open.

warnings.simplefilter("ignore", AssumptionWarning)
found = [
    abstain.estimate(
        p_val, y_val, p_new[rows], "accuracy", calibration="platt", random_state=0
    )
    for rows in batches
]
truth = [np.mean((p_new[rows] >= 0.5) == y_new[rows]) for rows in batches]
for share, one, true in zip(shares, found, truth, strict=True):
    print(
        f"{share:.0%} positive, found {one.priors[1]:.0%};",
        one["accuracy"],
        f"true {true:.3f}",
    )

# %%
# Two pictures: how many, and how good
# ------------------------------------

blue, orange, grey = "#0072B2", "#E69F00", "#4D4D4D"
figure, (above, below) = plt.subplots(
    nrows=2, sharex=True, figsize=(6, 7), layout="constrained"
)
percent = 100 * shares
above.plot(
    percent, percent, "D", color=orange, markeredgecolor="black", zorder=3, label="true"
)
above.plot(
    percent, [100 * one.priors[1] for one in found], "o-", color=blue, label="estimated"
)
above.axhline(100 * y_val.mean(), color=grey, linestyle=":", label="at validation")
above.set(ylabel="positives, in percent", title="How many positives there are")
values = np.array([one["accuracy"].value for one in found])
ends = np.array([one["accuracy"].interval for one in found]).T
below.plot(
    percent, truth, "D", color=orange, markeredgecolor="black", zorder=3, label="true"
)
below.errorbar(
    percent,
    values,
    abs(ends - values),
    color=blue,
    marker="o",
    capsize=4,
    label="estimated, 90% interval",
)
at_validation = np.mean((p_val >= 0.5) == y_val)
below.axhline(at_validation, color=grey, linestyle=":", label="at validation")
below.set(xlabel="share of positives in the batch, in percent", ylabel="accuracy")
below.set_title("How good the model is there")
for ax in (above, below):
    ax.grid(color="0.92")
    ax.legend(frameon=False)
plt.show()

# sphinx_gallery_start_ignore
assert all(low <= true <= high for true, low, high in zip(truth, *ends, strict=True))
assert max(abs(np.array(truth) - at_validation)) > 0.15
# sphinx_gallery_end_ignore

# %%
# **What to conclude:** the accuracy measured at validation is right only where the
# proportions are those of validation, while the estimate follows the truth from 10 to
# 70 percent without labels.
