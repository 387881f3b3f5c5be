"""Class proportions of a stream, row by row: many windows, weighed by what they foresee.

Not in the paper, whose batches come at once. Each window forgets at a rate of its own and takes
one step of EM a row (Cappé & Moulines, 2009); windows are mixed as experts under the logarithmic
loss (Herbster & Warmuth, 1998), whose share goes to a window as far as it foresaw the rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import FloatArray, check_priors, check_proba, check_sample_weight
from abstain._schema import MOST, Number, Numbers, Record, proportions
from abstain.shift._base import GONE, ratio_of_priors

# How many rows a window remembers: of 16, 32 and so on, and all.
_WINDOWS = np.append(2.0 ** np.arange(4, 16), np.inf)
_KEPT = (1 - 1 / _WINDOWS)[:, None]
# So many rows at the source's proportions each window begins with, and never quite forgets.
_PRIOR_ROWS = 3.0
# A weight beyond so many is taken in as many steps, each of more than one row.
_MOST_STEPS = 1_000
# What a row is divided by at least.
_LEAST = 1e-300
_STATE = Record(
    {
        "source_priors": proportions("classes"),
        "counts": Numbers((len(_WINDOWS), "classes"), low=0),
        "weights": Numbers((len(_WINDOWS),), low=0, high=1, sums=True),
        "n_seen": Number(0, MOST),
    }
)


class OnlineProportions:
    r"""Class proportions of a stream, followed row by row in constant memory.

    No window is to be set: many are kept, from the last 16 rows to all there were, and each counts
    for what it foresaw of the rows since.

    Parameters
    ----------
    source_priors : array-like of shape (n_classes,) or float
        The class proportions that the probabilities were calibrated at, such as the mean
        calibrated probability of the validation data, or ``policy.source_priors``; a number is of
        the positive class of two.

    Attributes
    ----------
    priors : ndarray of shape (n_classes,)
        The class proportions that the next row is expected to come from.
    windows : dict of float to float
        How much each window counts now, by how many rows it remembers.
    n_seen : float
        How many rows were taken in, by weight.

    Notes
    -----
    A window of W rows has counts of the classes, :math:`c \leftarrow (1 - 1/W)\, c + p(y \mid x)`,
    where the row is adapted to the window's own proportions
    :math:`q \propto c + 3 s`, with s the source's. Under label shift a row has likelihood
    :math:`\sum_y q_y\, p(y \mid x) / s_y`. Each window's weight is multiplied by it; then a share
    of 1 / (t + 1) of all weight goes to all windows alike. The mixture of all q is ``priors``. So
    over any stretch its logarithmic loss is behind the best window's by no more than some
    multiple of log T, whatever the stream does and whenever it changes.

    Rows come in order: parts give the same as all at once, and one at a time.

    References
    ----------
    O. Cappé, E. Moulines (2009). On-line expectation-maximization algorithm for latent data
    models. Journal of the Royal Statistical Society B 71(3).
    M. Herbster, M. K. Warmuth (1998). Tracking the best expert. Machine Learning 32.

    Examples
    --------
    >>> import numpy as np
    >>> from abstain.shift import OnlineProportions
    >>> rows = np.array([[0.9, 0.1]] * 200 + [[0.1, 0.9]] * 100)
    >>> online = OnlineProportions([0.5, 0.5]).update(rows[:200])
    >>> online.priors.round(2)
    array([1., 0.])
    >>> online.update(rows[200:]).priors.round(2)
    array([0., 1.])
    """

    def __init__(self, source_priors: ArrayLike) -> None:
        n_classes = 2 if np.ndim(source_priors) == 0 else np.size(source_priors)
        self.source_priors = check_priors(source_priors, n_classes=n_classes, name="source_priors")
        self.source_priors[self.source_priors < GONE] = 0.0
        self._inverse = ratio_of_priors(np.ones(n_classes), self.source_priors)
        self._counts = np.zeros((len(_WINDOWS), n_classes))
        self._weights = np.full(len(_WINDOWS), 1 / len(_WINDOWS))
        self._each = self._proportions()
        self.n_seen = 0.0

    @property
    def priors(self) -> FloatArray:
        """The class proportions that the next row is expected to come from."""
        found: FloatArray = self._weights @ self._each
        found /= found.sum()
        return found

    @property
    def windows(self) -> dict[float, float]:
        """How much each window counts now, by how many rows it remembers."""
        return dict(zip(_WINDOWS.tolist(), self._weights.tolist(), strict=True))

    def update(self, proba: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Take in the next rows, in the order they come.

        Parameters
        ----------
        proba : array-like of shape (n, n_classes), or (n,) for the positive class of two
            Calibrated probabilities, not adapted; there may be no rows.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; a whole number (up to 1,000) equals repetition.

        Returns
        -------
        self
        """
        self.adapt(proba, sample_weight)
        return self

    def adapt(self, proba: ArrayLike, sample_weight: ArrayLike | None = None) -> FloatArray:
        """Adapt the next rows, each to what was known before it came, and take them in.

        Parameters
        ----------
        proba, sample_weight
            As for :meth:`update`.

        Returns
        -------
        ndarray of shape (n, n_classes)
            The probabilities, adapted.
        """
        n_classes = len(self.source_priors)
        if np.ndim(proba) and not len(proba):  # type: ignore[arg-type]
            return np.empty((0, n_classes))
        rows = check_proba(proba, n_classes=n_classes)
        weight = check_sample_weight(sample_weight, n_rows=len(rows))
        each = np.ones(len(rows)) if weight is None else weight
        # Up to a factor, how likely each row is of a class, whatever the proportions.
        likely = rows * self._inverse
        product = np.empty_like(rows)
        for row, weighs in enumerate(each.tolist()):
            product[row] = likely[row] * (self._weights @ self._each)
            n_steps = min(math.ceil(weighs), _MOST_STEPS)
            for _ in range(n_steps):
                self._step(likely[row], weighs / n_steps)
        total = product.sum(axis=1, keepdims=True)
        found: FloatArray = np.divide(product, total, out=rows.copy(), where=total > 0)
        return found

    def _step(self, likely: FloatArray, weighs: float) -> None:
        """Take in one row: how much each window counts, and what it remembers."""
        foreseen = self._each @ likely
        best = foreseen.max()
        self.n_seen += weighs
        if not best > 0:
            # Of none of the source's classes, so it says nothing about them.
            return
        self._weights *= (foreseen / best) ** weighs
        share = weighs / (self.n_seen + 1)
        self._weights *= (1 - share) / self._weights.sum()
        self._weights += share / len(_WINDOWS)
        self._counts *= _KEPT**weighs
        self._counts += self._each * likely * (weighs / np.maximum(foreseen, _LEAST))[:, None]
        self._each = self._proportions()

    def _proportions(self) -> FloatArray:
        """Return the class proportions by each window."""
        total = self._counts.sum(axis=1, keepdims=True) + _PRIOR_ROWS
        found: FloatArray = (self._counts + _PRIOR_ROWS * self.source_priors) / total
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return where it stands as plain data, to go on later from :meth:`from_dict`."""
        return {
            "source_priors": self.source_priors.tolist(),
            "counts": self._counts.tolist(),
            "weights": self._weights.tolist(),
            "n_seen": self.n_seen,
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Go on from where :meth:`to_dict` left."""
        held = _STATE.read(state, "state", {})
        found = cls(held["source_priors"])
        found._counts, found._weights = held["counts"], held["weights"]
        found._weights /= found._weights.sum()
        found._each = found._proportions()
        found.n_seen = float(held["n_seen"])
        return found
