"""
A budget: which fifteen of a hundred cases to look at
=====================================================

A model reads two measurements of a breast tumour and says how likely it is malignant.
A pathologist has time to look again at 15 of every 100 cases. Which ones?

The obvious answer, those near a probability of 0.5, is not the best one. It depends
on what the model is judged by: here the **sensitivity at a specificity of 0.9**, the
share of cancers that are found when at most one healthy patient in ten gets a false
alarm.
"""

# %%
# Scores for a validation half and for a new half
# -----------------------------------------------
# Two of the thirty features leave something to decide. Each score comes from a model
# that has not seen the case. The labels of the second half stay hidden until the end.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from abstain import Abstainer
from abstain.evaluation import evaluate
from abstain.plots import RegionDisplay

data = load_breast_cancer(as_frame=True)
X = data.data[["mean texture", "mean area"]]
y = data.target.map({0: "malignant", 1: "benign"})
model = make_pipeline(StandardScaler(), LogisticRegression())
p = cross_val_predict(model, X, y, cv=10, method="predict_proba")[
    :, 1
]  # of "malignant"
p_val, p_new, y_val, y_new = train_test_split(
    p, y, test_size=0.5, stratify=y, random_state=0
)

# %%
# Decide
# ------
# ``fit`` calibrates the scores on the labelled half. ``decide`` sees scores alone: it
# estimates what withholding any stretch of them would do to the metric, and takes the
# best within the budget.

abstainer = Abstainer(
    "sensitivity@specificity=0.9", budget=0.15, positive="malignant", random_state=0
)
decisions = abstainer.fit(p_val, y_val).decide(p_new)
print(decisions)
print("estimated without labels, all cases: ", decisions.estimate.before)
print("estimated without labels, kept cases:", decisions.estimate.after)

# %%
# Who goes to the pathologist
# ---------------------------
# The labels come out, and say what came true.

realised = evaluate(decisions, y_new).realised["sensitivity@specificity=0.9"]
print(f"realised: {realised.all:.2f} of all cases, {realised.kept:.2f} of the kept")

display = RegionDisplay.from_decisions(decisions, y_new)
display.ax_.set_title("Who is withheld: 15% of the new cases")
plt.show()

# sphinx_gallery_start_ignore
((first, last),) = display.stretches
assert round(first, 2) == 0.19
assert round(last, 2) == 0.40
assert realised.all < 0.9 < 0.95 < realised.kept
# sphinx_gallery_end_ignore

# %%
# **What to conclude:** the cases worth a second look here have a probability of 0.19
# to 0.40, not one around 0.5, and giving them to the pathologist raises the
# sensitivity of the rest from 0.87 to 0.96.
