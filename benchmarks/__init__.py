"""Speed and memory, printed as ratios measured in one run: ``make bench``.

Each ``bench_*.py`` has a ``run()`` that returns rows. ``python -m benchmarks ranking`` runs only
the files whose names contain a word.
"""
