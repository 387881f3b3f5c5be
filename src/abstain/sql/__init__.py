"""The frozen rule as one SELECT, to run in the warehouse where the rows live.

A binary rule on one score column becomes comparisons of that column with numbers, found so that
they decide as ``Policy.apply`` does about every number there is. Any other rule computes in double
precision what ``Policy.apply`` does, one operation after the other.
"""

from __future__ import annotations

from abstain.sql._query import to_sql

__all__ = ["to_sql"]
