"""Colours and the late import of matplotlib that all displays share."""

from __future__ import annotations

import unicodedata
from typing import Any

# Okabe and Ito's palette, which colour-blind readers can tell apart.
COLORS = {
    "before": "#4D4D4D",
    "after": "#0072B2",
    "withheld": "#E69F00",
    "positive": "#D55E00",
    "negative": "#56B4E9",
}

# Colours and markers of several lines in one picture, so that colour is not all that differs.
SERIES = (
    ("#0072B2", "o"),
    ("#D55E00", "s"),
    ("#009E73", "^"),
    ("#CC79A7", "D"),
    ("#4D4D4D", "v"),
    ("#E69F00", "P"),
)

# Kinds of characters without a picture of their own.
_NOT_DRAWN = ("Cc", "Cs", "Zl", "Zp")
# Of a name in a picture.
_LONGEST = 60


def new_axes(ax: Any = None) -> tuple[Any, Any]:
    """Return the figure and axes to draw on, new ones when none are given."""
    if ax is not None:
        return ax.figure, ax
    return _pyplot().subplots(layout="constrained")  # type: ignore[no-any-return]


def as_label(name: Any) -> str:
    """Return a name to be drawn letter by letter: no formula, one line, not too long."""
    text = str(name)
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    text = "".join(
        " " if unicodedata.category(sign) in _NOT_DRAWN else sign for sign in text
    ).replace("$", r"\$")
    # An underscore in front would keep a name out of the legend.
    return f" {text}" if text.startswith("_") else text


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ImportError(
            "Plots need matplotlib, which comes with an extra: pip install 'abstain[plots]'"
        ) from error
    return plt
