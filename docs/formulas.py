"""Formulas as MathML, which browsers draw by themselves: the site needs no network to be read."""

from docutils import nodes
from latex2mathml.converter import convert


def _inline(translator, node):
    translator.body.append(_mathml(node))
    raise nodes.SkipNode


def _block(translator, node):
    translator.body.append(f'<div class="math">{_mathml(node, display="block")}</div>')
    raise nodes.SkipNode


def _mathml(node, **options):
    text = node.astext().strip().replace(r"\{", r"\lbrace ").replace(r"\}", r"\rbrace ")
    if "&" in text or r"\\" in text:  # columns and lines, as in AMS math
        text = rf"\begin{{aligned}} {text} \end{{aligned}}"
    return convert(text, **options)


def setup(app):
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
