"""
Ten classes: which confusions go to a person
============================================

With two classes a withheld case lies between them. With ten, it lies between two or
three of many. A confusion matrix with one more column shows where the withheld cases
come from.
"""

# %%
# A model in a hurry
# ------------------
# Naive Bayes reads handwritten digits quickly and not very well: a third of the
# digits train it, a third are the validation data, a third are new.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from abstain import Abstainer
from abstain.evaluation import evaluate
from abstain.plots import ConfusionAbstentionDisplay

X, y = load_digits(return_X_y=True)
X_train, X, y_train, y = train_test_split(
    X, y, test_size=2 / 3, stratify=y, random_state=0
)
X_val, X_new, y_val, y_new = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)
model = GaussianNB(var_smoothing=1e-3).fit(X_train, y_train)

# %%
# Withhold a fifth of the new digits
# ----------------------------------
# Naive Bayes is far too sure of itself. The calibration that ``fit`` does is what
# makes its scores comparable across digits.

abstainer = Abstainer("accuracy", budget=0.2, random_state=0)
abstainer.fit(model.predict_proba(X_val), y_val)
decisions = abstainer.decide(model.predict_proba(X_new))
realised = evaluate(decisions, y_new).realised["accuracy"]
print("estimated for the kept digits:", decisions.estimate.after)
print(f"realised: {realised.all:.3f} of all, {realised.kept:.3f} of the kept")

# %%
# Where the digits go
# -------------------
# Each cell says how many are kept of how many there were. The last column is what
# goes to a person.

figure, ax = plt.subplots(figsize=(6.4, 6), layout="constrained")
display = ConfusionAbstentionDisplay.from_decisions(decisions, y_new, ax=ax)
plt.show()

# %%
errors = display.before.sum() - display.before.trace()
left = display.kept.sum() - display.kept.trace()
share = display.withheld / display.before.sum(axis=1)
print(f"{errors:.0f} errors before, {left:.0f} left")
print(
    "withheld of each digit:",
    dict(zip(range(10), share.round(2).tolist(), strict=True)),
)

# sphinx_gallery_start_ignore
assert share.argmax() == 8
assert share[8] > 0.6
assert left < 0.5 * errors
assert display.kept[1, 9] == display.before[1, 9] == 8
# sphinx_gallery_end_ignore

# %%
# **What to conclude:** two thirds of the eights go to a person, since the model takes
# them for many other digits, and more than half of all mistakes go with what is
# withheld; but the ones that it takes for nines stay, because of those it is sure.
