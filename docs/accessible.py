"""What the theme leaves out for people who read with their ears or without a mouse."""

from pathlib import Path

# What pages have, and what it has to be: levels of headings, names of landmarks, empty corners of
# tables that are no headings, and the keyboard for what scrolls sideways.
_MENDED = {
    'role="heading">': 'role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Site">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="On this page">',
    '<th class="head"></th>': '<td class="head"></td>',
    '<th class="head"><p></p></th>': '<td class="head"></td>',
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    "<figure": '<figure tabindex="0"',
}


def _mend(app, failure):
    if failure or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        if page.name == "clinic-report.html":  # a report of ours, which has its own test
            continue
        text = page.read_text(encoding="utf-8")
        if 'aria-level="2">' in text:  # written in an earlier build, and kept
            continue
        for wrong, right in _MENDED.items():
            text = text.replace(wrong, right)
        page.write_text(text, encoding="utf-8")


def setup(app):
    """Mend the pages when they are written."""
    app.connect("build-finished", _mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
