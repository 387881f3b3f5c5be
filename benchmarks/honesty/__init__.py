"""Does the figure without labels hold? Coverage, width, bias and error on real and simulated sets.

``python -m benchmarks.honesty --quick`` prints the tables in minutes; without ``--quick`` every
cell has 200 runs. Only the public API is used, with its default settings, so that versions can be
compared: ``--json FILE`` keeps the figures and ``--before FILE`` prints those of another version
beside the new ones. The folder of prediction sets is named by the variable ABSTAIN_DATA; what is
not there, or needs a package that is not installed, is skipped and said.
"""
