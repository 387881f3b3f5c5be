"""Labels that came back selectively: bias and coverage of the figures that are made of them.

``python -m benchmarks.selective`` deploys one rule a thousand times on 3,000 rows, of which the
referred and an audit of 5% of the others get labels: under label shift, and where the ill look
otherwise than they did, which no proportions explain. ``RUNS=100`` makes it a tenth as many.
"""

import os
import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from abstain import Abstainer, Policy
from abstain.audit import Audit, SelectedLabels
from abstain.evaluation import evaluate

RUNS = int(os.environ.get("RUNS", "1000"))
ROWS, SHARE = 3_000, 0.05
# A share of the ill in the batch, and how much lower they score than those of the validation data.
SETTINGS = {"label shift": (0.2, 0.0), "the ill look otherwise": (0.2, 1.0)}
FIGURES = ("labels as they came", "without labels", "inverse probability", "doubly robust")


def cases(
    n: int, ill: float, lower: float, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return logits, a column per class, and labels."""
    y = (rng.uniform(size=n) < ill).astype(np.intp)
    score = rng.normal(2.2 * y - 1.1 - lower * y, 1.0)
    return np.column_stack([np.zeros(n), 2 * score]), y


def rule() -> tuple[Policy, Abstainer]:
    """Return a rule for accuracy, made on a batch of label shift."""
    rng = np.random.default_rng(0)
    abstainer = Abstainer("accuracy", budget=0.15, scale="logits", random_state=0)
    abstainer.fit(*cases(2_000, 0.5, 0.0, rng), classes=[0, 1])
    return abstainer.decide(cases(ROWS, 0.2, 0.0, rng)[0]).policy, abstainer


def run(policy: Policy, ill: float, lower: float, seed: int) -> dict[str, list[object]]:
    """Return the value and the interval of each figure of the kept rows of one batch."""
    rng = np.random.default_rng([seed, 1])
    scores, y = cases(ROWS, ill, lower, rng)
    ids = [f"{seed}-{row}" for row in range(ROWS)]
    decisions = policy.apply(scores, audit=Audit(SHARE, ids, key=bytes(16)))
    came = np.array(y, dtype=object)
    labelled = decisions.abstain | decisions.audit
    came[~labelled] = None
    found = evaluate(decisions, came, selected=True)
    # What whoever looks at all labels that there are takes for the accuracy.
    right = (decisions.prediction == y)[labelled]
    naive, error = right.mean(), 1.645 * right.std() / np.sqrt(len(right))
    own = found.selected["accuracy"]["all"]
    before = found.estimated_before
    parts = [
        (naive, (naive - error, naive + error)),
        *(
            (one.value, one.interval)
            for one in (before, own.inverse_probability, own.doubly_robust)
        ),
    ]
    broken = any(one.broken for one in found.promises.values())
    return {"parts": [[value, *ends] for value, ends in parts], "broken": [broken]}


def told(policy: Policy, ill: float, lower: float) -> Iterator[str]:
    """Yield bias, coverage and width of each figure for the accuracy of all rows."""
    scores, y = cases(1_000_000, ill, lower, np.random.default_rng(1))
    everyone = policy.rows(scores)
    truth = float((everyone.prediction == y).mean())
    runs = [run(policy, ill, lower, seed) for seed in range(RUNS)]
    table = np.array([one["parts"] for one in runs], dtype=np.float64)
    for name, (value, low, high) in zip(FIGURES, table.transpose(1, 2, 0), strict=True):
        held = np.mean((low <= truth) & (truth <= high))
        yield (
            f"{name:<20} bias {value.mean() - truth:+.4f}, interval of 90% held {held:.3f}, "
            f"width {np.median(high - low):.3f}"
        )
    yield f"a promise called broken in {sum(one['broken'][0] for one in runs)} of {RUNS}"


def proportions(policy: Policy, abstainer: Abstainer) -> Iterator[str]:
    """Yield how far the class proportions are off where the labels are given as ``y_target``."""
    errors = []
    for seed in range(RUNS // 10):
        scores, y = cases(ROWS, 0.2, 0.0, np.random.default_rng([seed, 2]))
        decisions = policy.apply(scores, audit=Audit(SHARE, [f"{seed}-{k}" for k in range(ROWS)]))
        came = np.array(y, dtype=object)
        came[~(decisions.abstain | decisions.audit)] = None
        given = (None, came, SelectedLabels(came, decisions.label_probability))
        priors = [abstainer.decide(scores, y_target=one).priors[1] for one in given]
        errors.append(np.array(priors) - y.mean())
    off = np.abs(errors).mean(axis=0)
    names = ("without labels", "labels as they came", "as selected")
    yield ", ".join(f"{name} {one:.4f}" for name, one in zip(names, off, strict=True))


def main() -> None:
    """Print a table for each setting."""
    warnings.simplefilter("ignore")  # that the model is wrong is what is measured
    policy, abstainer = rule()
    for name, (ill, lower) in SETTINGS.items():
        print(f"{name}:", *told(policy, ill, lower), sep="\n  ", flush=True)
    print("error of the share of the ill:", *proportions(policy, abstainer), sep="\n  ")


if __name__ == "__main__":
    main()
