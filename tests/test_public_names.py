"""The public surface, pinned with its parameters: a new, lost or changed name must be meant.

Where it is meant: ``python tests/test_public_names.py > tests/public_names.txt``.
"""

import importlib
import inspect
import pkgutil
from functools import cached_property
from pathlib import Path

import pytest

import abstain

PINNED = Path(__file__).with_name("public_names.txt")
MOST_NAMES = 165


def modules():
    rooms = (room.name for room in pkgutil.iter_modules(abstain.__path__))
    names = ["abstain", *(f"abstain.{room}" for room in rooms if not room.startswith("_"))]
    return [importlib.import_module(name) for name in names]


def parameters(value):
    """Return names, kinds and defaults; annotations are no promise."""
    found = inspect.signature(value).parameters.values()
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in found]
    return str(inspect.Signature(plain))


def is_ours(value):
    return str(getattr(value, "__module__", "")).startswith("abstain")


def members(name, value):
    """Yield the public properties and methods of a class, inherited ones too."""
    for member in (one for one in dir(value) if not one.startswith("_")):
        found = inspect.getattr_static(value, member)
        if isinstance(found, property | cached_property):
            yield f"{name}.{member}"
        elif inspect.isroutine(found) and is_ours(getattr(value, member)):
            yield f"{name}.{member}{parameters(getattr(value, member))}"


def surface():
    for module in modules():
        for name in sorted(module.__all__):
            value, full = getattr(module, name), f"{module.__name__}.{name}"
            made = inspect.isclass(value) and is_ours(value.__init__)
            yield full + parameters(value) if made or inspect.isroutine(value) else full
            # Of rooms further in, what is made is pinned: of the front door, how it is used too.
            if module is abstain and inspect.isclass(value):
                yield from members(full, value)


def test_the_surface_is_as_pinned():
    pinned, found = PINNED.read_text(encoding="utf-8").splitlines(), list(surface())
    gone, new = sorted({*pinned} - {*found}), sorted({*found} - {*pinned})
    said = [*(f"- {line}" for line in gone), *(f"+ {line}" for line in new)]
    assert not said, "\n".join(["Users are warned first: docs/compatibility.md", *said])


def test_the_surface_is_small():
    assert len({name for module in modules() for name in module.__all__}) <= MOST_NAMES


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonesuch"):
        _ = abstain.nonesuch


if __name__ == "__main__":
    print("\n".join(surface()))
