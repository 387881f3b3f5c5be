"""
Costs: a review against a missed case
=====================================

Nobody gave a budget. But a second look costs something, a false alarm costs more, and
a missed cancer costs most. Then there is nothing to choose: withhold a case exactly
where the look is cheaper than the mistake to be expected.
"""

# %%
# Scores that leave much to decide
# --------------------------------
# Texture and smoothness of a tumour tell malignant from benign only roughly.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from abstain import Abstainer, Cost

data = load_breast_cancer(as_frame=True)
X = data.data[["mean texture", "mean smoothness"]]
y = 1 - data.target.to_numpy()  # 1 is malignant
model = make_pipeline(StandardScaler(), LogisticRegression())
p = cross_val_predict(model, X, y, cv=10, method="predict_proba")[:, 1]
p_val, p_new, y_val, y_new = train_test_split(
    p, y, test_size=0.5, stratify=y, random_state=0
)

# %%
# One price list for every price of a look
# ----------------------------------------
# Row i, column j of ``errors`` is what it costs to call class i class j: a false
# alarm 100, a missed cancer 1,000. ``shift="none"``, since both halves come from one
# hospital.

errors = np.array([[0, 100], [1000, 0]])
prices = np.array([5, 10, 20, 30, 40, 60, 80, 100])
referred, paid = [], []
for price in prices:
    abstainer = Abstainer(
        "accuracy",
        cost=Cost(abstain=price, errors=errors),
        calibration="platt",
        shift="none",
        random_state=0,
    )
    decisions = abstainer.fit(p_val, y_val).decide(p_new)
    bill = np.where(decisions.abstain, price, errors[y_new, decisions.prediction])
    referred.append(decisions.abstention_rate)
    paid.append(bill.mean())
    print(f"a look at {price}: {referred[-1]:.0%} referred, {paid[-1]:.1f} per patient")
nobody = errors[y_new, decisions.prediction].mean()

# %%
# What is paid in the end
# -----------------------
# Compared with two rules that need no model of uncertainty: look at everybody, or at
# nobody and predict what is cheapest.

figure, (above, below) = plt.subplots(
    nrows=2, sharex=True, height_ratios=[2, 1], figsize=(6, 6), layout="constrained"
)
above.plot(prices, prices, "^:", color="#D55E00", label="look at everybody")
above.axhline(nobody, color="#4D4D4D", linestyle="--", label="look at nobody")
above.plot(prices, paid, "o-", color="#0072B2", label="look where it pays")
above.set(
    ylabel="cost per patient, realised", title="What a patient costs", ylim=(0, None)
)
below.plot(prices, 100 * np.array(referred), "o-", color="#0072B2")
below.set(xlabel="price of a look", ylabel="referred, in percent", ylim=(0, 100))
for ax in (above, below):
    ax.grid(color="0.92")
above.legend(frameon=False)
plt.show()

# sphinx_gallery_start_ignore
saved = np.minimum(prices, nobody) - paid
assert (saved[3:-1] > 1).all()
assert referred[0] > 0.95
assert referred[-1] == 0
# sphinx_gallery_end_ignore

# %%
# **What to conclude:** a cheap look is worth taking at nearly everybody, one at the
# price of a false alarm at nobody, and in between, from 30 to 80, looking where it
# pays costs less than either.
