"""Strategies for policy files: changed where a file can be changed, and whole again to look at.

A policy is plain data, so a change is one of a node of a tree. The checksum is that of what was
changed: what is tried is the reading, not the checksum.
"""

import copy
import json
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from abstain import Abstainer, Cost, metrics
from abstain._schema import checksum

FOLDERS = Path(__file__).parent.parent / "policies"

NAMES = [
    "cost:/etc/hostname", "cost:", "cost", "cost:[[0,1],[5,0]]", "cost:[[[[[[", "../x",
    "kappa:/etc/passwd", "/dev/zero", "file:///etc/hostname", "accuracy", "auroc", "fbeta:1e300",
    "fbeta:-1", "top-k=99999999999999999999", "top-k=2", "sensitivity", "specificity", "f1:macro",
    "net-benefit=1", "kappa:[[0,1],[2,0]]", "sensitivity@specificity=nan", "__class__", "random",
    "class-thresholds", "dropout-variance", "js-divergence", "entropy", "auto", "identity", "em",
    "isotonic", "platt", "probability-boxes", "top-share", "logits", "probabilities", "known",
    "none", "optimal", "NaN", "Infinity", "-Infinity", "1", "", " ", "\x00", "\ud800", "é",
    "a" * 2_000,
]  # fmt: skip
NUMBERS = [
    0, 1, -1, 2, 3, 7, 0.5, -0.5, 1e-300, 5e-324, 1e-17, 1e17, 1e99, 1e101, 1e300, 1.7e308,
    -1.7e308, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**30, 10**400, float("inf"), float("nan"),
    True, False,
]  # fmt: skip


_NOTHING = object()


def _deep(n):
    found = []
    for _ in range(n):
        found = [found]
    return found


def values():
    """Values that a node may be replaced by."""
    lists = st.lists(st.sampled_from(NUMBERS + NAMES[:8]), max_size=6)
    return st.one_of(
        st.sampled_from(NUMBERS),
        st.sampled_from(NAMES),
        st.sampled_from([None, [], {}, [[]], [{}], {"": 0}, {"own": "x"}, {"own": 1}]),
        lists,
        st.lists(lists, max_size=4),
        st.sampled_from([12, 40, 2_000]).map(_deep),
        st.dictionaries(st.sampled_from(NAMES), st.sampled_from(NUMBERS), max_size=3),
    )


def _scores(k, n, scale, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    z = np.round(rng.normal(size=(n, k)), 2)
    z[np.arange(n), y] += 1
    if scale == "logits":
        return z, y
    p = np.exp(z)
    return p / p.sum(axis=1, keepdims=True), y


def _fresh():
    """Make policies of each kind there is, as this version writes them."""
    own = metrics.ConfusionMetric(lambda C: float(np.trace(C) / C.sum()), name="own")
    for k, metric, options in [
        (2, "auroc", {"calibration": "beta", "shift": "em"}),
        (2, "average-precision", {"calibration": "isotonic", "shift": "rlls-soft"}),
        (2, "sensitivity@specificity=0.8", {"calibration": "platt", "score": "random"}),
        (2, metrics.AUROC(bins=64, n_samples=20), {"calibration": "identity", "shift": "none"}),
        (2, "f1", {"budget": None, "target": {"sensitivity": 0.5, "f1": 0.4}}),
        (2, "accuracy", {"confidence": 0.8, "calibration": "platt"}),
        (2, "auroc", {"budget": None, "cost": Cost(0.1, value_of_metric=2.0)}),
        (2, metrics.ExpectedCost([[0, 1], [5, 0]]), {"calibration": "temperature"}),
        (3, metrics.WeightedKappa([[0, 1, 2], [1, 0, 1], [2, 1, 0]]), {"calibration": "vector"}),
        (3, "accuracy", {"budget": None, "cost": Cost([1, 1, 2], 3 - 3 * np.eye(3))}),
        (3, "kappa:quadratic", {"calibration": "dirichlet", "shift": "bbse-hard"}),
        (3, "top-k=2", {"calibration": "isotonic", "shift": "rlls-hard"}),
        (3, own, {"calibration": "nbvs"}),
        (4, "f1:macro", {"score": "js-divergence", "scale": "logits"}),
        (4, "mcc", {"score": "margin", "scale": "logits", "calibration": "bcts"}),
    ]:
        options = {"budget": 0.2, "scale": "probabilities", **options}
        scores, y = _scores(k, 60, options["scale"])
        abstainer = Abstainer(metric, random_state=0, **options)
        yield abstainer.fit(scores, y).decide(_scores(k, 40, options["scale"], 1)[0]).policy


@cache
def originals():
    """Return whole policies: the kept files, and one of each kind as they are written now."""
    kept = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(FOLDERS.glob("*/*.json"))
        if path.name != "expected.json"
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fresh = [json.loads(json.dumps(policy.to_dict())) for policy in _fresh()]
    for one in kept:
        del one["sha256"]
    # As many of one sort as of the other, whatever the number of kept folders.
    return kept[-16:] + fresh + kept[:-16:4]


def _nodes(thing, path=()):
    """Give the path of every node, of long lists those of a few."""
    yield path
    if len(path) == 8:
        return
    if isinstance(thing, dict):
        for key, one in thing.items():
            yield from _nodes(one, (*path, key))
    elif isinstance(thing, list):
        for i in [*range(len(thing))][:3] + [len(thing) - 1] * (len(thing) > 3):
            yield from _nodes(thing[i], (*path, i))


@st.composite
def changed(draw):
    """Draw the data of a policy with one to three nodes changed."""
    data = copy.deepcopy(draw(st.sampled_from(originals())))
    for _ in range(draw(st.sampled_from([1, 1, 2, 3]))):
        paths = [path for path in _nodes(data) if path]
        # Numbers of long lists are many; each part is to have its turn.
        part = draw(st.sampled_from(sorted({str(path[0]) for path in paths})))
        path = draw(st.sampled_from([path for path in paths if str(path[0]) == part]))
        parent = data
        for key in path[:-1]:
            parent = parent[key]
        _change(draw, parent, path)
    return data


def _at(data, path):
    for key in path:
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            return _NOTHING
    return data


def _change(draw, parent, path):
    key = path[-1]
    here = parent[key]
    how = draw(
        st.sampled_from(
            ["value", "number", "number", "near", "near", "length", "delete", "add", "swap"]
            + ["other"] * 3
        )
    )
    if how == "delete":
        del parent[key]
    elif how == "add" and isinstance(parent, dict):
        parent[draw(st.sampled_from(["", "note", "own", "held_out", *NAMES]))] = draw(values())
    elif how == "swap":
        other = draw(
            st.sampled_from([*parent] if isinstance(parent, dict) else range(len(parent)))
        )
        parent[key], parent[other] = parent[other], parent[key]
    elif how == "length" and isinstance(here, list) and here:
        parent[key] = draw(
            st.sampled_from([here[:-1], here + here[-1:], here * 2, here[::-1], here[:1]])
        )
    elif how == "other":
        # What stands there in another policy: right by itself, and perhaps not here.
        others = [found for one in originals() if (found := _at(one, path)) is not _NOTHING]
        parent[key] = copy.deepcopy(draw(st.sampled_from(others))) if others else draw(values())
    elif how == "near" and isinstance(here, int | float):
        parent[key] = draw(st.sampled_from([0, 1, 2, 0.5, 0.9, 0.001, 1e-12, here + 1]))
    elif how == "number" and isinstance(here, int | float):
        factor = draw(st.sampled_from([-1, 0, 2, 0.5, 1.001, 1e-9, 1e6, 1e90, 1e200]))
        parent[key] = here * factor
    else:
        parent[key] = draw(values())


def as_file(data):
    """Return data as the text of a file with its own checksum, or with none where it has none."""
    try:
        data = {**data, "sha256": checksum(data)}
    except (ValueError, RecursionError):
        # NaN and infinity are written all the same, as a file may hold them.
        data = {**data, "sha256": "0" * 64}
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass")


@st.composite
def bytes_of_a_file(draw):
    """Draw the bytes of a file that was cut, flipped, encoded otherwise, or never was a policy."""
    raw = as_file(draw(st.sampled_from(originals())))
    at = draw(st.integers(0, len(raw)))
    n = draw(st.sampled_from([100, 5_000, 200_000]))
    return draw(
        st.sampled_from(
            [
                raw[:at],
                raw[:at] + raw[at + 1 :],
                raw[:at] + bytes([draw(st.integers(0, 255))]) + raw[at + 1 :],
                raw[:at] + draw(st.binary(max_size=8)) + raw[at:],
                b"\xef\xbb\xbf" + raw,
                raw.decode("utf-8", "replace").encode("utf-16"),
                raw.decode("utf-8", "replace").encode("utf-32-le"),
                raw.replace(b'"classes"', b'"classes": [0, 1], "classes"', 1),
                raw.replace(b'"created"', b'"created": "x", "created"', 1),
                b"[" * n,
                b'{"a":' * n,
                b'{"a":[' * n + b"]}" * n,
                b'["\\"' + b"[" * n,
                b"1" * n,
                raw.replace(b"0.", b"9" * n + b".", 1),
                raw.replace(b"0.", b"1e" + b"9" * 5 + b",0.", 1),
                raw.replace(b"null", b"9" * n, 1),
                b"",
                b" \n",
                b"\x00" * n,
                b"null",
                b'"' * n,
                b"\\" * n + b'"',
            ]
        )
    )
