"""Scores on a GPU: calibrated, summarised and decided about where they are.

``Abstainer.decide``, ``Abstainer.summarise`` and ``Policy.apply`` come here with CUDA tensors of
PyTorch and arrays of CuPy. Only the summary comes to the host, where the choice is made.
"""

from __future__ import annotations

from abstain.cuda._rows import DeviceDecisions, apply, decide, summarise

__all__ = ["DeviceDecisions", "apply", "decide", "summarise"]
