"""Write policies of every kind with the library as it is, to be loaded by every later one.

``python tests/policies/make.py tests/policies/0.2.0`` makes a folder once, when a version is
released; it is never written again. What a version cannot make is named and left out. Folders are
of versions, or of the commits between them that changed what a file holds.
"""

import inspect
import json
import sys
from pathlib import Path

import numpy as np

from abstain import Abstainer, metrics

NAMES = np.array(["crow", "jay", "rook"])
# Rows of the batch lie on the edges of what is withheld, where the last digit decides: what is
# written down is about other rows.
N_VALIDATION, N_TARGET, N_NEW = 36, 18, 18
# What the files are signed with; no secret.
KEY = b"the key of the kept policy files"


def cases():
    """Return the parameters of each policy, and the labels of its classes."""
    binary, several = np.array(["ill", "well"]), NAMES
    sensitivity = "sensitivity@specificity=0.8"
    yield "platt", sensitivity, {"budget": 0.2, "scale": "logits"}, np.array([0, 1])
    yield "identity", "auroc", {"budget": 5}, binary
    yield "isotonic", "f1", {"budget": 0.2, "decision": "optimal"}, np.array([False, True])
    yield "beta", "accuracy", {"target": 0.8}, np.array([1.5, 2.5])
    yield "temperature", "accuracy", {"budget": 0.2, "scale": "logits"}, several
    yield "bcts", "kappa:quadratic", {"budget": 0.2, "decision": "optimal"}, np.array([3, 1, 2])
    yield "vector", "balanced-accuracy", {"budget": 0.2, "score": "js-divergence"}, several
    yield "nbvs", "accuracy", {"budget": 0.2, "score": "entropy"}, several
    yield "dirichlet", "kappa", {"cost": 0.3}, several
    yield "auto", "auroc", {"budget": 0.2, "score": "class-thresholds"}, binary
    yield "temperature", "top-k=2", {"budget": 0.2}, several
    proven = {"confidence": 0.8, "target": {"sensitivity": 0.4, "specificity": 0.4}}
    yield "platt", "balanced-accuracy", {**proven, "shift": "bbse-soft"}, binary
    yield "platt", "own", {"budget": 0.2, "score": "max-probability"}, binary
    yield "identity", "own-sampled", {"budget": 0.2}, several
    # Scores of both classes, the positive one first.
    yield "bcts", "f1", {"budget": 0.2, "positive": "cancer"}, np.array(["cancer", "healthy"])


def data(n_classes, scale):
    """Return scores and labels of validation rows, scores of the batch, and of new rows."""
    rng = np.random.default_rng(n_classes)
    codes = np.arange(N_VALIDATION + N_TARGET + N_NEW) % n_classes
    logits = np.round(rng.normal(size=(len(codes), n_classes)), 2)
    logits[np.arange(len(codes)), codes] += 1
    if n_classes == 2:
        logits = logits[:, 1] - logits[:, 0]
    scores = logits
    if scale == "probabilities":
        odds = np.exp(logits)
        scores = odds / (1 + odds) if n_classes == 2 else odds / odds.sum(axis=1, keepdims=True)
        scores = np.round(scores, 4)
        if n_classes > 2:
            scores[:, -1] = np.round(1 - scores[:, :-1].sum(axis=1), 4)
    parts = np.split(scores, [N_VALIDATION, N_VALIDATION + N_TARGET])
    return parts[0], codes[:N_VALIDATION], *parts[1:]


def made(calibration, metric, options, classes):
    """Return the policy of a case and what it says of new rows."""
    if "cost" in options:
        from abstain import Cost

        options = {**options, "cost": Cost(options["cost"])}
    if metric == "own":
        metric = metrics.ConfusionMetric(lambda C: float(np.trace(C) / C.sum()), name="own")
    elif metric == "own-sampled":
        metric = metrics.SampledMetric(
            lambda y, p: float(p[np.arange(len(y)), y].mean()), name="own-sampled", n_samples=20
        )
    scores_val, codes, batch, scores = data(len(classes), options.get("scale", "probabilities"))
    if "positive" in options:
        scores_val, batch, scores = (
            np.column_stack([one, 1 - one]).round(4) for one in (scores_val, batch, scores)
        )
        codes = 1 - codes
    elif len(classes) == 2 and "positive" in inspect.signature(Abstainer).parameters:
        options = {**options, "positive": classes[1]}
    abstainer = Abstainer(metric, calibration=calibration, random_state=0, **options)
    decisions = abstainer.fit(scores_val, classes[codes], classes=classes).decide(batch)
    again = decisions.policy.apply(scores)
    return decisions.policy, {
        "scores": scores.tolist(),
        "abstain": again.abstain.astype(int).tolist(),
        "prediction": again.prediction.tolist(),
        "proba": np.round(again.proba[:, -1], 9).tolist(),
    }


def main(folder):
    """Write each policy that can be made, and what they say."""
    folder.mkdir()
    expected = {}
    for calibration, metric, options, classes in cases():
        how = options.get("score") or next(iter({"budget", "target", "cost"} & {*options}))
        name = f"{calibration}-{metric}-{how}".translate(str.maketrans(":@=", "---"))
        try:
            policy, expected[name] = made(calibration, metric, options, classes)
            policy.save(folder / f"{name}.json", key=KEY)
        except Exception as error:
            expected.pop(name, None)
            print(f"left out: {name}: {type(error).__name__}: {error}")
    lines = [f"{json.dumps(name)}: {json.dumps(said)}" for name, said in expected.items()]
    (folder / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
