"""The inner loops over rows, and nothing else.

Functions here take and return plain arrays, check nothing, and are called only from the room
that owns the algorithm. They are NumPy on pieces of the rows that fit into near memory. Pieces do
not depend on the number of threads, so neither do the results (see ``_pieces``).
"""
