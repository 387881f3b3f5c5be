"""The frozen rule as an ONNX graph, to run beside the model without Python.

The graph computes in double precision whatever it is given, and what ``Policy.apply`` does one
operation after the other, so that it decides as that does on the same float32 scores. Its
metadata say what it was made of.
"""

from __future__ import annotations

from abstain.onnx._model import merge_with_model, to_onnx

__all__ = ["merge_with_model", "to_onnx"]
