"""Operations as the nodes of a graph: a column is n x 1, so that it goes with blocks as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain.program import TIED, Value, slack

# What one file of the format may hold, less room for the nodes.
_LARGEST = 2**31 - 2**27
#: The operations that are one node each.
_NODES = {
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "exp": "Exp",
    "log": "Log",
    "size": "Abs",
    "maximum": "Max",
    "minimum": "Min",
    "at_least": "GreaterOrEqual",
    "at_most": "LessOrEqual",
    "above": "Greater",
    "below": "Less",
    "both": "And",
    "either": "Or",
    "opposite": "Not",
    "where": "Where",
}


class Graph:
    """Nodes and constants of a graph in the making; values are their names."""

    def __init__(self, onnx: Any, n_classes: int) -> None:
        self.onnx = onnx
        self.n_classes = n_classes
        self.size = 0
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def perform(self, value: Value, given: Sequence[Any]) -> str:
        """Add an operation; return the name of what it makes."""
        if value.operation in _NODES:
            return self.node(_NODES[value.operation], *given)
        made: str = getattr(self, value.operation)(*given)
        return made

    def node(self, operation: str, *inputs: Any, output: str | None = None, **options: Any) -> str:
        """Add a node; inputs are names, or numbers, whole ones as such."""
        name = output or f"value_{len(self.nodes)}"
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        self.nodes.append(self.onnx.helper.make_node(operation, names, [name], **options))
        return name

    def constant(self, values: Any) -> str:
        array = np.asarray(values)
        array = array.astype(np.int64 if array.dtype.kind in "iub" else np.float64)
        self.size += array.nbytes
        if self.size > _LARGEST:
            raise ValueError(
                f"The policy is too large for an ONNX model, which holds at most 2 GB: its "
                f"numbers take {self.size / 1e9:.1f} GB and more. It has {self.n_classes} "
                f"classes; a calibration such as 'bcts' takes less."
            )
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def cast(self, value: str, dtype: Any) -> str:
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.node("Cast", value, to=kind)

    def _count(self, truths: str, axis: int = 1, keepdims: int = 1) -> str:
        whole = self.cast(truths, np.int64)
        return self.node("ReduceSum", whole, [axis], keepdims=keepdims)

    def column(self, block: str, place: int) -> str:
        return self.columns(block, [place])

    def columns(self, block: str, places: Sequence[int]) -> str:
        return self.node("Gather", block, [*places], axis=1)

    def block(self, *columns: str) -> str:
        return self.node("Concat", *columns, axis=1)

    def only_where(self, condition: str, value: str) -> str:
        return self.node("Where", condition, value, np.nan)

    def largest(self, block: str) -> str:
        return self.top(block, 1)

    def total(self, block: str) -> str:
        return self.node("ReduceSum", block, [1], keepdims=1)

    def any(self, block: str) -> str:
        return self.node("Greater", self._count(block), 0)

    def all(self, block: str) -> str:
        return self.node("Equal", self._count(self.node("Not", block)), 0)

    def top(self, block: str, k: int) -> str:
        name = f"top_{len(self.nodes)}"
        outputs = [name, f"{name}_columns"]
        given = [block, self.constant([k])]
        self.nodes.append(self.onnx.helper.make_node("TopK", given, outputs, axis=1))
        return name

    def first_true(self, block: str) -> str:
        return self.node("ArgMax", self.cast(block, np.float64), axis=1, keepdims=1)

    def first_highest(self, block: str, apart: float) -> str:
        highest = self.largest(block)
        slack = self.node("Mul", self.node("Abs", highest), max(apart, TIED))
        least = self.node("Sub", highest, slack)
        return self.first_true(self.node("GreaterOrEqual", block, least))

    def pick(self, block: str, place: str) -> str:
        return self.node("GatherElements", block, place, axis=1)

    def is_any_of(self, place: str, columns: Sequence[int]) -> str:
        return self.node("Equal", place, [*columns])

    def mixed(self, block: str, matrix: NDArray[Any]) -> str:
        return self.node("MatMul", block, matrix)

    def reaches(self, value: str, edge: float) -> str:
        return self.node("GreaterOrEqual", value, edge - slack(edge))

    def stays_within(self, value: str, edge: float) -> str:
        return self.node("LessOrEqual", value, edge + slack(edge))

    def in_any_box(
        self,
        block: str,
        place: str,
        columns: Sequence[int],
        lower: NDArray[Any],
        upper: NDArray[Any],
    ) -> str:
        """Tell for all boxes at once, along a third axis."""
        if not columns:
            return self.node("Less", place, 0)
        # An edge belongs to the box below it, so both ends move up by the slack.
        p = self.node("Unsqueeze", block, [1])
        above = self.node("Greater", p, lower + slack(lower))
        below = self.node("LessOrEqual", p, upper + slack(upper))
        faces = self._count(self.node("And", above, below), axis=2, keepdims=0)
        inside = self.node("Equal", faces, lower.shape[1])
        return self.any(self.node("And", inside, self.is_any_of(place, columns)))

    def interpolated(self, column: str, knots: NDArray[Any], values: NDArray[Any]) -> str:
        # A piece before the first knot and one after the last, both flat.
        rise = np.concatenate([[0.0], np.diff(values) / np.diff(knots), [0.0]])
        start, height = np.append(knots[0], knots), np.append(values[0], values)
        piece = self._count(self.node("GreaterOrEqual", column, knots))
        own = [self.node("Gather", part, piece) for part in (start, height, rise)]
        risen = self.node("Mul", self.node("Sub", column, own[0]), own[2])
        return self.node("Add", risen, own[1])
