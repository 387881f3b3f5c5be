"""What a call passes through: functions, files and checks, and how much source there is.

``python -m benchmarks.passes``. Each call is made twice and the second is counted, so that
importing is not. Compiled functions do not show; comprehensions and lambdas are not counted.
"""

import inspect
import re
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
# Different, so that an argument's length tells which of the two it is.
VALIDATION, ROWS = 200, 300
METRIC, BUDGET = "sensitivity@specificity=0.9", 0.15
CHECKS = re.compile(r"_*(check|validate|ensure|verify)(_|$)")


class Passes:
    """The functions of the package that were called while it watched, in any thread."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, int, str]] = set()
        self.checks: Counter[str] = Counter()
        self.checks_of_batch: Counter[str] = Counter()

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
        if not Path(code.co_filename).is_relative_to(PACKAGE):
            return
        self.functions.add((code.co_filename, code.co_firstlineno, code.co_name))
        if CHECKS.match(code.co_name):
            self.checks[code.co_name] += 1
            self.checks_of_batch[code.co_name] += any(map(_is_batch, frame.f_locals.values()))

    def text(self) -> str:
        """Return the counts as lines."""
        files = {file for file, _, _ in self.functions}
        lines = [
            f"{len(self.functions):>6} functions in {len(files)} files",
            f"{self.checks.total():>6} calls of functions that check, "
            f"{self.checks_of_batch.total()} of them with an argument as long as the batch",
        ]
        lines += [
            f"       {times:>4} {name}, {self.checks_of_batch[name]} with the batch"
            for name, times in self.checks.most_common()
        ]
        return "\n".join(lines)


def _is_batch(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_is_batch, value.values()))
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return shape[:1] == (ROWS,)
    return isinstance(value, list | tuple) and len(value) == ROWS


def passes_of(function: Callable[[], Any]) -> Passes:
    """Return what the second of two calls passes through."""
    function()
    passes = Passes()
    with passes.watching():
        function()
    return passes


def source_lines() -> tuple[int, int, int]:
    """Return how many files of Python the package has, their lines, and those not blank."""
    files = list(PACKAGE.rglob("*.py"))
    lines = [line for file in files for line in file.read_text().splitlines()]
    return len(files), len(lines), sum(bool(line.strip()) for line in lines)


def main() -> None:
    clinic = screening_clinic(VALIDATION, ROWS, random_state=0)
    fitted = Abstainer(METRIC, budget=BUDGET, scale="logits", random_state=0)
    fitted.fit(clinic.scores_val, clinic.y_val)
    print(f"decide, and reading the decisions, {ROWS} rows")
    print(passes_of(lambda: decide_and_read(fitted, clinic.scores_target)).text())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_csv(folder / "validation.csv", logit=clinic.scores_val, ill=clinic.y_val)
        _write_csv(folder / "target.csv", patient=np.arange(ROWS), logit=clinic.scores_target)
        arguments = [
            "run", str(folder / "validation.csv"), str(folder / "target.csv"),
            "--scores", "logit", "--scale", "logits", "--label", "ill", "--id", "patient",
            "--metric", METRIC, "--budget", str(BUDGET), "--force",
            "--out", str(folder / "decisions.csv"), "--report", str(folder / "report.html"),
        ]  # fmt: skip
        print(f"\nabstain run --report, {ROWS} rows")
        print(passes_of(lambda: _command(arguments)).text())
    files, lines, not_blank = source_lines()
    print(f"\nsource\n{files:>6} files of Python, {lines} lines, {not_blank} not blank")


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


if __name__ == "__main__":
    main()
