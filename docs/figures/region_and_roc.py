"""What is withheld for sensitivity at 90% specificity: on the histogram and on the ROC curve."""

import matplotlib.pyplot as plt

from abstain import Abstainer
from abstain.datasets import screening_clinic
from abstain.plots import RegionDisplay, RocAbstentionDisplay

clinic = screening_clinic(random_state=0)
abstainer = Abstainer(
    "sensitivity@specificity=0.9", budget=0.15, calibration="platt", scale="logits", random_state=0
)
decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)

figure, (left, right) = plt.subplots(ncols=2, figsize=(9, 4), layout="constrained")
RegionDisplay.from_decisions(decisions, clinic.y_target, ax=left)
RocAbstentionDisplay.from_decisions(decisions, clinic.y_target, ax=right)
