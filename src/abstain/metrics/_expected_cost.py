"""Expected cost of the predictions under a matrix of costs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import FloatArray, check_penalties
from abstain.metrics._base import Decision
from abstain.metrics._confusion import BaseConfusionMetric, Solver
from abstain.metrics._names import check_matrix_fits, matrix_from_name, matrix_in_name


class ExpectedCost(BaseConfusionMetric):
    r"""Mean cost of a prediction.

    Lower is better, in the unit of the costs.

    Parameters
    ----------
    costs : array-like of shape (n_classes, n_classes)
        Entry (i, j): the cost of predicting class i as class j. A negative cost is a reward. The
        order is that of ``classes_``: of two classes [negative, positive], or the sorted labels
        where neither is the positive one.
    solver : {"joint", "marginal"}
        How the examples to withhold are chosen; for a cost both give the same.

    Notes
    -----
    .. math:: \sum_{ij} M_{ij} C_{ij} / \sum_{ij} C_{ij}

    With ``decision="auto"``, as with ``"optimal"``, each example is predicted as the class of
    least expected cost, the rule of Bayes. By name, ``cost:FILE`` reads the matrix from a CSV
    file without header, and ``cost:[[0,1],[5,0]]`` is the matrix itself.

    Examples
    --------
    A missed case costs ten times a false alarm:

    >>> from abstain.metrics import ExpectedCost
    >>> ExpectedCost([[0, 1], [10, 0]]).expected([[0.9, 0.1], [0.4, 0.6]])
    0.7
    """

    greater_is_better = False
    head: ClassVar[str] = "cost"
    example: ClassVar[str] = "cost:FILE"
    summary: ClassVar[str] = "mean cost of a prediction, costs from a CSV matrix (lower is better)"

    def __init__(self, costs: ArrayLike, *, solver: Solver = "joint") -> None:
        self.costs = costs
        super().__init__(solver=solver)

    def check_parameters(self) -> None:
        """Raise if a parameter is not what it should be."""
        super().check_parameters()
        check_penalties(self.costs, name="costs", allow_negative=True)

    @property
    def matrix(self) -> FloatArray:
        """The costs as an array."""
        return np.asarray(self.costs, dtype=np.float64)

    @property
    def name(self) -> str:
        """The registered name, with the matrix in it."""
        return f"{self.head}:{matrix_in_name(self.matrix)}"

    @classmethod
    def parse(cls, argument: str | None) -> Self:
        """Return the metric of the cost matrix in a name, or in a CSV file."""
        if argument is None:
            raise ValueError('`metric` "cost" needs a file with the matrix, as in "cost:FILE".')
        if argument.startswith("["):
            return cls(matrix_from_name(argument))
        return cls(_read_matrix(Path(argument)))

    def to_dict(self) -> dict[str, Any]:
        """Return the metric as plain data, with the matrix in it."""
        return super().to_dict() | {"name": self.head, "costs": self.matrix.tolist()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the metric that ``to_dict`` described; no file is read."""
        if "costs" not in data or data["name"] != cls.head:
            raise ValueError("`metric` cost has no 'costs', the matrix that belongs to it")
        return cls(data["costs"], solver=data.get("solver", "joint"))

    def check_n_classes(self, n_classes: int) -> None:
        """Raise if the matrix is not for this number of classes."""
        check_matrix_fits(self.matrix, n_classes, "costs")

    def value(self, confusion: FloatArray) -> float:
        """Return the mean cost of a confusion matrix."""
        total = confusion.sum()
        return float((self.matrix * confusion).sum() / total) if total > 0 else float("nan")

    def gradient(self, confusion: FloatArray) -> FloatArray:
        """Return the derivative of the mean cost by each entry of C."""
        total = confusion.sum()
        if total <= 0:
            return np.zeros_like(confusion)
        return np.asarray((self.matrix - self.value(confusion)) / total)

    def resolved(self, decision: Decision) -> Decision:
        """Return the class of least expected cost for ``"auto"``: each row has its own."""
        return "optimal" if decision == "auto" else decision


def _read_matrix(path: Path) -> FloatArray:
    # Unlike a path's own method this says no to names that no file can have.
    if not os.path.isfile(path):
        raise FileNotFoundError(
            f"`metric` cost:{path}: there is no such file. Give a CSV file with one row of "
            f"costs per true class and one column per predicted class, no header."
        )
    try:
        matrix: FloatArray = np.loadtxt(path, delimiter=",", ndmin=2, dtype=np.float64)
    except ValueError as error:
        raise ValueError(
            f"`metric` cost:{path}: the file must hold numbers separated by commas, the same "
            f"number in every row, no header; {error}."
        ) from error
    return matrix
