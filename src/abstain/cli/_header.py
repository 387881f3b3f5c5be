"""The names of a table's columns: what every kind of file must have, and what they tell.

A patient's number is no score, though it is a number. Nothing is taken silently: where a column is
missing it is proposed what it may be, with the exact option to add.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from abstain._inputs import FloatArray
from abstain.cli._terminal import in_a_line

#: So many rows are named where there are more.
MOST_NAMED = 5
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
_MOST_LABELS = 50
_MOST_PROPOSED = 5


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


def proposed(sample: Mapping[str, Any], option: str) -> list[str]:
    """Return the options to add for columns that may be what is asked for, the likeliest first.

    ``sample`` has the first values of each column.
    """
    propose: Callable[[str, Any], str | None] = _as_label
    if option == "--scores":
        propose = _as_score
    elif option == "--id":
        propose = _as_id
    found = [line for name, values in sample.items() if (line := propose(name, values))]
    # What can be taken as it stands comes before what would have to be something else.
    found.sort(key=lambda line: "--scale" in line)
    families = _families(sample) if option == "--scores" else []
    return [line.replace("OPTION", option) for line in [*families, *found]][:_MOST_PROPOSED]


def _families(sample: Mapping[str, Any]) -> list[str]:
    """Propose patterns: columns with a common beginning whose rows sum to 1."""
    by_beginning: dict[str, list[str]] = {}
    for name, values in sample.items():
        beginning = name[: name.rfind("_") + 1]
        if beginning and values.dtype.kind == "f":
            by_beginning.setdefault(beginning, []).append(name)
    found = []
    for beginning, names in by_beginning.items():
        total = sum(sample[name] for name in names)
        if len(names) > 1 and np.allclose(total, 1, atol=1e-3):
            found.append(f"--scores '{beginning}*'  ({len(names)} columns whose rows sum to 1)")
    return found


def _as_score(name: str, values: Any) -> str | None:
    said, scale = "numbers", ""
    if values.dtype == object:
        said, scale, values = _in_text(values)
    if values.dtype.kind != "f" or not values.size or not np.isfinite(values).all():
        return None
    if names_rows(name, values):
        return None
    low, high = values.min(), values.max()
    if not scale and not (low >= 0 and high <= 1):
        scale = " --scale logits" if low < 0 or high > 100 else " with --percent or --scale logits"
    return f"--scores {quoted(name)}{scale}  ({said} from {low:.3g} to {high:.3g})"


def _in_text(values: Any) -> tuple[str, str, Any]:
    """Return numbers that are written as text: with a sign of percent, with a decimal comma."""
    texts = [str(value).strip() for value in values.tolist()]
    percent = all(text.endswith("%") for text in texts)
    try:
        numbers = np.array([float(text.rstrip("%").replace(",", ".")) for text in texts])
    except ValueError:
        return "", "", np.empty(0)
    said = "percentages" if percent else "numbers with decimal commas"
    return said, " --percent" if percent else "", numbers


def _as_label(name: str, values: Any) -> str | None:
    if values.dtype.kind == "f":
        # Whole numbers beside gaps, as labels are that are known of some rows.
        there = values[~np.isnan(values)]
        if len(there) == len(values) or (there % 1).any():
            return None
        values = there.astype(np.int64)
    if values.dtype == object and (_in_text(values)[2] % 1).any():
        return None
    distinct = sorted({" ".join(str(value).split()) for value in values.tolist()})
    if not 2 <= len(distinct) <= _MOST_LABELS:
        return None
    shown = ", ".join(map(in_a_line, distinct[:4])) + (", ..." if len(distinct) > 4 else "")
    return f"OPTION {quoted(name)}  ({shown})"


def _as_id(name: str, values: Any) -> str | None:
    if values.dtype.kind == "f" or len(set(values.tolist())) < len(values):
        return None
    return f"--id {quoted(name)}  (a different value in every row)"
