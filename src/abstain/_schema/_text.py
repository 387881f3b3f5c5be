"""The text of a policy file: written, read within limits, told from a changed one, and lifted.

The checksum finds damage: a cut file, a slip of an editor. Who changes a file on purpose writes
the checksum of what they wrote, so only a signature, which takes a key, finds that.

A file of every version loads forever. A library reads the keys that ``_declaration`` has and
refuses others, so within a version keys are only added where a file that has them is not meant for
an older library, and with a meaning for files that lack them. Anything else is a new version:
raise ``SCHEMA_VERSION`` and add to ``LIFTS`` the function that makes plain data of the version
before into data of the new one. Nothing else reads old files. A lift is given data that nobody has
checked yet: what it does not find as it should be it leaves, for the schema to complain of.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from abstain._schema._kinds import shown
from abstain.exceptions import PolicyError, Way

#: Bytes of a file that are read: two matrices of 2,500 classes, with all digits.
LARGEST_FILE = 2**28
_PIECE = 2**20
#: How deep lists and objects may stand inside each other; those of the schema stand 6 deep.
DEEPEST = 16
#: The keys of a file beside its content.
CHECKSUM, SIGNATURE = "sha256", "hmac_sha256"
#: What a pickle of every protocol since 2 begins with, and no text in UTF-8 does.
PICKLED = b"\x80"
# Whoever can try all keys of fewer bytes needs none.
_SHORTEST_KEY = 16

_NO_BRACKETS = bytes({*range(256)} - {*b'[]{}"'})


def checksum(content: dict[str, Any]) -> str:
    """Return what tells whether content was changed."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def signature(sha256: str, key: bytes) -> str:
    """Return what only somebody with the key can make of a checksum: its HMAC-SHA256, in hex."""
    if not isinstance(key, bytes | bytearray):
        raise TypeError(
            f"`key` must be bytes; got {type(key).__name__}. Make one with "
            f"secrets.token_bytes(32); one that is kept as text in hex is bytes.fromhex(text)."
        )
    if len(key) < _SHORTEST_KEY:
        raise ValueError(
            f"`key` must have {_SHORTEST_KEY} bytes or more; got {len(key)}. Make one with "
            f"secrets.token_bytes(32)."
        )
    return hmac.new(key, f"abstain-policy {sha256}".encode(), hashlib.sha256).hexdigest()


def as_text(content: dict[str, Any], key: bytes | None = None) -> str:
    """Return content as the text of a file, with its checksum, and signed where there is a key."""
    found = checksum(content)
    beside = (
        {CHECKSUM: found} if key is None else {CHECKSUM: found, SIGNATURE: signature(found, key)}
    )
    text = json.dumps({**content, **beside}, indent=2)
    # Each list of plain numbers on one line, for people; no string can look like one.
    text = re.sub(
        r"\[\n\s*([^\[\]{}\"]*?)\s*\]",
        lambda found: "[" + re.sub(r",\s+", ", ", found.group(1)) + "]",
        text,
    )
    if len(text) > LARGEST_FILE:
        raise PolicyError(
            f"The policy is too large to be kept: {len(text):,} bytes, of at most "
            f"{LARGEST_FILE:,}. A score (score='entropy') needs no matrix of all classes.",
            ways=[Way("score", "entropy", "score='entropy'")],
        )
    return text + "\n"


def parsed(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Any, Any]:
    """Return the content of a file, the checksum and the signature that it carries."""
    given = os.fspath(path)
    name = given if isinstance(given, str) else os.fsdecode(given)
    try:
        with open(name, "rb") as file:
            # One more than there may be tells a file that does not end. In pieces, as what is
            # asked for at once is set aside at once, however small the file is.
            pieces: list[bytes] = []
            while (left := LARGEST_FILE + 1 - sum(map(len, pieces))) and (
                piece := file.read(min(left, _PIECE))
            ):
                pieces.append(piece)
            raw = b"".join(pieces)
    except IsADirectoryError as error:
        raise PolicyError(f"{name} is a folder, not the file of a policy.") from error
    if len(raw) > LARGEST_FILE:
        raise PolicyError(
            f"{name} is no policy: it has more than {LARGEST_FILE:,} bytes, the most of one."
        )
    if not raw.strip():
        raise PolicyError(f"{name} is not a whole JSON file: it is empty.")
    if raw[:1] == PICKLED:
        raise PolicyError(
            f"{name} is a pickle, which is never loaded: it may run code of whoever made it. "
            "A policy is JSON, such as a run writes."
        )
    if is_nested(raw, DEEPEST):
        raise PolicyError(
            f"{name} is not a whole JSON file: its brackets do not close, or stand more than "
            f"{DEEPEST} deep."
        )
    try:
        content = json.loads(
            raw.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_distinct
        )
    except ValueError as error:
        raise PolicyError(f"{name} is not a whole JSON file: {error}.") from error
    if not isinstance(content, dict):
        raise PolicyError(f"{name} is not a policy of abstain.")
    return content, content.pop(CHECKSUM, None), content.pop(SIGNATURE, None)


def is_nested(raw: bytes, deepest: int) -> bool:
    """Tell whether brackets of JSON stand deeper inside each other, or are not all closed.

    The parser goes down as deep as they do. As far as it would read, this agrees with it on what
    is text and what is not. Each pass takes away the innermost pairs of what is left.
    """
    outside = raw.replace(rb"\\", b"").replace(rb"\"", b"").translate(None, _NO_BRACKETS)
    left = re.sub(rb'"[^"]*"', b"", outside)
    for _ in range(deepest):
        if not left:
            return False
        left = left.replace(b"[]", b"").replace(b"{}", b"")
    return bool(left)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice[:60]!r} stands twice in one object")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number that a policy may hold")


def check_whole(content: dict[str, Any], written: Any, path: Any) -> None:
    """Raise unless the content of a file has the checksum that the file carries."""
    try:
        found = checksum(content)
    except ValueError as error:
        # A number such as 1e999 is infinite once it is read.
        raise PolicyError(f"{path} holds a number that is not finite: {error}.") from error
    if written != found:
        raise PolicyError(
            f"{path} was changed after it was written: its checksum does not match. "
            f"Make the policy again rather than editing it."
        )


def check_signature(signed: Any, sha256: str, key: bytes, what: str) -> None:
    """Raise unless a signature is that of a checksum, by a key."""
    right = signature(sha256, key)
    if signed is None:
        raise PolicyError(
            f"{what} is not signed, and a key was given. Sign it where it is made, with "
            f"policy.save(path, key=key)."
        )
    # Compared as bytes: text that is not ASCII is no signature and no error either.
    if not isinstance(signed, str) or not hmac.compare_digest(signed.encode(), right.encode()):
        raise PolicyError(
            f"{what} does not have the signature of this key: it was signed with another, or is "
            f"not what was signed. Do not use it before you know which."
        )


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
