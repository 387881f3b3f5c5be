"""The schema of a policy file: every key, and what its value must be.

A key that ends in ``?`` may be left out; files of the first versions lack it. Sizes by name are
those of the same file: ``classes`` how many there are, ``rows`` and ``knots`` how many their part
has. A key that is written into a file is declared here, or the file does not load.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from abstain._schema._kinds import (
    ByName,
    Constant,
    Either,
    Flag,
    Keys,
    Kind,
    Labels,
    ListOf,
    MadeByOthers,
    MapOf,
    Number,
    Numbers,
    OneOf,
    Record,
    Sizes,
    Text,
    Whole,
    shown,
)
from abstain._schema._text import FORMAT

NAME = Text(least=1)
# The name of a metric may hold a matrix of costs.
LONG_NAME = Text(2**20, least=1)
SHARE = Number(0, 1)
# A weight or a cost: sums and squares of many of them stay finite.
MOST = 1e100
AMOUNT = Number(0, MOST)


def amounts(*shape: str) -> Numbers:
    """Return the kind of weights or costs."""
    return Numbers(shape, low=0, high=MOST)


def proportions(*shape: str, plain: bool = False) -> Numbers:
    """Return the kind of numbers that sum to 1."""
    return Numbers(shape, low=0, high=1, sums=True, plain=plain)


SCALE = OneOf("probabilities", "logits")
PER_CLASS = Numbers(("classes",))
MATRIX = Numbers(("classes", "classes"))

SCALING: Keys = {"scale": SCALE, "slope_": PER_CLASS, "bias_": PER_CLASS}
CALIBRATION = ByName(
    "name",
    {
        "bcts": SCALING,
        "beta": SCALING,
        "dirichlet": {"scale": SCALE, "matrix_": MATRIX, "bias_": PER_CLASS},
        "identity": SCALING,
        "isotonic": {
            "scale": SCALE,
            "thresholds_": Numbers(("knots",), least=0),
            "values_": Numbers(("knots",), low=0, high=1, least=0),
            "offsets_": Numbers(("curve ends",), low=0, high=2**53, whole=True, rising=True),
        },
        "nbvs": SCALING,
        "platt": SCALING,
        "temperature": SCALING,
        "vector": SCALING,
    },
    what="calibration",
)

# A threshold that is never reached is null, as JSON has no infinity.
THRESHOLD = Either(null=None, number=Number())
SCORE = Either(text=NAME, object={"own": NAME})
EDGE = Number(-1, 2)
WITHHOLD = ByName(
    "kind",
    {
        "gain-threshold": {"gains": MATRIX, "threshold": THRESHOLD},
        "interval": {"lower": EDGE, "upper": EDGE},
        "probability-boxes": {
            "boxes": ListOf(
                ListOf(
                    Whole(0),
                    Numbers(("classes",), low=-1, high=2),
                    Numbers(("classes",), low=-1, high=2),
                ),
                most=100_000,
            )
        },
        "score-threshold": {
            "score": SCORE,
            "parameters": {
                "priors?": proportions("classes", plain=True),
                "seed?": Whole(0, 2**63 - 1),
            },
            "threshold": THRESHOLD,
        },
        "top-share": {"k": Whole(1, 10**6), "threshold": THRESHOLD},
    },
    what="region",
)
DECISION = ByName(
    "kind",
    {"argmax": {}, "best-gain": {"gains": MATRIX}, "threshold": {"threshold": EDGE}},
    what="decision rule",
)

METRIC = MadeByOthers(
    {
        "name": LONG_NAME,
        "solver?": OneOf("joint", "marginal"),
        "costs?": Numbers(("classes", "classes"), low=-MOST, high=MOST, plain=True),
        "weights?": Numbers(("classes", "classes"), low=0, high=MOST, plain=True),
        "estimation?": {
            "method?": OneOf("deterministic", "sampled"),
            "n_samples?": Whole(1, 100_000),
            "smoothing?": Either(null=None, list=ListOf(Whole(1, 9_999), Whole(0, 9_998))),
            "random_state?": Either(null=None, number=Whole(0, 2**63 - 1)),
            "bins?": Either(null=None, number=Whole(2, 2**24), text=OneOf("auto")),
        },
        "own?": Flag(),
        "greater_is_better?": Flag(),
        "binary_only?": Flag(),
    },
    most=100,
)

FOUND = Either(null=None, number=Number())
ESTIMATED: Keys = {
    "value": FOUND,
    "interval": ListOf(FOUND, FOUND),
    "level?": Number(0, 1, open=True),
}
ESTIMATE: Keys = {"before": ESTIMATED, "after": ESTIMATED}

BOUND = Record({"value": FOUND, "observed": FOUND, "n": Whole(0)})
CERTIFICATE: Keys = {
    "confidence": Number(0, 1, open=True),
    "bounds": MapOf(BOUND, name=LONG_NAME, most=2**16),
    "counts": Numbers(("classes", "outcomes"), low=0, high=2**53, whole=True),
    "searched": Flag(),
    "prior_range": Either(
        null=None,
        list=ListOf(Numbers(("classes",), low=0, high=1), Numbers(("classes",), low=0, high=1)),
    ),
}

CHECK: dict[str, Kind] = {
    "p_value": Either(null=None, number=SHARE),
    "statistic": Number(0),
    "degrees_of_freedom": Whole(0),
    "level?": SHARE,
}
WORLDS: dict[str, Kind] = {
    "nothing": SHARE, "label": SHARE, "scores": SHARE, "both": SHARE,
}  # fmt: skip
# Version 0.1 stored the check alone.
ASSUMPTION: Keys = {
    "assumed": OneOf(
        "weighed", "label-shift", "same-given-score", "no-shift", "known-proportions"
    ),
    "check": Either(null=None, object=CHECK),
    "doubts": ListOf(Text(10_000)),
    "n_labels?": Whole(0),
    "worlds?": Either(null=None, object=WORLDS),
    "explained?": Either(null=None, number=SHARE),
}

COST: Keys = {
    "abstain": Either(number=AMOUNT, list=amounts("classes")),
    "errors": Either(null=None, list=amounts("classes", "classes")),
    "value_of_metric": Either(null=None, number=Number(0, MOST, open=True)),
}
SELECTION: Keys = {
    "budget": Either(null=None, number=Number(0, 2**53)),
    "target": Either(null=None, number=Number(), object=MapOf(Number(), name=LONG_NAME)),
    "cost": Either(null=None, object=COST),
    "score": Either(null=None, text=NAME, object={"own": NAME}),
    "decision": OneOf("auto", "argmax", "optimal"),
}

Fields = dict[str, Kind]
FROM: Fields = {"source_priors?": OneOf("mean-probability", "label-frequency")}
PRIOR_ROWS: Fields = {"prior_rows?": AMOUNT}
CALIBRATED: Fields = {"calibrated_on_source?": Either(flag=Flag(), text=OneOf("auto"))}
PULLED: Fields = {"regularisation?": AMOUNT}
PARAMETERS: dict[str, Fields] = {
    "auto": FROM
    | PRIOR_ROWS
    | CALIBRATED
    | {"prior?": Numbers((4,), low=0, plain=True), "hedge?": SHARE, "level?": SHARE},
    "bbse-hard": FROM,
    "bbse-soft": FROM,
    "em": FROM
    | PRIOR_ROWS
    | CALIBRATED
    | {"algorithm?": OneOf("newton", "em"), "warm_start?": Flag(), "max_iter?": Whole(1, 100_000)},
    "known": FROM | {"priors": Either(number=SHARE, list=proportions("classes", plain=True))},
    "none": FROM,
    "rlls-hard": FROM | PULLED,
    "rlls-soft": FROM | PULLED,
}
SHIFT = ByName(
    "name", {name: {"parameters": keys} for name, keys in PARAMETERS.items()}, what="shift"
)

LABELLED: Fields = {
    "proba": proportions("rows", "classes"),
    "label": Numbers(("rows",), low=0, below="classes", whole=True),
    "weight": Either(null=None, list=amounts("rows")),
    "edges": Numbers(("levels",), low=0, high=1, rising=True, least=0, most=10_000),
    "thinned?": Number(1, MOST),
}
SOURCE: Keys = LABELLED | {
    "held_out?": Either(null=None, object=LABELLED | {"held_out?": Constant(None)})
}

POLICY = Record(
    {
        "format": Constant(FORMAT),
        "schema_version": Whole(1),
        "library_version": NAME,
        "created": NAME,
        "classes": Labels(),
        "positive": Either(null=None, text=Text(), number=Number(), flag=Flag()),
        "priors": {"source": proportions("classes"), "target": proportions("classes")},
        "columns": Labels(),
        "metric": METRIC,
        "estimate?": Either(null=None, object=ESTIMATE),
        "calibration": CALIBRATION,
        "decision": DECISION,
        "withhold": WITHHOLD,
        "certificate?": Either(null=None, object=CERTIFICATE),
        "assumption?": Either(null=None, object=ASSUMPTION),
        "selection?": Either(null=None, object=SELECTION),
        "shift?": Either(null=None, object=SHIFT),
        "source?": Either(null=None, object=SOURCE),
        "made_from?": {"scores": LONG_NAME, "label": LONG_NAME},
        # Of the file, not of the policy.
        "sha256?": Text(64),
        "hmac_sha256?": Text(64),
    }
)


def conforming(data: dict[str, Any]) -> dict[str, Any]:
    """Return plain data of the newest version as the schema reads them, arrays as arrays.

    Raises
    ------
    ValueError
        If a key is missing, unknown, of the wrong type, shape, size or range, or if parts do not
        agree with each other; the message names it.
    """
    sizes: Sizes = {}
    if isinstance(data, dict) and "classes" in data:
        Labels().read(data["classes"], "classes", sizes)
    found = POLICY.read(data, "", sizes)
    agree(found, sizes["classes"])
    return found


_OF_TWO_CLASSES = {"beta", "platt"}
# How many times a class may have become more frequent, so that no product is infinite.
_MOST_MOVED = 1e100
# What a score is told beside the probabilities.
_TOLD = {"random": {"seed"}, "js-divergence": {"priors"}}


def agree(data: dict[str, Any], n_classes: int) -> None:
    """Raise ``ValueError`` where parts of a policy that were read do not agree."""
    values = _classes, _priors, _calibration, _rule
    for check in (*values, _estimate, _certificate, _selection, _source):
        for complaint in check(data, n_classes):
            raise ValueError(complaint)


def _classes(data: dict[str, Any], n_classes: int) -> Iterator[str]:
    classes, columns = data["classes"].tolist(), data["columns"].tolist()
    if sorted(map(str, columns)) != sorted(map(str, classes)) or {*columns} != {*classes}:
        yield "`columns` must be the classes, in the order in which their scores come"
    positive = data["positive"]
    if positive is not None and (n_classes != 2 or classes[1] != positive):
        yield (
            f"`positive` must be null, or of two classes the second; got {shown(positive)} of "
            f"{n_classes} classes"
        )


def _priors(data: dict[str, Any], n_classes: int) -> Iterator[str]:
    source, target = data["priors"]["source"], data["priors"]["target"]
    if (target > source * _MOST_MOVED)[source > 0].any():
        yield "`priors.source` is next to nothing where `priors.target` is not"


def _calibration(data: dict[str, Any], n_classes: int) -> Iterator[str]:
    found = data["calibration"]
    if found["name"] in _OF_TWO_CLASSES and n_classes != 2:
        yield f"`calibration` {found['name']} is for two classes; there are {n_classes}"
    if found["name"] != "isotonic":
        return
    ends, knots = found["offsets_"], found["thresholds_"]
    curves = 1 if n_classes == 2 else n_classes
    if len(ends) != curves + 1 or ends[0] != 0 or ends[-1] != len(knots):
        yield (
            f"`calibration.offsets_` must be {curves + 1} numbers from 0 to the number of knots, "
            f"{len(knots)}"
        )
    falls = np.flatnonzero(np.diff(knots) < 0) + 1
    if not np.isin(falls, ends).all():
        yield "`calibration.thresholds_` must rise from each knot of a curve to the next"


def _rule(data: dict[str, Any], n_classes: int) -> Iterator[str]:
    for key, kind in (("withhold", "interval"), ("decision", "threshold")):
        if data[key]["kind"] == kind and n_classes != 2:
            yield f"`{key}` {kind} is for two classes; there are {n_classes}"
    region = data["withhold"]
    if region["kind"] == "probability-boxes":
        for i, (column, _, _) in enumerate(region["boxes"]):
            if column >= n_classes:
                yield f"`withhold.boxes[{i}]` is of class {column}; there are {n_classes}"
    if region["kind"] == "score-threshold":
        score, told = region["score"], {*region["parameters"]}
        due = _TOLD.get(score, set()) if isinstance(score, str) else set()
        if told != due:
            yield (
                f"`withhold.parameters` of {shown(score)} must be "
                f"{', '.join(due) or 'none'}; got {', '.join(told) or 'none'}"
            )


def _estimate(data: dict[str, Any], n_classes: int) -> Iterator[str]:
    for moment, found in (data.get("estimate") or {}).items():
        low, high = found["interval"]
        if (low is None) != (high is None) or (low is not None and low > high):
            yield f"`estimate.{moment}.interval` must be two numbers, the lower first, or null"
        if found["value"] is not None and low is None:
            yield f"`estimate.{moment}` has a value and no interval"


def _certificate(data: dict[str, Any], n_classes: int) -> Iterator[str]:
    found = data.get("certificate")
    if found is None:
        return
    counts = found["counts"]
    if counts.shape[1] != n_classes + 1:
        yield (
            f"`certificate.counts` must have a column for each of the {n_classes} classes and one "
            f"for what was withheld; got {counts.shape[1]}"
        )
    for name, bound in found["bounds"].items():
        if bound["n"] > counts.sum():
            yield f"`certificate.bounds.{shown(name)}` is of more examples than were counted"
    if found["prior_range"] is not None:
        low, high = found["prior_range"]
        if (low > high).any() or low.sum() > 1 or high.sum() < 1:
            yield "`certificate.prior_range` must be the lowest and the highest proportions"


def _selection(data: dict[str, Any], n_classes: int) -> Iterator[str]:
    found = data.get("selection")
    if found is None:
        return
    given = {name for name in ("budget", "target", "cost") if found[name] is not None}
    if len(given) != 1 and given != {"budget", "target"}:
        yield (
            f"`selection` must have one of budget, target and cost, or a target within a budget; "
            f"it has {len(given)}"
        )
    cost = found["cost"]
    if cost is not None and cost["errors"] is not None and cost["value_of_metric"] is not None:
        yield "`selection.cost` must have errors or the value of the metric, not both"


def _source(data: dict[str, Any], n_classes: int) -> Iterator[str]:
    found = data.get("source")
    while found is not None:
        if found["weight"] is not None and not found["weight"].sum() > 0:
            yield "`source.weight` must be above 0 for some row"
        found = found.get("held_out")
