"""What there is: ``abstain doctor`` says what is installed, ``abstain metrics`` what metrics."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import click

from abstain.cli import _options as option
from abstain.cli._output import emit

if TYPE_CHECKING:
    from abstain import Policy

CORE = ("numpy", "scipy")
EXTRAS = {
    "cli": ("click", "narwhals", "pyarrow"),
    "dataframes": ("narwhals",),
    "excel": ("openpyxl",),
    "mlflow": ("mlflow-skinny", "pandas"),
    "onnx": ("onnx",),
    "plots": ("matplotlib",),
    "sklearn": ("scikit-learn",),
    "torch": ("torch",),
}


@click.command(epilog="Example: abstain doctor --json")
@option.AS_JSON
def doctor(*, as_json: bool) -> int:
    """Say what is installed, and check that the whole flow works here."""
    found = _facts()
    emit(found, _lines(found), as_json)
    return 0 if found["check"]["passed"] else 1


def _facts() -> dict[str, Any]:
    import platform

    from abstain import __version__
    from abstain._kernels._pieces import n_threads

    return {
        "abstain": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "core": {name: _version(name) for name in CORE},
        "extras": {
            extra: {name: _version(name) for name in packages}
            for extra, packages in EXTRAS.items()
        },
        "threads": n_threads(),
        "check": _check(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _check() -> dict[str, Any]:
    """Run the flow on simulated rows: a rule saved and loaded must decide the same."""
    from abstain.cli._demo import decide
    from abstain.datasets import screening_clinic

    clinic = screening_clinic(1_000, 1_000, random_state=0)
    try:
        decisions = decide(clinic)
        policy, what = _saved_and_loaded(decisions.policy)
        again = policy.apply(clinic.scores_target)
        rises = decisions.estimate.after.value > decisions.estimate.before.value
    except Exception as error:  # whatever is wrong is what the doctor is asked for
        return {"passed": False, "what": f"{type(error).__name__}: {error}"}
    if not rises or not (again.abstain == decisions.abstain).all():
        return {"passed": False, "what": "a saved rule decided differently"}
    return {"passed": True, "what": f"calibrate, adapt, choose, {what}, apply"}


def _saved_and_loaded(policy: Policy) -> tuple[Policy, str]:
    """Return the rule from a file, or from its text where no file can be written."""
    import json
    import tempfile
    from pathlib import Path

    from abstain import Policy

    try:
        folder = tempfile.TemporaryDirectory()
    except OSError:
        text = json.dumps(policy.to_dict())
        return Policy.from_dict(json.loads(text)), "write, read (no folder for a file)"
    with folder as name:
        policy.save(Path(name) / "policy.json")
        return Policy.load(Path(name) / "policy.json"), "save, load"


def _lines(found: dict[str, Any]) -> list[str]:
    lines = [f"abstain {found['abstain']}, Python {found['python']}, {found['system']}"]
    lines += [f"  {name:<14} {number}" for name, number in found["core"].items()]
    lines.append(f"  {'threads':<14} {found['threads']}")
    lines.append("Extras")
    for extra, packages in found["extras"].items():
        missing = [name for name, number in packages.items() if number is None]
        if missing:
            said = f"lacks {', '.join(missing)}: pip install 'abstain[{extra}]'"
        else:
            said = ", ".join(f"{name} {number}" for name, number in packages.items())
        lines.append(f"  {extra:<14} {said}")
    check = found["check"]
    lines.append(f"Self-check {'passed' if check['passed'] else 'FAILED'}: {check['what']}")
    return lines


@click.command(epilog="Example: abstain run validation.csv batch.csv --metric fbeta:2")
@option.AS_JSON
def metrics(*, as_json: bool) -> None:
    """List the metrics and what each is for."""
    from abstain.metrics import summaries

    known = summaries()
    width = max(len(name) for name, _ in known)
    emit(
        [{"name": name, "summary": text} for name, text in known],
        [f"{name:<{width}}  {text}" for name, text in known],
        as_json,
    )
