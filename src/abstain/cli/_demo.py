"""Commands that need no data: the flow on a simulated clinic, what is installed, which metrics."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abstain._files import landing_in
from abstain.cli import _options as option
from abstain.cli._output import emit
from abstain.cli._terminal import say

if TYPE_CHECKING:
    from abstain import Decisions, Policy
    from abstain.datasets import ScreeningClinic

METRIC = "sensitivity@specificity=0.9"
BUDGET = 0.15
FILES = (
    "validation.csv", "target.csv", "decisions.csv", "triage.json", "report.html", "roc.png"
)  # fmt: skip
METHODS = {
    "abstain, for this metric": None,
    "baseline max-probability": "max-probability",
    "baseline random": "random",
}
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


@click.command(epilog="Example: abstain demo --out my-folder")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("abstain-demo"),
    show_default=True,
    help="The folder to write into; made if it is not there.",
)
@option.outputs("strict", "as_json")
def demo(out: Path, *, outputs: option.Outputs) -> None:
    """Show the whole flow on a simulated screening clinic."""
    from abstain.cli._summary import facts
    from abstain.datasets import screening_clinic

    clinic = screening_clinic(random_state=0)
    results = {title: decide(clinic, score) for title, score in METHODS.items()}
    ours = results["abstain, for this metric"]
    found = {
        title: {**facts(decisions), "true_after": _true_metric(clinic, decisions)}
        for title, decisions in results.items()
    }
    said = [*_story(clinic, ours), *_table(clinic, results)]
    outputs.stop_on_doubts(found, said)
    with landing_in(out) as place:
        written = _write(out, place, clinic, ours)
        emit(found, [*said, "", *written, "", *_next_steps(out)], outputs.as_json)


def decide(clinic: ScreeningClinic, score: str | None = None) -> Decisions:
    """Decide about the patients of a clinic, for the metric or by a score of uncertainty."""
    import pyarrow as pa

    from abstain import Abstainer
    from abstain.exceptions import AssumptionWarning

    abstainer = Abstainer(
        METRIC, budget=BUDGET, score=score, calibration="platt", scale="logits", random_state=0
    )
    abstainer.fit(clinic.scores_val, clinic.y_val)
    with warnings.catch_warnings():
        if score is not None:
            # That a baseline does not help is what the table is there to show.
            warnings.simplefilter("ignore", AssumptionWarning)
        return abstainer.decide(pa.table({"logit": clinic.scores_target}))


def _story(clinic: ScreeningClinic, decisions: Decisions) -> list[str]:
    n, referred = len(decisions), int(decisions.abstain.sum())
    region, current = decisions.choice.region.to_dict(), decisions.current_priors
    now = decisions.priors if current is None else current.values
    return [
        "A screening clinic",
        f"  A model was validated on {len(clinic.y_val):,} patients, 1 in 10 of them ill.",
        f"  Now it scores {n:,} patients of another clinic. Nobody knows who of them is ill.",
        f"  Doctors can look at {BUDGET:.0%} of them. At which?",
        "",
        f"The positive class is {decisions.positive}: ill.",
        "",
        "What moved: the proportion of ill patients",
        f"  validation  {clinic.y_val.mean():.3f}",
        f"  target      {now[1]:.3f} estimated without labels   {clinic.y_target.mean():.3f} true",
        "",
        f"Refer {referred:,} of {n:,} patients ({decisions.abstention_rate:.0%}): "
        f"those with a probability of illness from {region['lower']:.3f} to "
        f"{region['upper']:.3f}",
        "",
    ]


def _table(clinic: ScreeningClinic, results: dict[str, Decisions]) -> list[str]:
    ours = next(iter(results.values()))
    before, after = ours.estimate.before, ours.estimate.after
    rows = [("nobody referred", before, _true_metric(clinic, ours, everyone=True))]
    rows += [
        (title, decisions.estimate.after, _true_metric(clinic, decisions))
        for title, decisions in results.items()
    ]
    lines = [
        "Sensitivity at 90% specificity, on the patients the model keeps",
        f"  {'':<26}  {'estimated':>9}  {f'{100 * before.level:g}% interval':>16}  {'true':>6}",
    ]
    for title, estimated, true in rows:
        low, high = estimated.interval
        lines.append(
            f"  {title:<26}  {estimated.value:>9.3f}  {low:>7.3f} to {high:.3f}  {true:>6.3f}"
        )
    lines.append(
        f"  Of the ill patients it keeps, the model now finds {after.value:.0%} "
        f"instead of {before.value:.0%}."
    )
    return lines


def _true_metric(
    clinic: ScreeningClinic, decisions: Decisions, *, everyone: bool = False
) -> float:
    rows = slice(None) if everyone else ~decisions.abstain
    return decisions.metric.observed(clinic.y_target[rows], decisions.proba[rows])


def _write(
    out: Path, place: Callable[[Path], Path], clinic: ScreeningClinic, decisions: Decisions
) -> list[str]:
    import pyarrow as pa

    from abstain.cli._writing import decision_table, digits_of, write_table
    from abstain.report import Report

    def write(name: str, table: pa.Table) -> None:
        write_table(place(out / name), out / name, table)

    write("validation.csv", pa.table({"logit": clinic.scores_val, "ill": clinic.y_val}))
    _check_own(out, place)
    write("target.csv", pa.table({"logit": clinic.scores_target}))
    names, digits = pa.array(range(len(decisions))), digits_of(decisions)
    table, _ = decision_table(decisions, names, "patient", pa.table({}), digits=digits)
    write("decisions.csv", table)
    decisions.policy.save(place(out / "triage.json"))
    page = Report(
        decisions,
        scores_val=clinic.scores_val,
        y_val=clinic.y_val,
        id_name="patient",
        title="A simulated screening clinic: which patients go to a doctor",
        command=option.this_command(),
    )
    page.save(place(out / "report.html"))
    written = {
        "report.html": "the page to open first: the answer, a budget slider, how far to trust it",
        "decisions.csv": "one row per patient: refer or not, prediction, probabilities",
        "triage.json": "the rule as data, to apply to the next patient",
        "validation.csv, target.csv": "the scores it started from",
    }
    try:
        figure = _figure(clinic, decisions)
        figure.savefig(place(out / "roc.png"), format="png", dpi=120)
        written["roc.png"] = "ROC before and after, and who is referred"
    except ModuleNotFoundError as error:
        say(f"roc.png needs {error.name}: pip install 'abstain[plots]'")
    return [f"Wrote into {out}/"] + [f"  {name:<26}  {what}" for name, what in written.items()]


def _check_own(out: Path, place: Callable[[Path], Path]) -> None:
    """Refuse to write over files of others: a demo that was here has left the same table."""
    there = [out / name for name in FILES if (out / name).exists()]
    first = out / "validation.csv"
    if there and not (first.exists() and first.read_bytes() == place(first).read_bytes()):
        raise click.UsageError(
            f"{there[0]} exists, and not from a demo. Name another folder with --out."
        )


def _figure(clinic: ScreeningClinic, decisions: Decisions) -> Any:
    from matplotlib.figure import Figure

    from abstain.plots import RegionDisplay, RocAbstentionDisplay

    figure = Figure(figsize=(10.4, 4.6), layout="constrained")
    left, right = figure.subplots(ncols=2)
    RocAbstentionDisplay.from_decisions(decisions, clinic.y_target, ax=left)
    left.axvline(0.1, color="0.6", linestyle=":", linewidth=1)
    RegionDisplay.from_decisions(decisions, ax=right)
    return figure


def _next_steps(out: Path) -> list[str]:
    program = _program()
    return [
        "Try next",
        f"  {program} run {out}/validation.csv {out}/target.csv --scores logit --scale logits \\",
        "      --label ill --metric auroc --budget 0.3 --report auroc.html",
        f"  {program} run --help",
    ]


def _program() -> str:
    """Return what to type to run this program: its name, or its place if that is not on PATH."""
    started = Path(sys.argv[0])
    if started.name == "abstain" and shutil.which("abstain") is None:
        return os.path.relpath(started)
    return "abstain"


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
