"""Dirichlet calibration: each class's log-odds from the log-probabilities of all classes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy import linalg

from abstain._inputs import FloatArray, IntArray, Scale
from abstain._kernels.softmax import linear_softmax_loss
from abstain._numerics import one_blas_thread
from abstain._schema import Keys
from abstain.calibration._base import PRIOR_ROWS, RegularisedCalibrator, smoothed_targets
from abstain.program import Value, log_softmax, of_rows, softmax

# A faint pull of the diagonal to 1 settles what scores without an error leave open.
_DIAGONAL = 1e-6
# Mean squares below this are nothing: their share would be no number.
_NO_SIZE = 1e-200


class DirichletCalibration(RegularisedCalibrator):
    """Dirichlet calibration with off-diagonal regularisation.

    Parameters
    ----------
    scale : {"probabilities", "logits"}
        What the scores are.
    off_diagonal : float
        Penalty on the mean square of the weights between different classes.
    intercept : float
        Penalty on the mean square of the biases.
    prior_rows : float
        How many rows the prior is worth, which keeps scores that separate few rows from being
        stretched to certainty; 0 for none.

    Attributes
    ----------
    matrix_ : ndarray of shape (n_classes, n_classes)
        Weight of each class's log-probability (row) in each class's score (column).
    bias_ : ndarray of shape (n_classes,)
        What is added.
    classes_ : ndarray of shape (n_classes,)
        The label of each column.

    Notes
    -----
    ``p = softmax(log(p) W + b)``, which minimises the log loss plus ``off_diagonal`` times the
    mean square of W off its diagonal plus ``intercept`` times the mean square of b; convex. A
    class without examples keeps its own column of W as in the identity.

    References
    ----------
    M. Kull et al. (2019). Beyond temperature scaling: obtaining well-calibrated multiclass
    probabilities with Dirichlet calibration. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from abstain.calibration import DirichletCalibration
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=300)
    >>> scores = np.eye(3)[y] + rng.normal(size=(300, 3))
    >>> dirichlet = DirichletCalibration(scale="logits").fit(scores, y)
    >>> dirichlet.matrix_.shape
    (3, 3)
    """

    name: ClassVar[str] = "dirichlet"
    state: ClassVar[Keys] = {"matrix_": ("classes", "classes"), "bias_": ("classes",)}

    matrix_: FloatArray
    bias_: FloatArray

    def __init__(
        self,
        *,
        scale: Scale = "probabilities",
        off_diagonal: float = 1e-3,
        intercept: float = 1e-3,
        prior_rows: float = PRIOR_ROWS,
    ) -> None:
        super().__init__(scale=scale, prior_rows=prior_rows)
        self.off_diagonal = off_diagonal
        self.intercept = intercept

    def _fit(self, logits: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        for name in ("off_diagonal", "intercept"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"`{name}` must be at least 0; got {getattr(self, name)!r}.")
        logs = of_rows(log_softmax, logits)
        n, k = logs.shape
        share = weight / weight.sum()
        n_blocks = int(np.clip(n // k, 1, 16))
        present = np.bincount(codes, weights=weight, minlength=k) > 0
        identity = np.vstack([np.eye(k), np.zeros(k)])
        penalty = np.full((k + 1, k), self.off_diagonal / (k * (k - 1)))
        np.fill_diagonal(penalty, _DIAGONAL / k)
        penalty[k] = self.intercept / k
        whitening = _whitening(logs, share)
        # The loss is linear in what rows aim at, so the prior adds a fixed slope to it.
        away_from_own = np.eye(k) - smoothed_targets(codes, weight, k, self.prior_rows)
        with_constant = np.column_stack([logs, np.ones(n)])
        by_class = np.stack([np.bincount(codes, share * z, minlength=k) for z in with_constant.T])
        prior = by_class @ away_from_own

        def place(x: FloatArray) -> FloatArray:
            matrix = identity.copy()
            matrix[:, present] += whitening @ x.reshape(k + 1, -1)
            return matrix

        def objective(x: FloatArray) -> tuple[float, FloatArray]:
            matrix = place(x)
            loss, by_matrix, by_bias = linear_softmax_loss(
                logs, codes, share, matrix[:k], matrix[k], n_blocks
            )
            away = matrix - identity
            gradient = np.vstack([by_matrix, by_bias]) + prior + 2 * penalty * away
            value = loss + float(np.sum(prior * matrix + penalty * away**2))
            return value, (whitening.T @ gradient[:, present]).ravel()

        from scipy.optimize import minimize  # slow to import

        with one_blas_thread():
            found = minimize(
                objective,
                np.zeros((k + 1) * int(present.sum())),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": 1000, "ftol": 1e-9, "gtol": 1e-5, "maxcor": 20},
            )
        matrix = place(found.x)
        self.matrix_, self.bias_ = matrix[:k], matrix[k]

    def operations(self, logits: Value) -> Value:
        """State the probabilities of a block of logits."""
        return softmax(log_softmax(logits) @ self.matrix_ + self.bias_)


def _whitening(logs: FloatArray, share: FloatArray) -> FloatArray:
    """Return the change of variables that makes the scores, and a constant, uncorrelated.

    In the new variables the log loss curves about equally in all directions, which takes the
    descent from thousands of steps to tens.
    """
    k = logs.shape[1]
    moments = np.empty((k + 1, k + 1))
    moments[:k, :k] = np.einsum("xi,x,xj->ij", logs, share, logs)
    moments[:k, k] = moments[k, :k] = share @ logs
    moments[k, k] = 1.0
    sizes = np.diag(moments)
    # A class that is certain in every row has logarithms of 0, which move nothing.
    moments += np.diag(np.where(sizes > _NO_SIZE, 1e-9 * sizes, 1.0))
    return np.asarray(linalg.solve_triangular(np.linalg.cholesky(moments).T, np.eye(k + 1)))
