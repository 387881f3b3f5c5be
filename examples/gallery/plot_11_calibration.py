"""
Calibration first
=================

Everything here reads a probability of 0.8 as *right in eight of ten cases*. Many
models do not mean that when they say it. What goes wrong if one believes them?
"""

# %%
# A model that is too sure of itself
# ----------------------------------
# Naive Bayes takes each pixel of a digit for independent evidence, and so it counts
# the same evidence many times over. A third of the digits train it, a third are the
# validation data, a third are new.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from abstain import Abstainer, Cost
from abstain.plots import ReliabilityDisplay

X, y = load_digits(return_X_y=True)
X_train, X, y_train, y = train_test_split(
    X, y, test_size=2 / 3, stratify=y, random_state=0
)
X_val, X_new, y_val, y_new = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)
model = GaussianNB(var_smoothing=1e-3).fit(X_train, y_train)
p_val, p_new = model.predict_proba(X_val), model.predict_proba(X_new)

# %%
# A look costs a tenth of a mistake
# ---------------------------------
# So a digit should be withheld where the model is wrong more often than once in ten.
# ``calibration="identity"`` takes the model at its word, ``"bcts"`` learns from the
# validation data what its word is worth. ``shift="none"``: nothing moved.

found = {}
for calibration in ("identity", "bcts"):
    abstainer = Abstainer(
        "accuracy",
        cost=Cost(abstain=0.1),
        calibration=calibration,
        shift="none",
        random_state=0,
    )
    decisions = found[calibration] = abstainer.fit(p_val, y_val).decide(p_new)
    wrong = (decisions.prediction != y_new) & ~decisions.abstain
    withheld = decisions.abstain.sum()
    print(f"{calibration}: {withheld} withheld, {wrong.sum()} mistakes left")

# %%
# The model is right in 89 of 100 cases, and says 99:

for calibration, decisions in found.items():
    sure = decisions.proba.max(axis=1)
    right = decisions.prediction == y_new
    print(f"{calibration}: mean confidence {sure.mean():.2f}, right {right.mean():.2f}")

# %%
# Said and done
# -------------
# How often the most likely digit is the right one, against how sure the model was.

figure, axes = plt.subplots(nrows=2, figsize=(4.8, 8.6), layout="constrained")
for ax, (calibration, title) in zip(
    axes,
    {"identity": "As the model says", "bcts": "After calibration"}.items(),
    strict=True,
):
    ReliabilityDisplay.from_predictions(y_new, found[calibration].proba, ax=ax)
    ax.set_title(title)
plt.show()

# sphinx_gallery_start_ignore
cost = {}
for calibration, decisions in found.items():
    wrong = (decisions.prediction != y_new) & ~decisions.abstain
    cost[calibration] = 0.1 * decisions.abstain.sum() + wrong.sum()
assert cost["bcts"] < 0.75 * cost["identity"]
# sphinx_gallery_end_ignore

# %%
# **What to conclude:** believing the model, 19 digits are withheld and 51 mistakes
# stay, while calibrated probabilities withhold 174 and leave 20, which at the price
# of a tenth of a mistake for a look is cheaper by more than a quarter.
