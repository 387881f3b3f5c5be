"""Speed and memory, printed as ratios measured in one run: ``make bench``.

Each ``bench_*.py`` has a ``run()`` that returns rows. ``python -m benchmarks ranking`` runs only
the files whose names contain a word; ABSTAIN_BENCH_ROWS=100000 keeps whole calls to so many rows.
``python -m benchmarks people`` times what people wait for, beside what was set for each call.
``python -m benchmarks.passes`` counts what a call passes through.
``python -m benchmarks.honesty`` measures whether estimates without labels hold.
"""
