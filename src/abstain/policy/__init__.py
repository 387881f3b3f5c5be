"""Policy: the frozen rule, as data, to save, load and apply to new rows.

A policy file is JSON that a person can read. It holds numbers and names, nothing executable,
and a checksum that tells an edited or damaged file from a whole one.
"""

from __future__ import annotations

from abstain.policy._policy import Policy

__all__ = ["Policy"]
