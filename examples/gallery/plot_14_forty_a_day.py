"""
Forty cases a day
=================

A rule has been chosen. From now on loan applications come in day by day, and two
people can look at forty of them each day. Quiet days need fewer. Then, one day,
another kind of applicant arrives and the rule asks for more than the two can do.
"""

# %%
# A rule, made once
# -----------------
# NannyML's car loans. The rule is made from the labelled log and its last month: it
# withholds 15% of such applications. ``policy.save("rule.json")`` would put it into a
# file.

import warnings
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.dates import DateFormatter

from abstain import Abstainer
from abstain.exceptions import AssumptionWarning
from abstain.monitoring import RateController

folder = Path(find_spec("nannyml").submodule_search_locations[0]) / "datasets" / "data"
log = pd.read_csv(folder / "synthetic_car_loan_reference.csv").tail(10_000)
later = pd.read_csv(
    folder / "synthetic_car_loan_analysis.csv", parse_dates=["timestamp"]
)
repaid = pd.read_csv(folder / "synthetic_car_loan_analysis_target.csv")["repaid"]

abstainer = Abstainer(
    "accuracy", budget=0.15, positive=1, calibration="platt", random_state=0
)
abstainer.fit(log["y_pred_proba"], log["repaid"])
policy = abstainer.decide(log["y_pred_proba"].tail(5_000)).policy
print(policy)

# %%
# Six weeks, in two ways
# ------------------------
# ``apply(..., at_most=40)`` takes a day's cases at once, and of those that the rule
# withholds the forty most pressing. ``RateController`` sees them one at a time, as
# they come, and must say at once; it widens or narrows the rule so that the share
# withheld stays what was asked for.

warnings.simplefilter("ignore", AssumptionWarning)  # it sees the new applicants, too
days = later[later["timestamp"].between("2019-03-11", "2019-04-20")]
controller = RateController(policy, log["y_pred_proba"].tail(5_000), rate=0.15)
asked, looked_at, one_by_one = [], [], []
for _, today in days.groupby(days["timestamp"].dt.date):
    decisions = policy.apply(today["y_pred_proba"], at_most=40)
    looked_at.append(decisions.abstain.sum())
    asked.append(decisions.abstain.sum() + decisions.over_capacity.sum())
    one_by_one.append(
        controller.decide(today["y_pred_proba"]).abstain.sum()
    )  # in their order

# %%
# How many each day
# -----------------

figure, ax = plt.subplots(figsize=(6, 4.2), layout="constrained")
dates = sorted(set(days["timestamp"].dt.date))
ax.plot(dates, asked, color="#D55E00", linestyle=":", label="the rule asks for")
ax.plot(dates, looked_at, color="#0072B2", label="the forty most pressing")
ax.plot(
    dates,
    one_by_one,
    color="#009E73",
    alpha=0.9,
    label="one at a time, 15% in the long run",
)
ax.axhline(40, color="black", linewidth=1, linestyle="--")
ax.set(ylabel="cases referred", title="Forty a day, also when the applicants change")
ax.set_ylim(0, None)
ax.xaxis.set_major_formatter(DateFormatter("%d %b"))
ax.grid(color="0.92")
ax.legend(frameon=False)
plt.show()

# sphinx_gallery_start_ignore
assert max(looked_at) == 40
assert np.mean(asked[:20]) < 35
assert np.mean(asked[-15:]) > 45
assert abs(controller.abstention_rate - 0.15) < 0.01
# sphinx_gallery_end_ignore

# %%
# **What to conclude:** when the applicants change, the rule asks for more than forty
# a day, the most pressing forty remain forty, and the controller stays at its share
# by letting cases pass that it would have referred before.
