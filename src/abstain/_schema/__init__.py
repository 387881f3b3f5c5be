"""The file of a policy: what it may hold, its text and its checksum, and its versions.

``_declaration`` is the schema, key by key, in the kinds of value of ``_kinds``, and what its parts
must agree in. ``_text`` reads and writes, and lifts old files. What passes here is of the right
types, shapes and sizes, and finite: nothing that reads a policy has to ask again. It is no
judgement on where the file comes from; that is what a signature is for.
"""

from __future__ import annotations

from abstain._schema._declaration import POLICY as POLICY
from abstain._schema._declaration import conforming as conforming
from abstain._schema._kinds import listed as listed
from abstain._schema._text import FORMAT as FORMAT
from abstain._schema._text import LIFTS as LIFTS
from abstain._schema._text import SCHEMA_VERSION as SCHEMA_VERSION
from abstain._schema._text import as_text as as_text
from abstain._schema._text import check_signature as check_signature
from abstain._schema._text import check_whole as check_whole
from abstain._schema._text import checksum as checksum
from abstain._schema._text import is_nested as is_nested
from abstain._schema._text import lifted as lifted
from abstain._schema._text import parsed as parsed
from abstain._schema._text import signature as signature
