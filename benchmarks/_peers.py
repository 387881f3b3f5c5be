"""The first implementation of the paper (PyPI ``abstention``), importable on a new SciPy."""

import sys
import types
from typing import Any

__all__ = ["abstention"]


def abstention(module: str) -> Any:
    """Return a module of the package; it still asks for ``scipy.misc``, which SciPy dropped."""
    import scipy

    stub = types.ModuleType("scipy.misc")
    sys.modules.setdefault("scipy.misc", stub)
    scipy.misc = stub
    return __import__(f"abstention.{module}", fromlist=["_"])
