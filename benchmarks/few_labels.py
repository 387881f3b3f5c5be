"""How much a number of labels tells: the table of the page *Limits*.

``python -m benchmarks.few_labels`` estimates two metrics of the simulated clinic from fewer and
more labelled rows, over 100 seeds, and what a saved rule estimates beside the decisions it came
from, over 40.
"""

import warnings
from collections.abc import Iterator

import numpy as np

import abstain
from abstain import Abstainer, metrics
from abstain.datasets import screening_clinic
from abstain.evaluation import evaluate

METRICS = ("auroc", "sensitivity@specificity=0.9")
LABELS, ROWS = (50, 200, 1_000, 5_000), 1_000
SEEDS, RULES = 100, 40
SETTINGS = {"calibration": "platt", "scale": "logits", "random_state": 0}


def labels(n: int) -> Iterator[str]:
    """Yield width and coverage by metric, and the error of the class proportion."""
    widths: dict[str, list[float]] = {name: [] for name in METRICS}
    held: dict[str, list[bool]] = {name: [] for name in METRICS}
    off = []
    for seed in range(SEEDS):
        clinic = screening_clinic(n, ROWS, random_state=seed)
        found = abstain.estimate(
            clinic.scores_val, clinic.y_val, clinic.scores_target, METRICS, **SETTINGS
        )
        # Both metrics are of the order, which squeezing keeps.
        p = 1 / (1 + np.exp(-clinic.scores_target / 20))
        for name in METRICS:
            low, high = found[name].interval
            realised = metrics.get(name).observed(clinic.y_target, p)
            widths[name].append(high - low)
            held[name].append(low <= realised <= high)
        off.append(abs(found.priors[1] - clinic.y_target.mean()))
    for name in METRICS:
        yield f"{name}: width {np.median(widths[name]):.3f}, held {sum(held[name])} of {SEEDS}"
    yield f"error of the share {np.mean(off):.3f}"


def rules() -> Iterator[str]:
    """Yield the errors of what decisions and a saved rule estimate of the kept rows."""
    for name in METRICS:
        errors = []
        for seed in range(RULES):
            clinic = screening_clinic(2_000, 2_000, random_state=seed)
            abstainer = Abstainer(name, budget=0.15, **SETTINGS)
            decided = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
            applied = decided.policy.apply(clinic.scores_target)
            realised = evaluate(decided, clinic.y_target).realised[name].kept
            errors.append([one.estimate.after.value - realised for one in (decided, applied)])
        decide, apply = np.abs(errors).mean(axis=0)
        yield f"{name} of the kept: error {decide:.3f} by decide, {apply:.3f} by a saved rule"


def main() -> None:
    """Print both."""
    warnings.simplefilter("ignore")  # that 50 labels are few is what is measured
    for n in LABELS:
        print(f"{n} labelled rows:", *labels(n), sep="\n  ", flush=True)
    print(*rules(), sep="\n")


if __name__ == "__main__":
    main()
