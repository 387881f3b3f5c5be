"""The reference of the site has every public name, and nothing else."""

import importlib
import pkgutil

import pytest

import abstain


@pytest.fixture
def reference(script):
    return script("reference")


def public():
    """Every public name by where it is found, with what it stands for."""
    rooms = [room.name for room in pkgutil.iter_modules(abstain.__path__)]
    modules = ["abstain", *(f"abstain.{room}" for room in rooms if not room.startswith("_"))]
    for module in modules:
        loaded = importlib.import_module(module)
        for name in loaded.__all__:
            yield f"{module}.{name}", getattr(loaded, name)


def test_every_public_name_is_listed(reference):
    listed = [value for names in reference.listed().values() for value in names.values()]
    missing = [name for name, value in public() if not any(value is one for one in listed)]
    assert not missing, f"add their modules to ROOMS of docs/reference.py: {missing}"


def test_the_page_has_what_is_listed_once(reference):
    page = reference.page()
    for module, names in reference.listed().items():
        for name in names:
            assert page.count(f" {module}.{name}\n") == 1, f"{module}.{name}"


def test_a_new_name_would_be_missed(reference, monkeypatch):
    monkeypatch.delitem(reference.ROOMS, "abstain.onnx")
    with pytest.raises(AssertionError, match=r"abstain\.onnx\.to_onnx"):
        test_every_public_name_is_listed(reference)
