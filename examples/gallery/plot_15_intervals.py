"""
How often do the intervals hold?
================================

An estimate without labels comes with a 90% interval. Whether such an interval is
worth its name can be checked like any forecast: make it many times, look at the
labels afterwards, and count.
"""

# %%
# Many small studies
# ------------------
# Each time, 400 women of a survey are the validation data and 400 others the batch.
# In every second batch the share of those who tell of an affair is moved from 32 to
# 55 percent.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from statsmodels.datasets import fair

from abstain import Abstainer
from abstain.evaluation import shifted_rows
from abstain.exceptions import AssumptionWarning

data = fair.load_pandas().data
y = (data.pop("affairs") > 0).astype(int).to_numpy()
model = make_pipeline(StandardScaler(), LogisticRegression())
p = cross_val_predict(model, data, y, method="predict_proba")[:, 1]

# %%
# Promise, then look
# ------------------
# A fifth of each batch is withheld, and the auROC of the rest is promised before the
# labels are seen. Where a batch looks as if it were no label shift there is a
# warning; such batches count as well.

warnings.simplefilter("ignore", AssumptionWarning)
promised, realised = [], []
for repeat in range(32):
    rows = np.random.default_rng(repeat).permutation(len(y))
    val, rest = rows[:400], rows[400:]
    shares = [0.68, 0.32] if repeat % 2 else [0.45, 0.55]
    new = rest[
        shifted_rows(y[rest], shares, size=400, replace=False, random_state=repeat)
    ]
    abstainer = Abstainer("auroc", budget=0.2, calibration="platt", random_state=0)
    decisions = abstainer.fit(p[val], y[val]).decide(p[new])
    kept = ~decisions.abstain
    promised.append(decisions.estimate.after.interval)
    realised.append(roc_auc_score(y[new][kept], p[new][kept]))

low, high = np.array(promised).T
realised = np.array(realised)
held = (low <= realised) & (realised <= high)
print(f"{held.sum()} of {len(held)} intervals hold what came true")

# %%
# All of them, sorted
# -------------------

order = np.argsort(realised)
low, high, realised, held = low[order], high[order], realised[order], held[order]
places = np.arange(len(order))
figure, ax = plt.subplots(figsize=(6, 4.6), layout="constrained")
for which, color, name in (
    (held, "#0072B2", "interval that holds"),
    (~held, "#D55E00", "interval that does not"),
):
    ax.vlines(
        places[which], low[which], high[which], color=color, linewidth=4, label=name
    )
ax.plot(
    places,
    realised,
    "D",
    color="#E69F00",
    markeredgecolor="black",
    markersize=5,
    label="realised",
)
ax.set(xlabel="batches, sorted by what came true", ylabel="auROC of the kept rows")
ax.set_title(f"90% intervals: {held.sum()} of {len(held)} hold")
ax.set_xticks([])
ax.set_ylim(0.63, 0.97)
ax.grid(axis="y", color="0.92")
ax.legend(frameon=False, loc="upper left")
plt.show()

# sphinx_gallery_start_ignore
assert 27 <= held.sum() <= 31
# sphinx_gallery_end_ignore

# %%
# **What to conclude:** 29 of 32 intervals hold what came true, with and without label
# shift, which is what 90% promises within the play of chance.
