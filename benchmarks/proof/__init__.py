"""Side by side with peers, on the same data, seeds and splits: ``make proof``.

``python -m benchmarks.proof`` measures every section and writes the page *Evidence* of the
documentation; ``python -m benchmarks.proof estimates census`` measures one row and prints it. Ours
is the public API with its default settings. The peers are other packages, in an environment of
their own (``pip install --group proof``). The folder of prediction sets is named by the variable
ABSTAIN_DATA. What is not there is skipped and said on the page.

A section is a module of this folder:

- ``TITLE``, ``ABOUT`` (Markdown: what is compared, on what, how each peer was set up) and
  ``COLUMNS`` (of its table, after the row's name);
- ``names()``, the rows that can be made here, and ``skipped()``, what cannot and why;
- ``lines(name)``, one or more printed lines of a row, as ``{"method": "ours", "MAE": 0.01}``;
- ``verdict(found)``, Markdown computed from the lines of all rows: where ours loses comes first;
- ``headline(found)``, if it likes: the best peer, ours, and the verdict in a few words each, for
  the table on top of the page. Without it the first sentence of the verdict stands there;
- ``LOWEST``, if it likes: columns of which the lowest figure of a line is set in bold;
- ``ALONE = True``, if it likes: its rows are measured one at a time, as timings ask for.

How often something is repeated is asked of ``repeats``, so that ``--quick`` can take fewer.
"""

import os

__all__ = ["QUICK", "SECTIONS", "repeats"]

#: In the order of the page; what times things comes last.
SECTIONS = ("estimates", "proportions", "decisions", "targets", "risk_coverage", "speed")

#: The variable by which workers learn of ``--quick``.
QUICK = "ABSTAIN_PROOF_QUICK"


def repeats(full: int, quick: int) -> int:
    """Return how often to repeat: ``full`` times, or ``quick`` times with ``--quick``."""
    return quick if os.environ.get(QUICK) else full
