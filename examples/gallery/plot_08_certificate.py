"""
A target with a proof
=====================

*At least nine in ten of those at work, and nine in ten of those who are not, must be
told right, and we have to be able to prove it.* That is a target with a certificate:
the labels choose the rule and prove it, for all rules that they could have chosen.
Under label shift the proof holds at **every** share of positives.

The data: the American Community Survey in Massachusetts, as NannyML ships it. A model
predicts who is employed; labels are there for 2015.
"""

# %%
# Three thousand labels of 2015
# -----------------------------
# The files lie in the installed package of NannyML; nothing of it needs to run.

from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from abstain import Abstainer
from abstain.evaluation import shifted_rows

folder = Path(find_spec("nannyml").submodule_search_locations[0]) / "datasets" / "data"
columns = ["id", "year", "predicted_probability"]
reference = pd.read_parquet(
    folder / "employment_MA_reference.pq", columns=[*columns, "employed"]
)
later = pd.read_parquet(folder / "employment_MA_analysis.pq", columns=columns)
later = later.merge(
    pd.read_parquet(folder / "employment_MA_analysis_target.pq"), on="id"
)

labelled = reference.sample(3_000, random_state=0)
batch = later[later["year"] == 2016].sample(3_000, random_state=0)

# %%
# Ask for both rates, and for 90% confidence
# ------------------------------------------

abstainer = Abstainer(
    "auroc",
    target={"sensitivity": 0.9, "specificity": 0.9},
    confidence=0.9,
    calibration="platt",
    random_state=0,
)
abstainer.fit(labelled["predicted_probability"], labelled["employed"])
decisions = abstainer.decide(batch["predicted_probability"])
print(decisions)
print(decisions.certificate)

# %%
# Does it hold?
# -------------
# The rule is frozen in ``decisions.policy``. We apply it to all rows of three years,
# and to draws of 2016 in which far fewer or far more people are employed.

batches = {str(year): part for year, part in later.groupby("year")}
everybody = batches["2016"]
for share in (0.2, 0.8):
    drawn = shifted_rows(
        everybody["employed"], [1 - share, share], size=20_000, random_state=0
    )
    batches[f"2016, {share:.0%} employed"] = everybody.iloc[drawn]

table = []
for name, rows in batches.items():
    found = decisions.policy.rows(rows["predicted_probability"])
    right = pd.Series(found.prediction == rows["employed"].to_numpy())[~found.abstain]
    each = right.groupby(rows["employed"].to_numpy()[~found.abstain]).mean()
    table.append((name, found.abstention_rate, each[1], each[0]))
table = pd.DataFrame(table, columns=["rows", "withheld", "sensitivity", "specificity"])
print(table.round(3).to_string(index=False))

# %%
# The picture: nothing to the left of the line
# --------------------------------------------

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
places = range(len(table))
ax.axvline(0.9, color="black", linestyle="--", label="promised of both")
ax.plot(
    table["sensitivity"],
    places,
    "o",
    color="#D55E00",
    markersize=9,
    label="sensitivity",
)
ax.plot(
    table["specificity"],
    places,
    "s",
    color="#0072B2",
    markersize=8,
    label="specificity",
)
ax.set_yticks(places, table["rows"].str.replace(", ", "\n"))
ax.set(xlabel="rate among the kept", xlim=(0.88, 0.96), ylim=(4.6, -0.6))
ax.set_title("The certified rule on rows it has not seen")
ax.grid(axis="x", color="0.92")
ax.legend(frameon=False, loc="lower right")
plt.show()

# sphinx_gallery_start_ignore
assert table[["sensitivity", "specificity"]].min().min() > 0.9
assert decisions.abstention_rate < 0.4
# sphinx_gallery_end_ignore

# %%
# **What to conclude:** withholding a third of the people or fewer, the rule keeps both
# promises in three later years, and also where only a fifth, or as many as four
# fifths, are employed.
