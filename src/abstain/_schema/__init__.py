"""The file of a policy: the kinds of value that it holds, its text and checksum, its versions.

What a part of a policy holds is said where the part is, in the kinds of ``_kinds``, and the whole
in ``policy``. ``_text`` reads and writes, and lifts old files. What passes here is of the right
types, shapes and sizes, and finite: nothing that reads a policy has to ask again. It is no
judgement on where the file comes from; that is what a signature is for.
"""

from __future__ import annotations

from abstain._schema._kinds import AMOUNT as AMOUNT
from abstain._schema._kinds import EDGE as EDGE
from abstain._schema._kinds import FOUND as FOUND
from abstain._schema._kinds import LONG_NAME as LONG_NAME
from abstain._schema._kinds import MOST as MOST
from abstain._schema._kinds import NAME as NAME
from abstain._schema._kinds import SCALE as SCALE
from abstain._schema._kinds import SHARE as SHARE
from abstain._schema._kinds import ByName as ByName
from abstain._schema._kinds import Constant as Constant
from abstain._schema._kinds import Either as Either
from abstain._schema._kinds import Flag as Flag
from abstain._schema._kinds import Keys as Keys
from abstain._schema._kinds import Kind as Kind
from abstain._schema._kinds import Labels as Labels
from abstain._schema._kinds import ListOf as ListOf
from abstain._schema._kinds import MadeByOthers as MadeByOthers
from abstain._schema._kinds import MapOf as MapOf
from abstain._schema._kinds import Number as Number
from abstain._schema._kinds import Numbers as Numbers
from abstain._schema._kinds import OneOf as OneOf
from abstain._schema._kinds import Record as Record
from abstain._schema._kinds import Text as Text
from abstain._schema._kinds import Whole as Whole
from abstain._schema._kinds import amounts as amounts
from abstain._schema._kinds import listed as listed
from abstain._schema._kinds import proportions as proportions
from abstain._schema._kinds import shown as shown
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
