"""The same batch from scores as they come, and from calibrated ones."""

import warnings

import matplotlib.pyplot as plt

from abstain import Abstainer
from abstain.datasets import screening_clinic
from abstain.plots import ReliabilityDisplay

clinic = screening_clinic(random_state=0)
figure, axes = plt.subplots(ncols=3, figsize=(12, 3.9), layout="constrained")
for ax, calibration, color, name in (
    (axes[0], "identity", "#4D4D4D", "as they come"),
    (axes[1], "platt", "#0072B2", "calibrated"),
):
    abstainer = Abstainer(
        "accuracy",
        budget=0.15,
        calibration=calibration,
        shift="em",
        scale="logits",
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that these scores cannot be trusted is the point
        decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    fitted = abstainer.calibrator_.predict_proba(clinic.scores_val)
    ReliabilityDisplay.from_predictions(clinic.y_val, fitted, ax=ax)
    ax.set_title(f"validation, scores {name}")
    axes[2].barh(name, decisions.priors[1], color=color, height=0.5)
axes[2].axvline(clinic.y_target.mean(), color="#D55E00", linestyle="--", label="true share")
axes[2].set(title="batch: what follows from them", xlabel="share of ill patients, estimated")
axes[2].legend(frameon=False, loc="center left")
