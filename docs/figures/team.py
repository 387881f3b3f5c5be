"""The final answers by what may be referred: combined, taken for the verdict, by confidence."""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from abstain import Abstainer

rng = np.random.default_rng(0)


def cases(n, right):
    y = (rng.random(n) < 0.4).astype(int)
    logit = (2 * y - 1) + 1.1 * rng.normal(size=n)
    return 1.6 * logit, y, np.where(rng.random(n) < right, y, 1 - y)


WAYS = {
    "combine": {"team": "combine"},
    "replace": {"team": "replace"},
    "replace, by confidence": {"team": "replace", "score": "max-probability"},
}
BUDGETS = [0.0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 0.95]
figure, both = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for axes, right in zip(both, (0.9, 0.75), strict=True):
    scores, y, answers = cases(3_000, right)
    new, truth, said = cases(3_000, right)
    for (name, way), colour in zip(WAYS.items(), ("#0072B2", "#D55E00", "0.5"), strict=True):
        abstainer = Abstainer("accuracy", budget=0.1, scale="logits", calibration="platt",
                              shift="none", random_state=0, **way)  # fmt: skip
        abstainer.fit(scores, y, reviewer=answers)
        reached = []
        for budget in BUDGETS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                policy = abstainer.set_params(budget=budget).decide(new).policy
                reached.append((policy.combine(new, said) == truth).mean())
        axes.plot(100 * np.array(BUDGETS), reached, color=colour, label=name)
    axes.axhline((said == truth).mean(), color="0.6", linestyle=":")
    axes.set(xlabel="may be referred, %", title=f"a reader right in {right:.0%}")
both[0].set_ylabel("accuracy of the final answers")
both[1].legend(frameon=False, loc="lower left")
