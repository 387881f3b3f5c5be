"""Pages about anything: ids come back exactly, and no text of the user's becomes markup."""

import csv
import io
import json
import re
import shutil
import subprocess
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from abstain import Abstainer
from abstain._inputs import row_names
from abstain.evaluation import evaluate
from abstain.plots import (
    ConfusionAbstentionDisplay,
    PriorsDisplay,
    RegionDisplay,
    ReliabilityDisplay,
)
from abstain.report import Report
from abstain.report._cases import _exact
from abstain.report._html import render

from .arrays import anything
from .machine import fuzzed, outcome
from .tables import GAPS, HOSTILE, names

ROWS = 40
NODE = shutil.which("node")


@cache
def decided(labels=("no", "yes")):
    k = len(labels)
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(k), rng.integers(k, size=ROWS - k)])
    proba = np.exp(rng.normal(size=(ROWS, k)) + np.eye(k)[y])
    proba /= proba.sum(axis=1, keepdims=True)
    how = {"calibration": "identity", "shift": "none", "random_state": 0}
    abstainer = Abstainer("accuracy", budget=0.3, **how)
    classes = [*labels]
    return abstainer.fit(proba, [classes[code] for code in y], classes=classes).decide(proba), y


class Page(HTMLParser):
    """The tags of a page with their attributes, and what stands in its scripts."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.scripts, self._in = [], [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self._in = tag == "script"
        if self._in:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._in = self._in and tag != "script"

    def handle_data(self, data):
        if self._in:
            self.scripts[-1] += data


def no_constant(name):
    raise AssertionError(f"{name} is no JSON")


def units(text):
    """Text as a browser holds it: two halves of a character are one."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def checked(html, command, classes="no yes"):
    """Return the data block of a page, whose markup must be that of a harmless one."""
    html.encode("utf-8")
    page, other = Page(html), harmless_page(command, classes)
    assert page.tags == other.tags
    assert len(page.scripts) == 2
    assert page.scripts[1] == other.scripts[1]
    json.loads(page.scripts[0], parse_constant=no_constant)
    return page.scripts[0]


@cache
def harmless_page(command, classes):
    """Return a page with names of letters alone."""
    facts = Report(decided(tuple(classes.split()))[0]).facts
    told = {**facts["reproduce"], "command": "run" if command else None}
    return Page(render({**facts, "reproduce": told}))


def in_browser(blocks):
    """Return what the page's script makes of data blocks."""
    folder = files("abstain.report").joinpath("script")
    done = subprocess.run(
        [NODE, Path(__file__).parent / "page.js", str(folder)],
        input=json.dumps(blocks).encode(),
        capture_output=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)


def from_csv(cell):
    """Read one cell of the page's CSV file back, as its comment says."""
    ((text, _),) = csv.reader(io.StringIO(f"{cell},-\r\n", newline=""), strict=True)
    return text[1:] if re.match(r"''*[=+\-@\t\r]", text) else text


VALUES = st.one_of(
    names(),
    st.sampled_from(HOSTILE),
    st.integers(-(2**70), 2**70),
    st.integers(-(2**31), 2**33),
    st.floats(allow_nan=False),
    st.sampled_from([-0.0, 0.1 + 0.2, 1e300, 5e-324, True, False, 2**53, 2**53 + 1]),
    st.sampled_from([np.datetime64("2020-01-01T00:00:00.000000001"), pd.Timestamp("2020")]),
    st.sampled_from(GAPS),
)
KINDS = st.sampled_from(["text", "large", "numbers", "fractions", "floats32", "mixed", "dates"])


@st.composite
def ids(draw):
    kind = draw(KINDS)
    each = {
        "text": names(),
        "large": st.integers(-(2**63), 2**63 - 1),
        "numbers": st.integers(-(2**53) + 1, 2**53 - 1),
        "fractions": st.floats(allow_nan=False, allow_infinity=False),
        "floats32": st.floats(width=32, allow_nan=False, allow_infinity=False),
        "mixed": VALUES,
        "dates": st.datetimes().map(np.datetime64),
    }[kind]
    values = draw(st.lists(each, min_size=ROWS, max_size=ROWS))
    if kind in ("large", "numbers", "fractions", "dates") and draw(st.booleans()):
        return np.array(values)
    if kind in ("text", "large", "numbers") and draw(st.booleans()):
        return pd.Series(values, dtype=object)
    return values


def expected(values):
    """What each id is to be shown as."""
    return [_shown(one) for one in ([*values] if isinstance(values, np.ndarray) else values)]


def _shown(value):
    if value is None or value is pd.NA or value is pd.NaT or value is np.ma.masked:
        return ""
    if isinstance(value, np.datetime64):
        return "" if np.isnat(value) else str(value)
    if isinstance(value, float | np.floating) and value != value:
        return ""
    return str(value.item() if isinstance(value, np.generic) else value)


@fuzzed(
    "page",
    quick=3,
    share=4,
    pages=st.lists(ids(), min_size=1, max_size=8),
    texts=st.lists(names(), min_size=4, max_size=4),
)
def test_ids_come_back_exactly(pages, texts):
    """Of the facts of one batch only the ids and the names change: the rest takes longer."""
    harmless = harmless_report(grouped=True)
    same, rows = harmless.facts, harmless.facts["cases"]["ids"]
    title, id_name, group_name, command = texts
    blocks, wanted = [], []
    for values in pages:
        shown = _exact(outcome(lambda v=values: row_names(v, n_rows=ROWS, name="ids")))
        cases = {**same["cases"], "ids": [shown[row] for row in rows], "id_name": id_name}
        facts = {
            **same,
            "title": title,
            "reproduce": {**same["reproduce"], "command": command or None},
            "cases": {**cases, "group_name": group_name},
        }
        blocks.append(checked(outcome(lambda f=facts: render(f)), bool(command)))
        wanted.append([units(expected(values)[row]) for row in rows])
        assert [units(str(shown[row])) for row in rows] == wanted[-1]
    if NODE is None:
        return "shown, not run"
    for answer, names_of in zip(in_browser(blocks), wanted, strict=True):
        assert [cells[0] for cells in answer["shown"]] == names_of
        assert all(answer["found"])
        assert sorted(answer["order"]) == [*range(len(names_of))]
        for cells, name in zip(answer["csv"], names_of, strict=True):
            spelled = re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", name)
            assert from_csv(cells[0]) == spelled
    return "shown"


@fuzzed(
    "page",
    quick=2,
    values=ids(),
    groups=st.lists(VALUES, min_size=2, max_size=4),
    texts=st.lists(names(), min_size=3, max_size=3),
)
def test_a_whole_page(values, groups, texts):
    decisions, _ = decided()
    told = dict(zip(("title", "id_name", "group_name"), texts, strict=True))
    named = [groups[k % len(groups)] for k in range(ROWS)]
    report = Report(decisions, ids=values, groups=named, **told)
    facts = outcome(lambda: report.facts, looked_at=lambda f: f["cases"]["ids"])
    if isinstance(facts, Exception):
        return "refused"
    json.loads(report.to_json(), parse_constant=no_constant)
    checked(report.to_html(), False)
    Page(report._repr_html_())
    assert sum(facts["groups"]["rows"]) == ROWS
    return "shown"


@cache
def harmless_report(grouped):
    decisions, _ = decided()
    return Report(decisions, groups=["a", "b"] * (ROWS // 2) if grouped else None)


@fuzzed(
    "page",
    quick=1,
    share=2,
    labels=st.lists(names(min_size=1), min_size=2, max_size=3, unique=True),
)
def test_class_names_are_text(labels):
    found = outcome(lambda: decided(tuple(labels)), looked_at=lambda _: None)
    if isinstance(found, Exception):
        assert any(re.search("[\0\ud800-\udfff]", label) for label in labels)
        return "refused"
    decisions, y = found
    checked(Report(decisions).to_html(), False, " ".join("abc"[: len(labels)]))
    truth = evaluate(decisions, [labels[code] for code in y], groups={labels[0]: y})
    for shown in (decisions, decisions.policy, decisions.estimate, truth):
        block = outcome(lambda s=shown: s._repr_html_())
        block.encode("utf-8")
        assert "<script" not in block.lower()
    return "shown"


@fuzzed(
    "page",
    quick=8,
    option=st.sampled_from(
        ["ids", "groups", "title", "id_name", "group_name", "command", "random_state", "y_val"]
    ),
    value=anything(ROWS),
)
def test_options_of_any_kind(option, value):
    decisions, _ = decided()
    more = {"scores_val": decisions.proba} if option == "y_val" else {}
    found = outcome(
        lambda: Report(decisions, **{option: value}, **more).to_html(), looked_at=lambda _: None
    )
    return "refused" if isinstance(found, Exception) else "shown"


@fuzzed(
    "page",
    quick=1,
    labels=st.lists(names(min_size=1), min_size=2, max_size=2, unique=True),
    examples=[{"labels": ["$\\frac$", "x" * 100_000]}, {"labels": ["_a\nb", "\ud800$"]}],
)
def test_pictures_of_any_name(labels):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    found = outcome(lambda: decided(tuple(labels)), looked_at=lambda _: None)
    if isinstance(found, Exception):
        return "refused"
    decisions, y = found
    truth = [labels[code] for code in y]

    def draw():
        ConfusionAbstentionDisplay.from_decisions(decisions).figure_.canvas.draw()
        RegionDisplay.from_decisions(decisions).figure_.canvas.draw()
        PriorsDisplay.from_decisions(decisions).figure_.canvas.draw()
        ReliabilityDisplay.from_predictions(
            truth, decisions.proba, classes=labels, name=labels[0]
        ).figure_.canvas.draw()

    try:
        assert outcome(draw) is None
    finally:
        pyplot.close("all")
    return "drawn"
