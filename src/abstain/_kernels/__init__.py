"""The compiled inner loops, and nothing else.

Functions here take and return plain arrays, check nothing, and are called only from the room
that owns the algorithm. Sums that run in parallel are cut into blocks whose number does not
depend on the number of threads, so that neither do the results.
"""
