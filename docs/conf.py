"""How the documentation is built: Sphinx, MyST Markdown, numpydoc, sphinx-gallery."""

import logging
import sys
from pathlib import Path

import abstain

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import live_report  # noqa: E402 - found by the line above
import reference  # noqa: E402

project = "abstain"
author = "The abstain developers"
copyright = "2026, the abstain developers"  # noqa: A001 - Sphinx's own name
version = release = abstain.__version__

extensions = [
    "accessible",
    "formulas",
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
# Methods inherited from scikit-learn refer to its own pages.
suppress_warnings = ["ref.ref"]

# Pictures are drawn by the code beside them, each in a fresh namespace.
plot_basedir = str(HERE)
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("svg", 100)]

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "capture_repr": (),  # an estimator's own HTML would be shown otherwise
    "download_all_examples": False,
    "image_srcset": ["2x"],
    "min_reported_time": 1_000,  # how long an example took is nobody's concern
    "remove_config_comments": True,
    "show_memory": False,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
}

html_math_renderer = "mathml"
html_theme = "furo"
html_theme_options = {"top_of_page_buttons": []}
html_title = "abstain"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_live"]

# A package of the theme turns on messages of every library, ours included.
logging.getLogger("abstain").setLevel(logging.WARNING)
reference.write()
live_report.write()
