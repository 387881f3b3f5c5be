"""How long the way through the house is: ``python -m benchmarks.passes``, ``--json`` for machines.

Counts, not seconds: how much source there is; what a call passes through (functions, modules, how
deep); how often one ``fit`` checks its labels and scores; how often ``run`` opens a file; and how
far a figure moves when every score moves in its last digits. Each call is made twice and the
second is counted, so that importing is not. Compiled functions do not show; comprehensions and
lambdas are not counted.
"""

import ast
import ctypes
import inspect
import json
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import abstain
from abstain import Abstainer
from abstain.cli import main as abstain_command
from abstain.datasets import screening_clinic
from benchmarks._batches import decide_and_read

PACKAGE = Path(abstain.__file__).parent
ROWS = 1_000
METRIC, BUDGET = "sensitivity@specificity=0.9", 0.15
MANY_PARAMETERS = 7
# What goes over all labels, or all scores, to see whether they are what they should be.
CHECKS = {"checks of labels": "label_array", "checks of scores": "check_scores"}
MOVED_BY = 1e-13
# Events of inotify. Reading is watched too, as two of the same in a row are told once.
_OPENED, _READ = 0x20, 0x1


def lines_of_code(text: str, tree: ast.Module) -> set[int]:
    """Return the numbers of the lines that are no docstring, comment or blank."""
    prose: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                prose.update(range(first.lineno, (first.end_lineno or 0) + 1))
    lines = enumerate(text.splitlines(), 1)
    return {n for n, line in lines if line.strip() and line.strip()[0] != "#" and n not in prose}


def source() -> dict[str, int]:
    """Return how much source the package has, and the size of its largest parts."""
    found: Counter[str] = Counter()
    longest = 0
    for file in PACKAGE.rglob("*.py"):
        text = file.read_text()
        tree = ast.parse(text)
        code = lines_of_code(text, tree)
        functions = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        for node in functions:
            given = node.args
            count = len([*given.posonlyargs, *given.args, *given.kwonlyargs])
            count += bool(given.vararg) + bool(given.kwarg)
            count -= bool(given.args) and given.args[0].arg in ("self", "cls")
            found["functions of more than 7 parameters"] += count > MANY_PARAMETERS
            own = code & {*range(node.lineno, (node.end_lineno or 0) + 1)}
            longest = max(longest, len(own))
        found.update({"lines of code": len(code), "modules": 1, "functions": len(functions)})
    return {**found, "lines of the longest function": longest}


class Passes:
    """The functions of the package that were called while it watched, in any thread."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, int, str]] = Counter()
        self.depth = 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Count the calls made inside, also those of threads started inside."""
        threading.setprofile(self._called)
        sys.setprofile(self._called)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _called(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        # The body of a module or a class is no function, and has no fast locals.
        if event != "call" or code.co_name[0] == "<" or not code.co_flags & inspect.CO_OPTIMIZED:
            return
        if not code.co_filename.startswith(str(PACKAGE)):
            return
        self.calls[code.co_filename, code.co_firstlineno, code.co_name] += 1
        depth, above = 1, frame.f_back
        while above is not None:
            depth += above.f_code.co_filename.startswith(str(PACKAGE))
            above = above.f_back
        self.depth = max(self.depth, depth)

    def facts(self) -> dict[str, int]:
        """Return the counts."""
        return {
            "functions": len(self.calls),
            "modules": len({file for file, _, _ in self.calls}),
            "depth": self.depth,
            "calls": self.calls.total(),
        }

    def checks(self) -> dict[str, int]:
        """Return how often labels and scores were gone over to be checked."""
        names = Counter({name: times for (_, _, name), times in self.calls.items()})
        return {what: names[name] for what, name in CHECKS.items()}


def passes_of(function: Callable[[], Any]) -> Passes:
    """Return what the second of two calls passes through."""
    function()
    passes = Passes()
    with passes.watching():
        function()
    return passes


def figures() -> dict[str, Any]:
    """Return everything that is counted."""
    clinic = screening_clinic(ROWS, ROWS, random_state=0)
    fitted = Abstainer(METRIC, budget=BUDGET, calibration="platt", scale="logits", random_state=0)
    fit = passes_of(lambda: fitted.fit(clinic.scores_val, clinic.y_val))
    decide = passes_of(lambda: decide_and_read(fitted, clinic.scores_target))
    policy = fitted.decide(clinic.scores_target).policy
    apply = passes_of(lambda: policy.apply(clinic.scores_target))
    found: dict[str, Any] = {
        "source": source(),
        "decide": decide.facts(),
        "Policy.apply": apply.facts(),
        "fit": {**fit.facts(), **fit.checks()},
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_csv(folder / "validation.csv", logit=clinic.scores_val, ill=clinic.y_val)
        _write_csv(folder / "batch.csv", patient=np.arange(ROWS), logit=clinic.scores_target)
        arguments = [
            "run", str(folder / "validation.csv"), str(folder / "batch.csv"),
            "--scores", "logit", "--scale", "logits", "--label", "ill", "--id", "patient",
            "--metric", METRIC, "--budget", str(BUDGET), "--calibration", "platt", "--force",
            "--out", str(folder / "decisions.csv"),
        ]  # fmt: skip
        with_report = [*arguments, "--report", str(folder / "report.html")]
        found["run --report"] = passes_of(lambda: _command(with_report)).facts()
        found["run"] = {"times batch.csv is opened": _opened(folder / "batch.csv", arguments)}
    found["largest move of a figure"] = {f"{n} classes": _largest_move(n) for n in (2, 10)}
    return found


def _opened(path: Path, arguments: list[str]) -> int:
    """Return how often the command opens a file, in whatever language; -1 where nobody tells."""
    if sys.platform != "linux":
        return -1
    system = ctypes.CDLL(None, use_errno=True)
    events = system.inotify_init()
    system.inotify_add_watch(events, str(path).encode(), _OPENED | _READ)
    _command(arguments)
    # Events of a watched file are sixteen bytes: the watch, what happened, a cookie, no name.
    happened = np.frombuffer(os.read(events, 2**20), dtype=np.uint32)[1::4]
    return int(np.count_nonzero(happened & _OPENED))


def _largest_move(n_classes: int) -> float:
    """Return how far a figure moves when every score moves by 1e-13 of itself."""
    rng = np.random.default_rng(0)
    rows = 900
    labels = rng.integers(n_classes, size=2 * rows)
    logits = rng.normal(size=(2 * rows, n_classes))
    logits[np.arange(2 * rows), labels] += 1.5
    moved = logits * (1 + MOVED_BY * rng.choice([-1, 1], logits.shape))
    metrics = ["accuracy", "kappa", *([] if n_classes > 2 else ["auroc", METRIC])]
    largest = 0.0
    for metric in metrics:
        ends = []
        for scores in (logits, moved):
            abstainer = Abstainer(metric, budget=BUDGET, scale="logits", random_state=0)
            abstainer.fit(scores[:rows], labels[:rows], classes=range(n_classes))
            estimate = abstainer.decide(scores[rows:]).estimate
            ends.append([(one.value, *one.interval) for one in (estimate.before, estimate.after)])
        largest = max(largest, float(np.abs(np.subtract(*ends)).max()))
    return largest


def _command(arguments: list[str]) -> None:
    """Run the command line in this process, and see that it went well."""
    given, said = sys.argv, StringIO()
    sys.argv = ["abstain", *arguments]
    try:
        with redirect_stdout(said), redirect_stderr(said):
            abstain_command()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"The command failed: {said.getvalue()}") from end
    finally:
        sys.argv = given


def _write_csv(path: Path, **columns: Any) -> None:
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]))


def main() -> None:
    found = figures()
    if "--json" in sys.argv:
        print(json.dumps(found))
        return
    for what, facts in found.items():
        print(what)
        for name, figure in facts.items():
            shown = f"{figure:.1g}" if isinstance(figure, float) else f"{figure:,}"
            print(f"  {name:<36} {shown:>10}")


if __name__ == "__main__":
    main()
