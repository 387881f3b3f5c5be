"""PyArrow, imported when it is needed."""

from __future__ import annotations

from typing import Any

__all__ = ["pyarrow"]


def pyarrow() -> Any:
    """Return the package; the error names the extra where it is missing."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.dataset
    except ModuleNotFoundError as error:
        raise ImportError(
            "Arrow streams need pyarrow, which comes with an extra: pip install 'abstain[arrow]'"
        ) from error
    return pyarrow
