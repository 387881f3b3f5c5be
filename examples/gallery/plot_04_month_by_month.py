"""
The accuracy of each month, before its labels arrive
====================================================

Whether a car loan is repaid is known years later. What the model's accuracy is *this*
month has to be estimated from its scores. NannyML ships such a log: 50,000 loans with
labels, then 50,000 more in which something happens.
"""

# %%
# The log
# -------
# The files lie in the installed package of NannyML; nothing of it needs to run.

from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import abstain

folder = Path(find_spec("nannyml").submodule_search_locations[0]) / "datasets" / "data"
reference = pd.read_csv(folder / "synthetic_car_loan_reference.csv").tail(10_000)
later = pd.read_csv(
    folder / "synthetic_car_loan_analysis.csv", parse_dates=["timestamp"]
)
repaid = pd.read_csv(folder / "synthetic_car_loan_analysis_target.csv")["repaid"]

# %%
# One estimate per month
# ----------------------
# The model's predictions are given for both sets, as they were made. What may have
# happened to the scores of a month is weighed; ``found.assumption`` says in words how
# probable what is.

months, found, truth = [], [], []
for month, rows in later.groupby(later["timestamp"].dt.to_period("M")):
    if len(rows) < 1_000:
        continue  # the log begins and ends in the middle of a month
    one = abstain.estimate(
        reference["y_pred_proba"],
        reference["repaid"],
        rows["y_pred_proba"],
        "accuracy",
        prediction_val=reference["y_pred"],
        prediction=rows["y_pred"],
        positive=1,
        random_state=0,
    )
    months.append(month)
    found.append(one)
    truth.append((rows["y_pred"] == repaid[rows.index]).mean())
    print(month, one["accuracy"], f"true {truth[-1]:.3f}", one.assumption.summary())

# %%
# The picture of the year
# -----------------------

blue, orange, grey = "#0072B2", "#E69F00", "#4D4D4D"
values = np.array([one["accuracy"].value for one in found])
ends = np.array([one["accuracy"].interval for one in found]).T
places = np.arange(len(months))
figure, ax = plt.subplots(figsize=(6, 4.4), layout="constrained")
ax.fill_between(
    places, *ends, color=blue, alpha=0.15, linewidth=0, label="90% interval"
)
ax.plot(places, values, "o-", color=blue, label="estimated without labels")
ax.plot(
    places,
    truth,
    "D",
    color=orange,
    markeredgecolor="black",
    label="true, known years later",
)
at_validation = (reference["y_pred"] == reference["repaid"]).mean()
ax.axhline(at_validation, color=grey, linestyle=":", label="at validation")
ax.set_xticks(places, [month.strftime("%b %y") for month in months], rotation=45)
ax.set(
    ylabel="accuracy", title="The model gets worse, and no label was needed to see it"
)
ax.set_ylim(0.89, 0.97)
ax.grid(color="0.92")
ax.legend(frameon=False, ncols=2)
plt.show()

# sphinx_gallery_start_ignore
inside = sum(low <= true <= high for true, low, high in zip(truth, *ends, strict=True))
assert inside == 8
likeliest = [max(one.assumption.worlds, key=one.assumption.worlds.get) for one in found]
assert likeliest == 5 * ["nothing"] + 5 * ["scores"]
assert len(months) == 10
assert values[:5].min() > 0.935
assert values[5:].max() < 0.92
# sphinx_gallery_end_ignore

# %%
# **What to conclude:** the fall from 94 to 91 percent is seen in the very month it
# happens, without labels, and so is the reason (the mix of scores moved), and in eight
# of ten months the true accuracy lies within the 90% interval.
