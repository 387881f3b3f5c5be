"""The names of a table's columns: what every kind of file must have, and what they tell.

A patient's number is no score, though it is a number.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from abstain._inputs import FloatArray
from abstain.cli._printable import in_a_line

# No name is longer; what is longer is a table without line ends, or none.
_MOST_LETTERS = 10_000
_SHOWN = 80
_CALLED = re.compile(
    r"(^|[\W_])(ids?|uuid|key|index|idx|row|nr|no|num|number|patient|case|subject|person|pid|mrn|"
    r"record|kennung|nummer)($|[\W_\d])|[a-z](ID|Id|_id)$|^(patient|case|subject|person|record)",
    re.IGNORECASE,
)
# A few whole numbers in order may be scores.
_FEW = 8


def checked_names(path: Path, header: Sequence[str]) -> tuple[str, ...]:
    """Return the names without spaces around them; a column without a name is called by its place.

    Raises
    ------
    ValueError
        If a name comes twice, or all are numbers, so that there is no header.
    """
    names = [name.strip() for name in header]
    if all(_is_number(name) for name in names):
        raise ValueError(
            f"{path} has no header: its first line is {listed(names)}. Add a line above it "
            f"that names the columns."
        )
    longest = max(range(len(names)), key=lambda place: len(names[place]))
    if len(names[longest]) > _MOST_LETTERS:
        raise ValueError(
            f"{path} has no header: column {longest + 1} would be called by "
            f"{len(names[longest]):,} characters. Add a line above it that names the columns."
        )
    names = [name or f"column {place}" for place, name in enumerate(names, start=1)]
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise same_names(path, twice)
    return tuple(names)


def same_names(path: Path, twice: Iterable[str]) -> ValueError:
    """Return the error for names that several columns have."""
    return ValueError(
        f"{path} has more than one column called {listed(twice)}. Rename all but one."
    )


def listed(names: Iterable[object], most: int = 12) -> str:
    """Return names in a row; of very many the first, and how many more there are."""
    shown = [in_a_line(name)[:_SHOWN] for name in names]
    if len(shown) <= most + 1:
        return ", ".join(shown)
    return f"{', '.join(shown[:most])} and {len(shown) - most:,} more"


def quoted(name: str) -> str:
    """Return a name as it is typed in a shell."""
    if name.replace("_", "").replace("-", "").isalnum():
        return name
    return in_a_line(shlex.quote(name))


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def names_rows(name: str, values: FloatArray) -> bool:
    """Tell whether a column seems to name its rows instead of scoring them.

    Whole numbers of which none comes twice, that are in order or in a column called so; in such a
    column also those that come twice. Nothing within 0 to 1 is one.

    Examples
    --------
    >>> names_rows("patient", np.array([1007.0, 1003.0, 1011.0]))
    True
    >>> names_rows("logit", np.array([-1.5, 0.2, 3.0]))
    False
    """
    there = values[np.isfinite(values)]
    if len(there) < 2 or (there % 1).any() or (there.min() >= 0 and there.max() <= 1):
        return False
    if _CALLED.search(name):
        return True
    steps = np.diff(there)
    return len(there) >= _FEW and bool((steps > 0).all() or (steps < 0).all())
