"""The file of a policy: what it may hold, its text and its checksum, and its versions.

``_declaration`` is the schema, key by key, in the kinds of value of ``_kinds`` and ``_records``;
``_agreement`` says what its parts must agree in. ``_text`` reads and writes, and ``_versions``
lifts old files. What passes here is of the right types, shapes and sizes, and finite: nothing that
reads a policy has to ask again. It is no judgement on where the file comes from; that is what a
signature is for.
"""

from __future__ import annotations

from abstain._schema._declaration import POLICY as POLICY
from abstain._schema._declaration import conforming
from abstain._schema._records import listed as listed
from abstain._schema._text import (
    as_text,
    check_signature,
    check_whole,
    checksum,
    is_nested,
    parsed,
    signature,
)
from abstain._schema._versions import FORMAT, SCHEMA_VERSION, lifted
from abstain._schema._versions import LIFTS as LIFTS

__all__ = [
    "FORMAT",
    "SCHEMA_VERSION",
    "as_text",
    "check_signature",
    "check_whole",
    "checksum",
    "conforming",
    "is_nested",
    "lifted",
    "parsed",
    "signature",
]
