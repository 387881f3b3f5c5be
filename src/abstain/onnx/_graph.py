"""A graph in the making, whose values are computed with as NumPy's arrays are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from abstain._rowwise.program import TIED

# What one file of the format may hold, less room for the nodes.
_LARGEST = 2**31 - 2**27
_CONDITIONS = ("And", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Not", "Or")


def _binary(operation: str, *, swapped: bool = False) -> Callable[[Value, Any], Value]:
    def compute(own: Value, other: Any) -> Value:
        return own.graph.node(operation, *((other, own) if swapped else (own, other)))

    return compute


@dataclass(frozen=True, eq=False)
class Value:
    """A value of a graph: what NumPy's operators make of it is a node more."""

    graph: Graph
    name: str
    ndim: int
    is_condition: bool = False

    # NumPy's own arrays leave operators to this class.
    __array_ufunc__ = None
    __add__, __radd__ = _binary("Add"), _binary("Add", swapped=True)
    __sub__, __rsub__ = _binary("Sub"), _binary("Sub", swapped=True)
    __mul__, __rmul__ = _binary("Mul"), _binary("Mul", swapped=True)
    __truediv__, __rtruediv__ = _binary("Div"), _binary("Div", swapped=True)
    __matmul__ = _binary("MatMul")
    __and__ = _binary("And")
    __lt__, __le__ = _binary("Less"), _binary("LessOrEqual")
    __gt__, __ge__ = _binary("Greater"), _binary("GreaterOrEqual")
    __eq__ = _binary("Equal")  # type: ignore[assignment]

    def __neg__(self) -> Value:
        return self.graph.node("Neg", self)

    def __invert__(self) -> Value:
        return self.graph.node("Not", self)

    def __getitem__(self, key: Any) -> Value:
        """Return entries by their numbers, a column, some columns, or the rows with a new axis."""
        if isinstance(key, Value):
            return self.graph.node("Gather", self, key, ndim=key.ndim)
        if key[1] is None:
            return self.graph.node("Unsqueeze", self, [1], ndim=self.ndim + 1)
        ndim = self.ndim - isinstance(key[1], int)
        return self.graph.node("Gather", self, key[1], axis=1, ndim=ndim)

    def astype(self, dtype: Any) -> Value:
        kind = self.graph.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.graph.node("Cast", self, to=kind)

    def sum(self, *, axis: int, keepdims: bool = False) -> Value:
        ndim = self.ndim - (not keepdims)
        return self.graph.node("ReduceSum", self, [axis], keepdims=int(keepdims), ndim=ndim)

    def max(self, *, axis: int, keepdims: bool = False) -> Value:
        highest = self.graph.top(self, 1)
        return highest if keepdims else highest[:, 0]

    def all_columns(self) -> Value:
        """Return, as a column, whether all columns of a row are true."""
        return (~self).astype(np.int64).sum(axis=1, keepdims=True) == 0


class Graph:
    """Nodes and constants of a graph in the making, with the functions of NumPy that rules use."""

    tied = TIED
    int64 = np.int64
    arange = staticmethod(np.arange)

    def __init__(self, onnx: Any, n_classes: int) -> None:
        self.onnx = onnx
        self.n_classes = n_classes
        self.size = 0
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(
        self,
        operation: str,
        *inputs: Any,
        output: str | None = None,
        ndim: int | None = None,
        **options: Any,
    ) -> Value:
        given = [self.asarray(value) for value in inputs]
        name = output or f"value_{len(self.nodes)}"
        names = [value.name for value in given]
        self.nodes.append(self.onnx.helper.make_node(operation, names, [name], **options))
        most = max(value.ndim for value in given)
        return Value(self, name, most if ndim is None else ndim, operation in _CONDITIONS)

    def asarray(self, values: Any) -> Value:
        """Return a value as it is, and numbers as a constant: whole ones as such."""
        if isinstance(values, Value):
            return values
        name = f"constant_{len(self.constants)}"
        array = np.asarray(values)
        array = array.astype(np.int64 if array.dtype.kind in "iub" else np.float64)
        self.size += array.nbytes
        if self.size > _LARGEST:
            raise ValueError(
                f"The policy is too large for an ONNX model, which holds at most 2 GB: its "
                f"numbers take {self.size / 1e9:.1f} GB and more. It has {self.n_classes} "
                f"classes; a calibration such as 'bcts' takes less."
            )
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return Value(self, name, array.ndim)

    ascontiguousarray = asarray

    def exp(self, values: Any) -> Value:
        return self.node("Exp", values)

    def log(self, values: Any) -> Value:
        return self.node("Log", values)

    def abs(self, values: Any) -> Value:
        return self.node("Abs", values)

    def where(self, condition: Any, values: Any, otherwise: Any) -> Value:
        return self.node("Where", condition, values, otherwise)

    def maximum(self, first: Any, second: Any) -> Value:
        return self.node("Max", first, second)

    def clip(self, values: Any, low: float, high: float) -> Value:
        return self.node("Max", self.node("Min", values, high), low)

    def argmax(self, values: Value, *, axis: int) -> Value:
        numbers = values.astype(np.float64) if values.is_condition else values
        return self.node("ArgMax", numbers, axis=axis, keepdims=0, ndim=1)

    def stack(self, values: Sequence[Value], *, axis: int) -> Value:
        return self.node("Concat", *(value[:, None] for value in values), axis=axis)

    def searchsorted(self, knots: Any, values: Value, *, side: str) -> Value:
        passed: Value = values[:, None] >= knots
        return passed.astype(np.int64).sum(axis=1)

    def take_along_axis(self, values: Value, numbers: Value, *, axis: int) -> Value:
        return self.node("GatherElements", values, numbers, axis=axis)

    def top(self, values: Value, k: int) -> Value:
        """Return the k largest of each row, the largest first."""
        name = f"top_{len(self.nodes)}"
        given = [values.name, self.asarray([k]).name]
        outputs = [name, f"{name}_columns"]
        self.nodes.append(self.onnx.helper.make_node("TopK", given, outputs, axis=1))
        return Value(self, name, 2)
