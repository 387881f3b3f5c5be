"""axe-core finds nothing on any page, wide or narrow, light or dark.

It comes from npm into the virtual environment (see the Makefile); without it the test is skipped.
"""

import json
import sys
from pathlib import Path

import pytest

from abstain.report import Report
from abstain.report._html import render

from .many_classes import with_classes

AXE = Path(sys.prefix) / "axe/node_modules/axe-core/axe.min.js"
MODES = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]
NEXT_FRAME = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"


@pytest.fixture(scope="module")
def pages(report, binary):
    facts = json.loads(report.to_json())
    doubtful = json.loads(report.to_json())
    doubtful["assumption"]["doubts"] = ["Nothing fits. Label some rows."]
    doubtful["moved"]["verdict"] = {"state": "doubtful", "summary": "It does not fit."}
    doubtful["trust"]["verdict"] = {"state": "not checked", "summary": "Too few rows."}
    grouped = {**facts, "groups": {"names": [f"Site {k}" for k in range(40)], "rows": [50] * 40}}
    grouped["steps"] = [{**step, "groups": [5] * 40} for step in facts["steps"]]
    return {
        "binary": facts,
        "few classes": with_classes(facts, 5),
        "many classes": with_classes(facts, 100, n_cases=100),
        "many groups": grouped,
        "doubts": doubtful,
        "without validation data": Report(binary).facts,
    }


def test_axe_finds_nothing(browser, pages, tmp_path):
    if not AXE.exists():
        pytest.skip(f"ACCESSIBILITY TESTS SKIPPED: no axe-core at {AXE.name}; see the Makefile")
    script = AXE.read_text(encoding="utf-8")
    found = []
    context = browser.new_context()
    for name, facts in pages.items():
        path = tmp_path / "page.html"
        path.write_text(render(facts), encoding="utf-8")
        page = context.new_page()
        page.goto(path.as_uri())
        page.evaluate(script)
        for width, scheme in MODES:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            # The page hears of its new size with the next frame, and marks then what scrolls.
            page.evaluate(NEXT_FRAME)
            violations = page.evaluate(
                "axe.run({resultTypes: ['violations']}).then((result) => result.violations)"
            )
            found += [
                (name, width, scheme, one["id"], one["nodes"][0]["html"][:200])
                for one in violations
            ]
        page.close()
    context.close()
    assert found == []
