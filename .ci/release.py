"""The steps of a release that a program can do; RELEASING.md says what comes before and after.

``prepare VERSION`` writes the version where it stands. ``check VERSION PYTHON...`` is a dry run:
it builds twice what would be published, installs it in an empty environment of each Python, runs
the README's first session and the demo there, and says what is still missing.
"""

import filecmp
import re
import subprocess
import sys
import tempfile
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from shutil import which

VERSIONED = Path("src/abstain/__init__.py")
CHANGELOG = Path("CHANGELOG.md")
SESSION = """
import doctest, sys
text = open(sys.argv[1], encoding="utf-8").read().split("```pycon\\n")[1].split("```")[0]
test = doctest.DocTestParser().get_doctest(text, {}, "README", sys.argv[1], 0)
flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
sys.exit(doctest.DocTestRunner(optionflags=flags).run(test).failed)
"""


def prepare(version: str) -> None:
    """Write the version into the package, and give what is unreleased its name and date."""
    text = VERSIONED.read_text(encoding="utf-8")
    new, count = re.subn(r'^__version__ = ".*"$', f'__version__ = "{version}"', text, flags=re.M)
    if count != 1:
        sys.exit(f"{VERSIONED} does not say the version once.")
    VERSIONED.write_text(new, encoding="utf-8")
    log = CHANGELOG.read_text(encoding="utf-8")
    heading = f"## {version} ({datetime.now(UTC):%Y-%m-%d})"
    if f"## {version} " not in log:
        log = log.replace("## Unreleased\n", f"## Unreleased\n\n{heading}\n", 1)
    CHANGELOG.write_text(log, encoding="utf-8")


def missing(version: str) -> list[str]:
    """Return what a release of the tree as it is would lack."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    told = re.search(r'^__version__ = "(.*)"$', VERSIONED.read_text(encoding="utf-8"), re.M)
    changed = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True)
    wanted = {
        f"{VERSIONED} says another version": told is not None and told[1] == version,
        f"{CHANGELOG} has no {version}": f"## {version} " in CHANGELOG.read_text("utf-8"),
        f"no golden policies in tests/policies/{version}": Path(
            f"tests/policies/{version}/expected.json"
        ).exists(),
        "project.urls of pyproject.toml is empty: where the project lives": project.get("urls"),
        "not everything is committed": not changed.stdout,
    }
    return [lack for lack, there in wanted.items() if not there]


def built(folder: Path) -> list[Path]:
    """Build the archive and the wheel twice, and return them; the bytes have to be the same."""
    folders = [folder / "once", folder / "again"]
    for one in folders:
        subprocess.run([sys.executable, "-m", "build", "--outdir", one], check=True)
    names = sorted(path.name for path in folders[0].iterdir())
    _, differing, absent = filecmp.cmpfiles(*folders, names, shallow=False)
    if differing or absent:
        sys.exit(f"Built twice, not the same: {differing + absent}")
    return [folders[0] / name for name in names]


def installed_and_run(wheel: Path, python: str, folder: Path) -> None:
    """Install the wheel in an empty environment; run the README's session and the demo there."""
    subprocess.run([python, "-m", "venv", folder], check=True)
    own = folder / "bin" / "python"
    install = [own, "-m", "pip", "--quiet", "install", f"{wheel}[cli,plots]"]
    subprocess.run(install, check=True)
    readme = Path("README.md").resolve()
    subprocess.run([own, "-c", SESSION, readme], cwd=folder, check=True)
    subprocess.run([folder / "bin" / "abstain", "demo"], cwd=folder, check=True)


def check(version: str, pythons: list[str]) -> None:
    """Do everything short of publishing, and say what is missing."""
    lacks = missing(version)
    with tempfile.TemporaryDirectory() as made:
        archives = built(Path(made))
        (wheel,) = (path for path in archives if path.suffix == ".whl")
        for python in filter(which, pythons):
            if subprocess.run([python, "--version"], check=False).returncode == 0:
                installed_and_run(wheel, python, Path(made) / Path(python).name)
        print(*(f"{path.name}: {path.stat().st_size:,} bytes" for path in archives), sep="\n")
    if lacks:
        sys.exit(f"abstain {version} is not ready:\n" + "\n".join(f"- {one}" for one in lacks))
    print(f"abstain {version} is ready")


if __name__ == "__main__":
    _, step, version, *rest = [*sys.argv, ""][: max(len(sys.argv), 3)]
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        sys.exit("Say which version: make release VERSION=0.2.0")
    prepare(version) if step == "prepare" else check(version, rest)
