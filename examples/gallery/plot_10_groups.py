"""
Who is referred? Groups side by side
====================================

A rule that is good on average can be hard on a few. Before it is used, look at each
group: how many of them are referred, and what the metric is for those who are not.

The data: the passengers of the Titanic, as NannyML ships them; 891 to learn from, 418
new ones.
"""

# %%
# A model of who survived
# -----------------------
# The files lie in the installed package of NannyML; nothing of it needs to run.

import warnings
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from abstain import Abstainer
from abstain.evaluation import evaluate
from abstain.exceptions import AssumptionWarning

folder = Path(find_spec("nannyml").submodule_search_locations[0]) / "datasets" / "data"
known = pd.read_csv(folder / "titanic_reference.csv")
new = pd.read_csv(folder / "titanic_analysis.csv")
survived = pd.read_csv(folder / "titanic_target.csv")["Survived"]


def features(people):
    """Return what the model may read, as numbers."""
    chosen = people[["Pclass", "Age", "SibSp", "Parch"]].assign(
        female=people["Sex"] == "female"
    )
    return chosen.fillna({"Age": known["Age"].median()}).astype(float)


learn, validate = train_test_split(
    known, test_size=0.5, stratify=known["Survived"], random_state=0
)
model = make_pipeline(StandardScaler(), LogisticRegression())
model.fit(features(learn), learn["Survived"])

# %%
# Refer a fifth
# -------------

abstainer = Abstainer("accuracy", budget=0.2, calibration="platt", random_state=0)
abstainer.fit(model.predict_proba(features(validate)), validate["Survived"])
decisions = abstainer.decide(model.predict_proba(features(new)))
print(decisions)

# %%
# Group by group
# --------------
# ``evaluate`` takes any grouping, of columns that the model has seen or not. It would
# warn of groups with few rows; the intervals in the picture say the same.

warnings.simplefilter("ignore", AssumptionWarning)

groups = new["Sex"].str.cat(
    new["Pclass"].map({1: "1st class", 2: "2nd class", 3: "3rd class"}), ", "
)
found = evaluate(decisions, survived, groups=groups)
print(found.to_frame()[["group", "n", "abstention_rate", "all", "kept"]].round(2))

# %%
# The same as a picture
# ---------------------

names = sorted(found.groups)
each = [found.groups[name]["accuracy"] for name in names]
places = np.arange(len(names))
kept = np.array([one.kept for one in each])
reach = np.abs(np.array([one.kept_interval for one in each]).T - kept)
figure, (left, right) = plt.subplots(
    ncols=2, sharey=True, figsize=(6.4, 4), layout="constrained"
)
left.barh(places, [100 * one.abstention_rate for one in each], color="#E69F00")
left.axvline(
    100 * decisions.abstention_rate, color="#4D4D4D", linestyle="--", label="all"
)
left.set(title="Who is referred", xlabel="referred, in percent")
left.set_yticks(
    places, [f"{name}\n{one.n} people" for name, one in zip(names, each, strict=True)]
)
left.invert_yaxis()
left.legend(frameon=False, loc="lower right")
right.errorbar(
    kept, places, xerr=reach, fmt="o", color="#0072B2", capsize=3, label="kept"
)
right.plot([one.all for one in each], places, "D", color="#4D4D4D", label="all")
right.set(title="How good is the rest", xlabel="accuracy, 90% interval")
right.legend(frameon=False, loc="lower left")
right.grid(axis="x", color="0.92")
plt.show()

# sphinx_gallery_start_ignore
share = dict(zip(names, (one.abstention_rate for one in each), strict=True))
assert min(share["female, 3rd class"], share["male, 1st class"]) > 0.5
assert max(share["female, 1st class"], share["male, 3rd class"]) == 0
gained = dict(zip(names, (one.kept - one.all for one in each), strict=True))
assert -0.03 < gained["female, 3rd class"] < 0 < 0.1 < gained["male, 1st class"]
# sphinx_gallery_end_ignore

# %%
# **What to conclude:** more than half of the women of the third class and of the men
# of the first are referred and nobody of the largest group, the men of the third,
# and the women of the third class gain nothing by it.
