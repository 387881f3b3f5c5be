"""Pages of any number of classes and rows, made from the facts of a small one.

To decide about a hundred classes takes a while; how a page of them looks does not.
"""

import numpy as np

from abstain.report._steps import confusions

LONG = "Adenocarcinoma of the {side} lobe, stage {number}"


def long_names(k):
    sides = ("left upper", "right lower", "middle", "Überlappung_ohne_Leerzeichen")
    return [LONG.format(side=sides[i % 4], number=i) for i in range(k)]


def with_classes(facts, k, n_cases=400, seed=0):
    """Return facts of so many classes with long names, and so many cases."""
    rng = np.random.default_rng(seed)
    names = long_names(k)
    then, now = (rng.dirichlet(np.full(k, 4.0)) for _ in range(2))
    proba = rng.random(n_cases).round(5)
    n_steps = len(facts["steps"])
    steps = []
    for number, step in enumerate(facts["steps"]):
        matrix = rng.gamma(0.2, 2.0, (k, k)) + np.diag(n_cases * now)
        steps.append(
            {
                **step,
                **confusions(matrix),
                "error_cost": float(matrix.sum() - np.trace(matrix)),
                "proportions": now.tolist(),
                "roc": step["roc"] if k == 2 else None,
                "withheld": int(n_cases * number / n_steps),
            }
        )
    # Position k refers the first k parts of the rows.
    part = np.arange(n_cases) * n_steps // n_cases
    masks = [(2**n_steps - 1) ^ (2 ** (int(number) + 1) - 1) for number in part]
    spread = 0.02
    return {
        **facts,
        "classes": names,
        "positive": facts["positive"] if k == 2 else None,
        "operating_point": facts["operating_point"] if k == 2 else None,
        "steps": steps,
        "costs": {"errors": (1 - np.eye(k)).tolist(), "abstain": 0.0, "given": False},
        "moved": {
            **facts["moved"],
            "classes": names,
            "validation": then.tolist(),
            "target": now.tolist(),
            "interval": [[max(p - spread, 0), min(p + spread, 1)] for p in now.tolist()],
        },
        "cases": {
            **facts["cases"],
            "ids": [f"P{number:06d}" for number in range(n_cases)],
            "groups": None if facts["groups"] is None else [0] * n_cases,
            "predictions": [names[i] for i in rng.integers(k, size=n_cases)],
            "columns": ["probability of the prediction"],
            "proba": proba[:, None].tolist(),
            "steps": masks,
        },
    }
