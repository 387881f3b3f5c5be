"""What every page is: facts, and one HTML file that is made of them."""

from __future__ import annotations

import html
import json
import os
import platform
from abc import ABC, abstractmethod
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import abstain
from abstain._files import write_text

_PACKAGES = ("numpy", "scipy", "scikit-learn")


class Page(ABC):
    """Base of all pages: facts first, then the page."""

    # Of one it is computed when it is asked for.
    facts: Any

    @abstractmethod
    def to_html(self) -> str:
        """Return the page."""

    def to_json(self) -> str:
        """Return the facts as JSON."""
        return json.dumps(self.facts, allow_nan=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, whole or not at all."""
        write_text(path, self.to_html())

    def _repr_html_(self) -> str:
        # A frame of its own keeps the page's style and the notebook's apart.
        return (
            f'<iframe title="{html.escape(self.facts["title"], quote=True)}" '
            f'srcdoc="{html.escape(self.to_html(), quote=True)}" '
            f'style="width:100%;height:640px;border:1px solid #8888"></iframe>'
        )


def versions() -> dict[str, str]:
    """Return the versions of what figures come from."""
    found = {"abstain": abstain.__version__, "python": platform.python_version()}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
