"""A graph in the making: nodes, constants, and the few things that all parts of it need."""

from __future__ import annotations

from typing import Any

import numpy as np

# Rows this close to an edge, relative to it, are on it: the last digit of a logarithm or an
# exponential differs between libraries. Rules of this version have edges that no row was near
# (``clear_edge``), those of earlier ones the score of a row.
TIED = 1e-15
# What one file of the format may hold, less room for the nodes.
_LARGEST = 2**31 - 2**27


class Graph:
    """Nodes and constants of a graph in the making; every method returns a value's name."""

    def __init__(self, onnx: Any, n_classes: int) -> None:
        self.onnx = onnx
        self.n_classes = n_classes
        self.size = 0
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, operation: str, *inputs: str, output: str | None = None, **options: Any) -> str:
        name = output or f"value_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operation, list(inputs), [name], **options))
        return name

    def constant(self, values: Any, dtype: Any = np.float64) -> str:
        name = f"constant_{len(self.constants)}"
        array = np.asarray(values, dtype=dtype)
        self.size += array.nbytes
        if self.size > _LARGEST:
            raise ValueError(
                f"The policy is too large for an ONNX model, which holds at most 2 GB: its "
                f"numbers take {self.size / 1e9:.1f} GB and more. It has {self.n_classes} "
                f"classes; a calibration such as 'bcts' takes less."
            )
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def sum_of_columns(self, value: str, *, keepdims: int = 1) -> str:
        return self.node("ReduceSum", value, self.constant([1], np.int64), keepdims=keepdims)

    def column(self, value: str, index: int) -> str:
        return self.node("Gather", value, self.constant(index, np.int64), axis=1)

    def columns(self, value: str, index: int) -> str:
        """Return a column with its axis."""
        return self.node("Gather", value, self.constant([index], np.int64), axis=1)

    def top(self, value: str, k: int) -> str:
        """Return the k largest of each row, the largest first."""
        name = f"top_{len(self.nodes)}"
        given = [value, self.constant([k], np.int64)]
        outputs = [name, f"{name}_columns"]
        self.nodes.append(self.onnx.helper.make_node("TopK", given, outputs, axis=1))
        return name

    def as_column(self, value: str) -> str:
        """Put an axis behind the rows."""
        return self.node("Unsqueeze", value, self.constant([1], np.int64))

    def every_column(self, mask: str) -> str:
        """Return, as a column, whether all columns of a row are true."""
        failed = self.node("Cast", self.node("Not", mask), to=self.onnx.TensorProto.INT64)
        return self.node("Equal", self.sum_of_columns(failed), self.constant(0, np.int64))
