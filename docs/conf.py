"""How the documentation is built: Sphinx, MyST Markdown, numpydoc."""

import abstain

project = "abstain"
author = "The abstain developers"
copyright = "2026, the abstain developers"  # noqa: A001 - Sphinx's own name
version = release = abstain.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = "abstain"
