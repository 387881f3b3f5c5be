"""Whether class proportions can be told from the scores at all.

They cannot if one class's score distribution is a mixture of others': then many proportions
explain the same target.
"""

from __future__ import annotations

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels.proportions import mixture_derivatives
from abstain.exceptions import NotIdentifiable, Way

# Below this eigenvalue, of a matrix with ones on its diagonal, two columns differ by rounding.
_SINGULAR = 1e-10


def check_identifiable(proba: FloatArray, weight: FloatArray | None) -> None:
    """Raise ``NotIdentifiable`` if some columns of the source's probabilities are dependent.

    The matrix judged is the information about the proportions in one source row, where no
    class has moved.
    """
    ones = np.ones(proba.shape[1])
    rows = np.ascontiguousarray(proba)
    _, _, information = mixture_derivatives(rows, np.empty(0) if weight is None else weight, ones)
    require_regular(information)


def require_regular(matrix: FloatArray, columns: IntArray | None = None) -> None:
    """Raise ``NotIdentifiable``, naming the classes, if a matrix over classes is singular.

    ``columns`` are the classes its rows are for; all of them when not given.
    """
    classes = np.arange(len(matrix)) if columns is None else columns
    size = np.sqrt(np.diag(matrix))
    # A class without any probability is settled elsewhere: its proportion is 0.
    known = np.flatnonzero(size > 0)
    scaled = matrix[np.ix_(known, known)] / np.outer(size[known], size[known])
    values, vectors = np.linalg.eigh(scaled)
    if len(known) and values[0] >= _SINGULAR:
        return
    part = np.abs(vectors[:, 0])
    named = classes[known[part >= 0.1 * part.max()]]
    way = Way("shift", "none", 'pass their proportions (shift "known") or no shift (shift "none")')
    raise NotIdentifiable(
        f"The scores do not tell classes {_listed(named)} (columns, from 0) apart: on the source "
        f"the probabilities of one follow from those of the others, so their proportions in the "
        f"target cannot be estimated. Merge these classes, or {way}.",
        columns=tuple(int(column) for column in named),
        ways=[way],
    )


def _listed(columns: IntArray) -> str:
    names = [str(int(column)) for column in columns]
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]
