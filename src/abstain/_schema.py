"""The file of a policy: its text and checksum, its versions, and how one becomes the next.

A file of every version loads forever. Within a version keys are only added, with a meaning for
files that lack them, and only such as an older library may pass over and still decide the same.
Anything else is a new version: raise ``SCHEMA_VERSION`` and add to ``LIFTS`` the function that
makes plain data of the version before into data of the new one. Nothing else reads old files.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from abstain.exceptions import PolicyError

__all__ = ["FORMAT", "SCHEMA_VERSION", "as_text", "checksum", "lifted", "parsed"]

FORMAT = "abstain-policy"
# 2: which of two classes is positive, and the order in which arrays of scores come.
SCHEMA_VERSION = 2

Lift = Callable[[dict[str, Any]], dict[str, Any]]


def _with_positive(data: dict[str, Any]) -> dict[str, Any]:
    """Say what went without saying: of two classes the last was positive, scores came in order."""
    classes = data["classes"]
    return {**data, "positive": classes[-1] if len(classes) == 2 else None, "columns": classes}


#: By version: what makes its data into data of the next. One for every version but the last.
LIFTS: dict[int, Lift] = {1: _with_positive}


def lifted(
    data: dict[str, Any],
    *,
    library: str,
    newest: int = SCHEMA_VERSION,
    lifts: Mapping[int, Lift] = LIFTS,
) -> dict[str, Any]:
    """Return the data of a policy as the newest version would have it.

    Parameters
    ----------
    data : dict
        What a file of any version holds; it is not changed.
    library : str
        The version of this library, for messages.
    newest : int
        The version to arrive at.
    lifts : mapping of int to callable
        The step up from each version.

    Raises
    ------
    PolicyError
        If it is no policy, or one of a version that this library does not know.
    """
    if data.get("format") != FORMAT:
        raise PolicyError(f"This is not a policy of abstain: no format {FORMAT!r} in it.")
    version = data.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise PolicyError(
            f"The policy has schema version {version!r}, which never was; the file is damaged. "
            f"Make the policy again."
        )
    if version > newest:
        known = "version 1" if newest == 1 else f"versions 1 to {newest}"
        maker = data.get("library_version")
        raise PolicyError(
            f"The policy has schema version {version}; this library ({library}) reads {known}. "
            f"A newer library made it: pip install --upgrade 'abstain>={maker}', or make the "
            f"policy again with this one."
        )
    for step in range(version, newest):
        data = {**lifts[step](dict(data)), "schema_version": step + 1}
    return data


def checksum(content: dict[str, Any]) -> str:
    """Return what tells whether content was changed."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def as_text(content: dict[str, Any]) -> str:
    """Return content as the text of a file, with its checksum."""
    text = json.dumps({**content, "sha256": checksum(content)}, indent=2)
    # Each list of plain numbers on one line, for people; no string can look like one.
    return (
        re.sub(
            r"\[\n\s*([^\[\]{}\"]*?)\s*\]",
            lambda found: "[" + re.sub(r",\s+", ", ", found.group(1)) + "]",
            text,
        )
        + "\n"
    )


def parsed(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Any]:
    """Return the content of a file, and the checksum it carries."""
    try:
        content = json.loads(
            Path(path).read_text(encoding="utf-8"), parse_constant=_refuse_constant
        )
    except ValueError as error:
        raise PolicyError(f"{path} is not a whole JSON file: {error}.") from error
    if not isinstance(content, dict):
        raise PolicyError(f"{path} is not a policy of abstain.")
    return content, content.pop("sha256", None)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number that a policy may hold")
