"""The built site: links that lead somewhere, a search that finds, pages for everybody.

`make site` builds it first; where there is none, there is nothing to look at.
"""

import functools
import http.server
import re
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

SITE = Path(__file__).parents[2] / "docs/_build"
AXE = Path(sys.prefix) / "axe/node_modules/axe-core/axe.min.js"
READ = [
    "index.html",
    "start.html",
    "cheat-sheet.html",
    "for-boards.html",
    "limits.html",
    "evidence.html",
    "glossary.html",
    "guide/label-shift.html",
    "gallery/index.html",
    "api/index.html",
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SITE.exists(), reason="SITE TESTS SKIPPED: `make docs` builds it"),
]


class _Links(HTMLParser):
    """Where a page can be jumped to, and where it leads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.targets = {"", "top"}, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.anchors.update(filter(None, (named.get("id"), named.get("name"))))
        if target := named.get("href" if tag in ("a", "link") else "src"):
            self.targets.append(target)


def test_links_lead_somewhere():
    pages = {
        path.resolve(): _Links(path.read_text(encoding="utf-8")) for path in SITE.rglob("*.html")
    }
    broken = []
    for path, page in pages.items():
        for target in page.targets:
            if re.match(r"[a-z][a-z0-9+.-]*:|//", target):
                continue
            name, anchor = urldefrag(target)
            name = unquote(name.partition("?")[0])
            there = (path.parent / name).resolve() if name else path
            missing = not there.exists() or (
                there in pages and unquote(anchor) not in pages[there].anchors
            )
            if missing:
                broken.append(f"{path.relative_to(SITE.resolve())}: {target}")
    assert broken == []


@pytest.fixture(scope="module")
def address():
    """Serve the site on this machine's own loopback, as the search fetches pages."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.parametrize("words", ["false alarm", "Excel", "refer", "confidence", "prevalence"])
def test_search_finds(browser, address, words):
    page = browser.new_page()
    page.goto(f"{address}/search.html?q={words}")
    page.wait_for_selector("#search-results ul.search li a", timeout=30_000)
    found = page.locator("#search-results ul.search li a").count()
    page.close()
    assert found > 0


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_are_for_everybody(browser, address, width):
    if not AXE.exists():
        pytest.skip(f"ACCESSIBILITY TESTS SKIPPED: no axe-core at {AXE.name}; see the Makefile")
    script = AXE.read_text(encoding="utf-8")
    found = []
    for name in READ:
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(f"{address}/{name}")
        page.evaluate(script)
        violations = page.evaluate(
            "axe.run({resultTypes: ['violations']}).then((result) => result.violations)"
        )
        found += [(name, one["id"], one["nodes"][0]["html"][:200]) for one in violations]
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append((name, "wider than the screen"))
        page.close()
    assert found == []
