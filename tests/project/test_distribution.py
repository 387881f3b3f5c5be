"""What is released: the archive, the wheel made from it, and the core installed from that."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
FLOW = """
import importlib.util
from abstain import Abstainer, Policy
from abstain.datasets import screening_clinic

for extra in ("click", "matplotlib", "pyarrow", "rich", "sklearn"):
    assert importlib.util.find_spec(extra) is None, extra
clinic = screening_clinic(500, 500)
abstainer = Abstainer("sensitivity@specificity=0.9", budget=0.1, scale="logits", random_state=0)
decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
decisions.policy.save("policy.json")
assert (Policy.load("policy.json").apply(clinic.scores_target).abstain == decisions.abstain).all()
assert 0 < decisions.abstain.sum() <= 50
from abstain.report import Report
assert "<!DOCTYPE html>" in Report(decisions).to_html()
try:
    from abstain.plots import RegionDisplay
    RegionDisplay.from_decisions(decisions)
except ImportError as error:
    assert "pip install 'abstain[plots]'" in str(error)
else:
    raise AssertionError("plots without matplotlib")
"""


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """The archive of the sources, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("released")
    command = [sys.executable, "-m", "build", "--outdir", folder, REPOSITORY]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"nothing can be built here: {(done.stdout + done.stderr)[-300:]}")
    (archive,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return archive, wheel


@pytest.fixture(scope="module")
def python(tmp_path_factory, released):
    folder = tmp_path_factory.mktemp("core")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", python]
    install = [*pip, "install", "--no-compile", released[1]]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"pip could not install the core here: {done.stderr[-300:]}")
    return python


def sources():
    """Every file of the package, by its path from the folder that holds it."""
    root = REPOSITORY / "src"
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_the_package_and_nothing_else(released):
    with zipfile.ZipFile(released[1]) as wheel:
        held = {name: wheel.read(name) for name in wheel.namelist()}
    package = {name: text for name, text in held.items() if name.startswith("abstain/")}
    assert package == sources()
    assert "abstain/py.typed" in package
    rest = held.keys() - package.keys()
    assert all(name.startswith("abstain-") and ".dist-info/" in name for name in rest)


def test_the_archive_holds_what_is_under_version_control(released):
    listed = subprocess.run(
        ["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("the tree is not under version control here")
    with tarfile.open(released[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = {name for name in listed.stdout.splitlines() if (REPOSITORY / name).exists()}
    assert tracked - names == set()
    assert not any(name.startswith((".venv", ".git/", "docs/_build")) for name in names)


def test_the_archive_installs_as_the_wheel_does(released, tmp_path):
    pip = [sys.executable, "-m", "pip", "--quiet", "install", "--no-deps", "--no-compile"]
    done = subprocess.run(
        [*pip, "--target", tmp_path, released[0]], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    installed = {
        str(path.relative_to(tmp_path)): path.read_bytes()
        for path in (tmp_path / "abstain").rglob("*")
        if path.is_file()
    }
    assert installed == sources()


def test_the_core_runs_the_flow(python, tmp_path):
    done = subprocess.run(
        [python, "-c", FLOW], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_command_line_names_its_extra(python, tmp_path):
    command = [python.parent / "abstain", "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "abstain: the command line needs click, which comes with an extra: "
        "pip install 'abstain[cli]'"
    )
