"""Six months of a clinic whose patients change: a frozen rule, adapted, and kept at a rate."""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from abstain import Abstainer
from abstain.datasets import screening_clinic
from abstain.evaluation import shifted_rows
from abstain.monitoring import RateController

clinic = screening_clinic(5_000, 12_000, random_state=0)
abstainer = Abstainer(
    "sensitivity@specificity=0.9", budget=0.1, calibration="platt", scale="logits", random_state=0
)
abstainer.fit(clinic.scores_val, clinic.y_val)
prevalence = np.array([0.10, 0.10, 0.15, 0.22, 0.30, 0.35])
months = [
    clinic.scores_target[
        shifted_rows(clinic.y_target, [1 - p, p], size=1_000, replace=False, random_state=n)
    ]
    for n, p in enumerate(prevalence)
]
policy = abstainer.decide(months[0]).policy
controller = RateController(policy, months[0], rate=0.1, step=0.01)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it withholds more than its budget, which is the point
    lines = {
        "the frozen rule": [policy.apply(month).abstain.mean() for month in months],
        "RateController": [controller.decide(month).abstain.mean() for month in months],
    }
    adapted = [policy.adapt(month) for month in months]
    shares = [one.apply(month).abstain.mean() for one, month in zip(adapted, months, strict=True)]
    lines["adapted every month"] = shares

figure, (top, bottom) = plt.subplots(nrows=2, figsize=(7, 5.4), sharex=True, layout="constrained")
at = np.arange(1, len(months) + 1)
top.plot(at, 100 * prevalence, color="#4D4D4D", linestyle="--", label="true")
top.plot(
    at,
    [100 * one.priors[1] for one in adapted],
    color="#0072B2",
    marker="o",
    label="estimated without labels",
)
top.set(ylabel="percent ill", ylim=(0, 45))
top.legend(frameon=False)
for (name, each), (color, marker) in zip(
    lines.items(), (("#D55E00", "s"), ("#009E73", "^"), ("#0072B2", "o")), strict=True
):
    bottom.plot(at, 100 * np.array(each), color=color, marker=marker, label=name)
bottom.axhline(10, color="0.6", linestyle=":")
bottom.set(xlabel="month", ylabel="percent withheld", ylim=(0, 24))
bottom.legend(frameon=False)
