"""The versions of the policy file, and how one becomes the next.

A file of every version loads forever. A library reads the keys that ``_declaration`` has and
refuses others, so within a version keys are only added where a file that has them is not meant for
an older library, and with a meaning for files that lack them. Anything else is a new version:
raise ``SCHEMA_VERSION`` and add to ``LIFTS`` the function that makes plain data of the version
before into data of the new one. Nothing else reads old files. A lift is given data that nobody has
checked yet: what it does not find as it should be it leaves, for the schema to complain of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from abstain._schema._kinds import shown
from abstain.exceptions import PolicyError

__all__ = ["FORMAT", "LIFTS", "SCHEMA_VERSION", "lifted"]

FORMAT = "abstain-policy"
# 2: which of two classes is positive, and the order in which arrays of scores come.
SCHEMA_VERSION = 2

# What may be put into a command to install it.
_VERSION = re.compile(r"[0-9][0-9a-z.+]{0,40}")

Lift = Callable[[dict[str, Any]], dict[str, Any]]


def _with_positive(data: dict[str, Any]) -> dict[str, Any]:
    """Say what went without saying: of two classes the last was positive, scores came in order."""
    classes, assumption = data.get("classes"), data.get("assumption")
    positive = classes[1] if isinstance(classes, list) and len(classes) == 2 else None
    data |= {"positive": positive, "columns": classes}
    if isinstance(assumption, dict) and "assumed" not in assumption:
        # Version 0.1 stored the check alone, of policies that were adapted.
        data["assumption"] = {"assumed": "label-shift", "check": assumption, "doubts": []}
    return data


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
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise PolicyError(f"This is not a policy of abstain: no format {FORMAT!r} in it.")
    version = data.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise PolicyError(
            f"The policy has schema version {shown(version)}, which never was; the file is "
            f"damaged. Make the policy again."
        )
    if version > newest:
        known = "version 1" if newest == 1 else f"versions 1 to {newest}"
        maker = data.get("library_version")
        named = f">={maker}" if isinstance(maker, str) and _VERSION.fullmatch(maker) else ""
        raise PolicyError(
            f"The policy has schema version {shown(version)}; this library ({library}) reads "
            f"{known}. A newer library made it: pip install --upgrade 'abstain{named}', or make "
            f"the policy again with this one."
        )
    for step in range(version, newest):
        data = {**lifts[step](dict(data)), "schema_version": step + 1}
    return data
