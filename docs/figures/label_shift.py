"""Label shift in the clinic: class proportions, and what adapting does to the probabilities."""

import matplotlib.pyplot as plt
import numpy as np

from abstain import calibration
from abstain.datasets import screening_clinic
from abstain.plots import PriorsDisplay
from abstain.shift import MaximumLikelihoodShift

clinic = screening_clinic(random_state=0)
platt = calibration.get("platt", scale="logits").fit(clinic.scores_val, clinic.y_val)
source = platt.predict_proba(clinic.scores_val)
target = platt.predict_proba(clinic.scores_target)
adapted = MaximumLikelihoodShift().fit(source, target, clinic.y_val).transform(target)

figure, (left, right) = plt.subplots(ncols=2, figsize=(9, 4), layout="constrained")
PriorsDisplay.from_predictions(
    clinic.y_val, source, target, y_target=clinic.y_target, classes=[0, 1], ax=left
)
left.set_xticks([0, 1], ["healthy", "ill"])

# Of the patients whom a probability is near, how many are ill?
edges = np.linspace(0, 1, 11)
middles = (edges[:-1] + edges[1:]) / 2
for proba, label, style in (
    (target, "as at validation", ("#D55E00", "s")),
    (adapted, "adapted", ("#0072B2", "o")),
):
    place = np.clip(np.digitize(proba[:, 1], edges) - 1, 0, 9)
    rows = np.bincount(place, minlength=10)
    some = rows > 0
    ill = np.bincount(place, clinic.y_target, 10)[some] / rows[some]
    right.plot(middles[some], ill, color=style[0], marker=style[1], label=label)
right.plot([0, 1], [0, 1], color="0.7", linestyle="--", label="what is said is so")
right.set(xlabel="probability of being ill", ylabel="share that is ill", title="In the new batch")
right.legend(frameon=False)
