"""The inner loops over rows, and nothing else.

Functions here take and return plain arrays, check nothing, and are called only from the room
that owns the algorithm. Nearly all are NumPy on pieces of the rows that fit into near memory;
what NumPy cannot do is compiled on its first call (see ``_jit``). Pieces do not depend on the
number of threads, so neither do the results (see ``_pieces``).
"""
