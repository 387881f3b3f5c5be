"""Reliability of the clinic's model: its raw scores, and the same rows calibrated."""

import matplotlib.pyplot as plt
from scipy.special import expit

from abstain import calibration
from abstain.datasets import screening_clinic
from abstain.plots import ReliabilityDisplay

clinic = screening_clinic(random_state=0)
fitted, held_out = slice(0, 2500), slice(2500, 5000)
platt = calibration.get("platt", scale="logits")
platt.fit(clinic.scores_val[fitted], clinic.y_val[fitted])

figure, (left, right) = plt.subplots(ncols=2, figsize=(9, 4), layout="constrained")
truth, scores = clinic.y_val[held_out], clinic.scores_val[held_out]
ReliabilityDisplay.from_predictions(truth, expit(scores), ax=left)
left.set_title("Raw scores")
ReliabilityDisplay.from_predictions(truth, platt.predict_proba(scores), ax=right)
right.set_title("Calibrated (platt)")
