"""Strategies for tables: the same scores and labels in every kind of thing that holds them."""

from __future__ import annotations

import datetime
import fractions

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse
from hypothesis import strategies as st

from .arrays import seeds

try:
    import torch
except ImportError:
    torch = None

#: Text as hostile as it comes: markup, formulas, quotes, marks of direction, half characters.
HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]>",
    "&lt;b&gt;",
    "{{facts}}",
    "=1+1",
    "'=1",
    "-5",
    "-x",
    "\t@x",
    'a "b", c',
    "a\r\nb",
    "\u202eabc\u2066",
    "\u2028",
    "\ud800",
    "\udcff.csv",
    "\x00",
    "\x7f\x85",
    "nan",
    "None",
    "1e5",
    "0001",
    "$\\frac$",
    "$",
    "_x",
    "p_x",
    "__proto__",
    "İ",
    "ß",
    "日本",
    "x" * 5_000,
)


def names(**sizes):
    return st.one_of(st.sampled_from(HOSTILE), st.text(**({"max_size": 12} | sizes)))


@st.composite
def classified(draw, *, classes=(2, 4), rows=(8, 40)):
    """Probabilities of some classes, and the column of each row's label; every class occurs."""
    k, n = draw(st.integers(*classes)), draw(st.integers(*rows))
    rng = np.random.default_rng(draw(seeds()))
    codes = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    logits = rng.normal(size=(n, k)) + 2 * np.eye(k)[codes]
    if draw(st.booleans()):
        logits = np.round(logits, 1)
    proba = np.exp(logits)
    return proba / proba.sum(axis=1, keepdims=True), codes


def by_names(make):
    def made(proba, labels, order):
        columns = {f"p_{labels[k]}": proba[:, k] for k in order}
        return make({"id": list(range(len(proba))), **columns})

    return made


def _masked(proba, *_):
    return np.ma.masked_array(proba, mask=np.zeros_like(proba, dtype=bool))


def _strided(proba, *_):
    wide = np.zeros((2 * len(proba), 2 * proba.shape[1]))
    wide[::2, ::2] = proba
    wide.setflags(write=False)
    return wide[::2, ::2]


#: Each takes probabilities, the labels and an order of columns, and means the same.
SAME_SCORES = {
    "list": lambda p, *_: p.tolist(),
    "tuple of arrays": lambda p, *_: tuple(p),
    "Fortran": lambda p, *_: np.asfortranarray(p),
    "big-endian": lambda p, *_: p.astype(">f8"),
    "objects": lambda p, *_: p.astype(object),
    "fractions": lambda p, *_: [[fractions.Fraction(x) for x in row] for row in p.tolist()],
    "longdouble": lambda p, *_: p.astype(np.longdouble),
    "nothing masked": _masked,
    "strided": _strided,
    "unnamed frame": lambda p, *_: pd.DataFrame(p),
    "pandas": by_names(pd.DataFrame),
    "pandas objects": by_names(lambda data: pd.DataFrame(data).astype(object)),
    "pandas Float64": by_names(lambda data: pd.DataFrame(data).convert_dtypes()),
    "pandas of arrow": by_names(
        lambda data: pd.DataFrame(data).convert_dtypes(dtype_backend="pyarrow")
    ),
    "pandas index": by_names(lambda data: pd.DataFrame(data, index=[5] * len(data["id"]))),
    "polars": by_names(pl.DataFrame),
    "pyarrow": by_names(pa.table),
    "chunks": by_names(lambda data: pa.concat_tables([pa.table(data)])),
}
if torch:
    SAME_SCORES |= {
        "tensor": lambda p, *_: torch.tensor(p, requires_grad=True),
        "list of tensors": lambda p, *_: [torch.tensor(row, requires_grad=True) for row in p],
    }

_DAY = np.datetime64("2020-01-01")


def _with(value):
    def made(proba):
        objects = proba.astype(object)
        objects[len(objects) // 2, 0] = value
        return objects

    return made


def _repeated(data):
    frame = pd.DataFrame(data)
    frame.columns = ["p_a"] * frame.shape[1]
    return frame


#: None of these is a table of scores.
NO_SCORES = {
    "text": lambda p: p.astype(str),
    "text in objects": _with("0.5"),
    "bytes": lambda p: p.astype("S"),
    "bytes in objects": _with(b"0.5"),
    "complex": lambda p: p.astype(complex),
    "complex in objects": _with(1j),
    "dates": lambda p: np.full(p.shape, _DAY),
    "date in objects": _with(datetime.date(2020, 1, 1)),
    "lengths of time": lambda p: np.full(p.shape, _DAY - _DAY),
    "whole number beyond all": _with(10**400),
    "list in objects": _with([0.5]),
    "None": _with(None),
    "NA": _with(pd.NA),
    "NaN": _with(np.nan),
    "infinite": _with(np.inf),
    "masked": lambda p: np.ma.masked_array(p, mask=np.eye(*p.shape, dtype=bool)),
    "masked row": lambda p: [*p.tolist()[:-1], [np.ma.masked] * p.shape[1]],
    "records": lambda p: (
        np.array([tuple(r) for r in p], dtype=[("a", float)] * 0 or "f8,f8")
        if p.shape[1] == 2
        else np.zeros(len(p), dtype="f8,f8,f8")
    ),
    "sparse": lambda p: scipy.sparse.csr_matrix(p),
    "generator": lambda p: (row for row in p),
    "dict": lambda p: {"p_0": p[:, 0]},
    "set": lambda p: {0.5},
    "scalar": lambda p: 0.5,
    "0-d": lambda p: np.array(0.5),
    "3-d": lambda p: p[:, :, None],
    "ragged": lambda p: [*p.tolist(), [0.5]],
    "empty": lambda p: p[:0],
    "no columns": lambda p: p[:, :0],
    "one text": lambda p: "0.5",
    "function": lambda p: np.exp,
    "repeated names": _repeated,
    "lazy": lambda p: pl.DataFrame(p).lazy(),
    "frame of text": lambda p: pd.DataFrame(p).astype(str),
    "frame of dates": lambda p: pd.DataFrame(p).assign(**{"0": _DAY}).rename(columns=str),
}
if torch:
    NO_SCORES |= {
        "sparse tensor": lambda p: torch.tensor(p).to_sparse(),
        "tensor of nothing": lambda p: torch.tensor(p).to("meta"),
    }

#: Labels that something or other makes one of.
LABELS = {
    "numbers": [0, 1, 2, 3],
    "numbers far apart": [-(2**63), 0, 2**62, 2**63 - 1],
    "beyond fractions": [2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3],
    "unsigned": [2**63, 2**63 + 1, 2**64 - 1, 0],
    "huge": [1e300, 2e300, -1e300, 5e299],
    "fractions": [0.1, 0.1 + 2**-56, 0.1 + 2**-55, 0.5],
    "fractions beside numbers": [2**53 + 1, 2**53, 0.5, -1],
    "text": ["a", "b", "c", "d"],
    "text like numbers": ["1", "01", "1.0", "+1"],
    "text like nothing": ["nan", "None", "NaT", "NA"],
    "text and case": ["a", "A", "a ", " a"],
    "text beside numbers": ["a", 1, "b", 2],
    "long text": ["x" * 300, "x" * 301, "x", "y"],
    "text from elsewhere": ["é", "e\u0301", "日本", "\u202ea"],
}


def same_labels(draw, labels, codes):
    """Return labels in some container that keeps them, by their codes."""
    values = [labels[code] for code in codes.tolist()]
    types = {type(value) for value in labels}
    ways = [
        lambda: values,
        lambda: tuple(values),
        lambda: np.array([*values, None], dtype=object)[:-1],
        lambda: pd.Series(values, dtype=object),
    ]
    small = types == {int} and max(labels) < 2**63
    if types == {int} and min(labels) >= 0:
        ways.append(lambda: np.array(values, dtype=np.uint64))
    if small or types in ({str}, {float}):
        ways += [
            lambda: np.array(values),
            lambda: np.ma.masked_array(values),
            lambda: pd.Series(values),
            lambda: pd.Categorical(values),
        ]
    if types == {str}:
        ways += [
            lambda: pd.Series(values, dtype="string"),
            lambda: np.array(values, dtype=np.dtypes.StringDType()),
        ]
    if small:
        ways.append(lambda: pd.array(values, dtype="Int64"))
        if torch:
            ways.append(lambda: torch.tensor(values))
        if max(map(abs, labels)) < 2**53:
            ways.append(lambda: np.array(values, dtype=float))
    if small or types in ({str}, {float}):
        ways += [
            lambda: pl.Series(values),
            lambda: pa.array(values),
            lambda: pa.chunked_array([pa.array(values)]),
        ]
    return ways[draw(st.integers(0, len(ways) - 1))]()


#: What stands for no label.
GAPS = (
    None,
    np.nan,
    pd.NaT,
    pd.NA,
    "",
    np.datetime64("NaT", "D"),
    np.float32("nan"),
    np.ma.masked,
)
#: What is no label.
NO_LABELS = (1j, b"a", datetime.date(2020, 1, 1), _DAY, (1, 2), [1], {}, object(), np.inf, 10**30)
