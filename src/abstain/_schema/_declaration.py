"""The schema of a policy file: every key, and what its value must be.

A key that ends in ``?`` may be left out; files of the first versions lack it. Sizes by name are
those of the same file: ``classes`` how many there are, ``rows`` and ``knots`` how many their part
has. A key that is written into a file is declared here, or the file does not load.
"""

from __future__ import annotations

from typing import Any

from abstain._schema._agreement import agree
from abstain._schema._kinds import (
    Constant,
    Either,
    Flag,
    Kind,
    Labels,
    Number,
    Numbers,
    OneOf,
    Sizes,
    Text,
    Whole,
)
from abstain._schema._records import ByName, ListOf, MadeByOthers, MapOf, Record
from abstain._schema._versions import FORMAT

__all__ = ["POLICY", "conforming"]

NAME = Text(least=1)
# The name of a metric may hold a matrix of costs.
LONG_NAME = Text(2**20, least=1)
SHARE = Number(0, 1)
# A weight or a cost: sums and squares of many of them stay finite.
MOST = 1e100
AMOUNT = Number(0, MOST)


def amounts(*shape: str) -> Numbers:
    """Return the kind of weights or costs."""
    return Numbers(*shape, low=0, high=MOST)


def proportions(*shape: str, plain: bool = False) -> Numbers:
    """Return the kind of numbers that sum to 1."""
    return Numbers(*shape, low=0, high=1, sums=True, plain=plain)


SCALE = OneOf("probabilities", "logits")
PER_CLASS = Numbers("classes")
MATRIX = Numbers("classes", "classes")

SCALING = Record({"scale": SCALE, "slope_": PER_CLASS, "bias_": PER_CLASS})
CALIBRATION = ByName(
    "name",
    {
        "bcts": SCALING,
        "beta": SCALING,
        "dirichlet": Record({"scale": SCALE, "matrix_": MATRIX, "bias_": PER_CLASS}),
        "identity": SCALING,
        "isotonic": Record(
            {
                "scale": SCALE,
                "thresholds_": Numbers("knots", least=0),
                "values_": Numbers("knots", low=0, high=1, least=0),
                "offsets_": Numbers("curve ends", low=0, high=2**53, whole=True, rising=True),
            }
        ),
        "nbvs": SCALING,
        "platt": SCALING,
        "temperature": SCALING,
        "vector": SCALING,
    },
    what="calibration",
)

# A threshold that is never reached is null, as JSON has no infinity.
THRESHOLD = Either(null=None, number=Number())
SCORE = Either(text=NAME, object=Record({"own": NAME}))
EDGE = Number(-1, 2)
WITHHOLD = ByName(
    "kind",
    {
        "gain-threshold": Record({"gains": MATRIX, "threshold": THRESHOLD}),
        "interval": Record({"lower": EDGE, "upper": EDGE}),
        "probability-boxes": Record(
            {
                "boxes": ListOf(
                    ListOf(
                        Whole(0),
                        Numbers("classes", low=-1, high=2),
                        Numbers("classes", low=-1, high=2),
                    ),
                    most=100_000,
                )
            }
        ),
        "score-threshold": Record(
            {
                "score": SCORE,
                "parameters": Record(
                    {
                        "priors?": proportions("classes", plain=True),
                        "seed?": Whole(0, 2**63 - 1),
                    }
                ),
                "threshold": THRESHOLD,
            }
        ),
        "top-share": Record({"k": Whole(1, 10**6), "threshold": THRESHOLD}),
    },
    what="region",
)
DECISION = ByName(
    "kind",
    {
        "argmax": Record({}),
        "best-gain": Record({"gains": MATRIX}),
        "threshold": Record({"threshold": EDGE}),
    },
    what="decision rule",
)

METRIC = MadeByOthers(
    Record(
        {
            "name": LONG_NAME,
            "solver?": OneOf("joint", "marginal"),
            "costs?": Numbers("classes", "classes", low=-MOST, high=MOST, plain=True),
            "weights?": Numbers("classes", "classes", low=0, high=MOST, plain=True),
            "estimation?": Record(
                {
                    "method?": OneOf("deterministic", "sampled"),
                    "n_samples?": Whole(1, 100_000),
                    "smoothing?": Either(null=None, list=ListOf(Whole(1, 9_999), Whole(0, 9_998))),
                    "random_state?": Either(null=None, number=Whole(0, 2**63 - 1)),
                    "bins?": Either(null=None, number=Whole(2, 2**24), text=OneOf("auto")),
                }
            ),
            "own?": Flag(),
            "greater_is_better?": Flag(),
            "binary_only?": Flag(),
        }
    ),
    most=100,
)

FOUND = Either(null=None, number=Number())
ESTIMATED = Record(
    {"value": FOUND, "interval": ListOf(FOUND, FOUND), "level?": Number(0, 1, open=True)}
)
ESTIMATE = Record({"before": ESTIMATED, "after": ESTIMATED})

BOUND = Record({"value": FOUND, "observed": FOUND, "n": Whole(0)})
CERTIFICATE = Record(
    {
        "confidence": Number(0, 1, open=True),
        "bounds": MapOf(BOUND, name=LONG_NAME, most=2**16),
        "counts": Numbers("classes", "outcomes", low=0, high=2**53, whole=True),
        "searched": Flag(),
        "prior_range": Either(
            null=None,
            list=ListOf(Numbers("classes", low=0, high=1), Numbers("classes", low=0, high=1)),
        ),
    }
)

CHECK: dict[str, Kind] = {
    "p_value": Either(null=None, number=SHARE),
    "statistic": Number(0),
    "degrees_of_freedom": Whole(0),
    "level?": SHARE,
}
# Version 0.1 stored the check alone.
ASSUMPTION = Record(
    {
        "assumed": OneOf("label-shift", "same-given-score", "no-shift", "known-proportions"),
        "check": Either(null=None, object=Record(CHECK)),
        "doubts": ListOf(Text(10_000)),
        "n_labels?": Whole(0),
    }
)

COST = Record(
    {
        "abstain": Either(number=AMOUNT, list=amounts("classes")),
        "errors": Either(null=None, list=amounts("classes", "classes")),
        "value_of_metric": Either(null=None, number=Number(0, MOST, open=True)),
    }
)
SELECTION = Record(
    {
        "budget": Either(null=None, number=Number(0, 2**53)),
        "target": Either(null=None, number=Number(), object=MapOf(Number(), name=LONG_NAME)),
        "cost": Either(null=None, object=COST),
        "score": Either(null=None, text=NAME, object=Record({"own": NAME})),
        "decision": OneOf("auto", "argmax", "optimal"),
    }
)

Keys = dict[str, Kind]
FROM: Keys = {"source_priors?": OneOf("mean-probability", "label-frequency")}
PRIOR_ROWS: Keys = {"prior_rows?": AMOUNT}
CALIBRATED: Keys = {"calibrated_on_source?": Either(flag=Flag(), text=OneOf("auto"))}
PULLED: Keys = {"regularisation?": AMOUNT}
PARAMETERS: dict[str, Keys] = {
    "auto": FROM | PRIOR_ROWS | CALIBRATED | {"level?": SHARE},
    "bbse-hard": FROM,
    "bbse-soft": FROM,
    "em": FROM
    | PRIOR_ROWS
    | CALIBRATED
    | {
        "algorithm?": OneOf("newton", "em"),
        "warm_start?": Flag(),
        "max_iter?": Whole(1, 100_000),
    },
    "known": FROM | {"priors": Either(number=SHARE, list=proportions("classes", plain=True))},
    "none": FROM,
    "rlls-hard": FROM | PULLED,
    "rlls-soft": FROM | PULLED,
}
SHIFT = ByName(
    "name",
    {name: Record({"parameters": Record(keys)}) for name, keys in PARAMETERS.items()},
    what="shift",
)

LABELLED: Keys = {
    "proba": proportions("rows", "classes"),
    "label": Numbers("rows", low=0, below="classes", whole=True),
    "weight": Either(null=None, list=amounts("rows")),
    "edges": Numbers("levels", low=0, high=1, rising=True, least=0, most=10_000),
}
SOURCE = Record(
    LABELLED
    | {"held_out?": Either(null=None, object=Record(LABELLED | {"held_out?": Constant(None)}))}
)

POLICY = Record(
    {
        "format": Constant(FORMAT),
        "schema_version": Whole(1),
        "library_version": NAME,
        "created": NAME,
        "classes": Labels(),
        "positive": Either(null=None, text=Text(), number=Number(), flag=Flag()),
        "priors": Record({"source": proportions("classes"), "target": proportions("classes")}),
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
