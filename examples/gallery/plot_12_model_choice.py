"""
The best model knows when it does not know
==========================================

Models are usually compared by how they do on *every* case. If some cases go to a
person anyway, that is the wrong contest. What counts is how a model does on the rest,
and whether it knows which those are.
"""

# %%
# Two measurements of wine
# ------------------------
# Alcohol and ash say roughly which of three growers a wine is from. The models are
# nearest neighbours, of one wine or of many. One neighbour is always sure; fifteen
# may be of several minds.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from abstain import AbstainingClassifier
from abstain.classifier import abstention_scorer
from abstain.exceptions import AssumptionWarning

X, y = load_wine(return_X_y=True)
X = X[:, [0, 2]]  # alcohol, ash
model = make_pipeline(StandardScaler(), KNeighborsClassifier())
neighbours = [1, 3, 5, 9, 15, 25]

# %%
# A grid search that knows of the person
# --------------------------------------
# ``abstention_scorer`` is a scorer like any other of scikit-learn: it withholds what
# helps most, within the budget, and returns the metric of the rest.

search = GridSearchCV(
    model,
    {"kneighborsclassifier__n_neighbors": neighbours},
    scoring={
        "nobody": abstention_scorer("accuracy", 0.0),
        "two fifths": abstention_scorer("accuracy", 0.4),
    },
    cv=RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0),
    refit="two fifths",
).fit(X, y)
print(search.best_params_)

# %%
# The best model, with its doubts
# -------------------------------
# :class:`abstain.AbstainingClassifier` trains the model, calibrates it by
# cross-fitting and finds the rule. ``abstains`` then says of any wine whether it goes
# to a person.

classifier = AbstainingClassifier(
    search.best_estimator_, "accuracy", budget=0.4, random_state=0
)
classifier.fit(X, y)

figure, (above, below) = plt.subplots(nrows=2, figsize=(6, 8), layout="constrained")
curves = {}
for name, color, marker in (("two fifths", "#0072B2", "o"), ("nobody", "#4D4D4D", "v")):
    curves[name] = search.cv_results_[f"mean_test_{name}"]
    above.plot(
        neighbours, curves[name], color=color, marker=marker, label=f"{name} withheld"
    )
above.set(xlabel="neighbours that vote", ylabel="accuracy of the kept, cross-validated")
above.set_title("Doubts are worth something")
above.grid(color="0.92")
above.legend(frameon=False)

alcohol, ash = np.meshgrid(np.linspace(11, 15, 160), np.linspace(1.3, 3.3, 120))
plane = np.column_stack([alcohol.ravel(), ash.ravel()])
colors = ["#56B4E9", "#D55E00", "#009E73"]
# The wines of a grid are made up, and no sample of real ones: no wonder that it warns.
warnings.simplefilter("ignore", AssumptionWarning)
grower = classifier.predict(plane).reshape(alcohol.shape)
doubt = classifier.abstains(plane).reshape(alcohol.shape)
below.contourf(alcohol, ash, grower, [-0.5, 0.5, 1.5, 2.5], colors=colors, alpha=0.3)
below.contourf(alcohol, ash, doubt, [0.5, 1.5], colors=["white"], alpha=0.85)
below.scatter(*X.T, c=y, cmap=ListedColormap(colors), edgecolor="black", s=25)
below.set(xlabel="alcohol", ylabel="ash", title="White: ask a person")
plt.show()

# sphinx_gallery_start_ignore
assert curves["nobody"][0] == curves["two fifths"][0]
assert min(curves["two fifths"][-2:] - curves["nobody"][-2:]) > 0.07
# sphinx_gallery_end_ignore

# %%
# **What to conclude:** one neighbour, which is always sure, gains nothing when two
# fifths of the wines go to a person, while fifteen or more, which know their doubts,
# gain at least seven points of accuracy.
