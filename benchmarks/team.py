"""What model and reader come to together, on real readers: ``python -m benchmarks.team``.

One reader is drawn per case, half of the cases measure him, and the other half are decided about.
Errors in percent (or 100 less the metric) by share referred. ABSTAIN_DATA names a folder with
``readers/``; of tweets the truth is the majority of the annotators left.
"""

import argparse
import os
import warnings
from pathlib import Path

import numpy as np

from abstain import Abstainer
from abstain.metrics import get

SHARES = (0.05, 0.1, 0.2, 0.3, 0.9999)
METHODS = {
    "confidence": {"team": "replace", "score": "max-probability"},
    "codoc": {"team": "replace", "score": "codoc"},
    "replace": {"team": "replace"},
    "combine": {"team": "combine"},
}


def drawn(votes, rng):
    """Return one answer per case, and what votes are left."""
    shares = (votes / votes.sum(axis=1, keepdims=True)).cumsum(axis=1)
    answers = (rng.random((len(votes), 1)) > shares[:, :-1]).sum(axis=1)
    return answers, votes - np.eye(votes.shape[1], dtype=votes.dtype)[answers]


def readers(folder, rng):
    """Yield each set: its name, scores, their scale, truth and answers."""
    found = np.load(folder / "hate_speech_votes.npz")
    answers, left = drawn(found["votes"], rng)
    clear = (left.sum(axis=1) >= 2) & ((left == left.max(axis=1, keepdims=True)).sum(axis=1) == 1)
    logits = found["logits"][clear]
    yield "tweets", logits, "logits", left.argmax(axis=1)[clear], answers[clear]
    for name in ("cifar10h_resnet110", "cifar10h_weak"):
        found = np.load(folder / f"{name}.npz")
        answers, _ = drawn(found["votes"], rng)
        yield name, found["proba"], "probabilities", found["y"], answers


def one_split(scores, scale, y, answers, metric, rng):
    """Return the realised metric of each method at each share, model and reader alone."""
    n_classes, mixed = scores.shape[1], rng.permutation(len(y))
    own, new = np.array_split(mixed, 2)
    rows, table = np.eye(n_classes)[y[new]], {}

    def value(columns):
        return metric.observed(y[new], rows, prediction=columns)

    for name, settings in METHODS.items():
        fitted = Abstainer(
            metric, budget=0.5, scale=scale, shift="none", calibration="temperature",
            random_state=0, **settings,
        ).fit(scores[own], y[own], classes=range(n_classes), reviewer=answers[own])  # fmt: skip
        for share in SHARES:
            decisions = fitted.set_params(budget=share).decide(scores[new])
            final = decisions.policy.combine(scores[new], answers[new])
            table[name, share] = value(final)
            table[f"{name}, referred", share] = decisions.abstain.mean()
            inside = decisions.estimate.after.holds(table[name, share])
            table[f"{name}, inside", share] = inside
        table["model", 0.0] = value(decisions.columns)
    table["reader", 1.0] = value(answers[new])
    return table


def main():
    """Print a table for each set and metric."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--metric", action="append")
    parser.add_argument("--only")
    given = parser.parse_args()
    folder = Path(os.environ["ABSTAIN_DATA"]) / "readers"
    warnings.simplefilter("ignore")
    for name in given.metric or ("accuracy", "balanced-accuracy", "f1:macro"):
        metric, found = get(name), {}
        for split in range(given.splits):
            rng = np.random.default_rng(split)
            for of, *rest in readers(folder, rng):
                if given.only in (None, of):
                    table = one_split(*rest, metric, rng)
                    for place, value in table.items():
                        found.setdefault(of, {}).setdefault(place, []).append(value)
        for of, table in found.items():
            mean = {place: np.mean(values) for place, values in table.items()}
            model, reader = (100 - 100 * mean[one] for one in (("model", 0.0), ("reader", 1.0)))
            print(f"\n{of}, 100 less {name}: model {model:.2f}, reader {reader:.2f}")
            print("".join(["at most".ljust(12), *(f"{share:>18.0%}" for share in SHARES)]))
            for method in METHODS:
                cells = [
                    f"{100 - 100 * mean[method, share]:.2f} "
                    f"({mean[f'{method}, referred', share]:.0%}, "
                    f"{mean[f'{method}, inside', share]:.0%})"
                    for share in SHARES
                ]
                print("".join([method.ljust(12), *(f"{cell:>18}" for cell in cells)]))
            print("In brackets: the share referred; how often the 90% interval held.", flush=True)


if __name__ == "__main__":
    main()
