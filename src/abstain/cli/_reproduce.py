"""``abstain reproduce``: the paper's experiments, rerun."""

# ruff: noqa: RUF009 - a field that an option fills is a field of a dataclass

from __future__ import annotations

import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from abstain import __version__
from abstain._files import landing_in
from abstain.cli import _options as option
from abstain.cli._output import emit
from abstain.cli._terminal import in_a_line, say, tell
from abstain.cli._values import in_one_value, option_field

if TYPE_CHECKING:
    from abstain.paper import Result


@dataclass(frozen=True)
class Asked:
    """What is to be rerun, as the options say it.

    Attributes
    ----------
    data : Path or None
        The folder with the data.
    simulated : bool
        Whether a stand-in takes their place.
    repeats : int or None
        How many.
    methods : str or None
        Names of methods, with commas.
    extra : tuple of str
        Methods of the user's own.
    """

    data: Path | None = option_field(
        "--data", type=option.FILE, help="The folder with the experiment's data."
    )
    simulated: bool = option_field(
        "--simulated", is_flag=True, help="Run a table on a small simulated stand-in for its data."
    )
    repeats: int | None = option_field(
        "--repeats",
        type=click.IntRange(min=1, max=option.MOST_REPEATS),
        help="How many repeats; the paper's own.",
    )
    methods: str | None = option_field(
        "--methods", help="Comma-separated methods to run; all of them."
    )
    extra: tuple[str, ...] = option_field(
        "--method", "extra", multiple=True, help="A score of your own, module:function."
    )

    def names(self, experiment: str | None) -> list[str]:
        """Return the experiments to rerun; refuse what does not go together."""
        from abstain.paper import EXPERIMENTS, TableExperiment

        if experiment is None:
            return _available(self.data or Path())
        if experiment not in EXPERIMENTS:
            raise click.UsageError(
                f"There is no experiment {experiment!r}; there are "
                f"{', '.join(sorted(EXPERIMENTS))}."
            )
        simulation = not isinstance(EXPERIMENTS[experiment], TableExperiment)
        if simulation and (self.simulated or self.methods or self.extra):
            raise click.UsageError(
                f"{experiment} is a simulation with methods of its own: --simulated, --methods "
                f"and --method are for the tables."
            )
        return [experiment]


@click.command(
    epilog="Examples: abstain reproduce imdb --simulated; abstain reproduce imdb --data DIR; "
    "abstain reproduce dr --data DIR --method my_module:my_score"
)
@click.argument("experiment", required=False)
@in_one_value(Asked, "asked")
@click.option("--figures", type=option.FILE, help="Write the experiment's figures there.")
@click.option("--markdown", is_flag=True, help="Print the tables as Markdown, dated.")
@option.AS_JSON
def reproduce(
    experiment: str | None,
    *,
    asked: Asked,
    figures: Path | None,
    markdown: bool,
    as_json: bool,
) -> None:
    """Rerun EXPERIMENT of the paper.

    Without EXPERIMENT: all tables whose data files are in the folder, or a list of the
    experiments when no folder is given.
    """
    from abstain.paper import EXPERIMENTS, Options

    if asked.simulated and (asked.data is not None or experiment is None):
        raise click.UsageError("--simulated needs EXPERIMENT, and is in place of --data.")
    if as_json and markdown:
        raise click.UsageError("Choose one of --json and --markdown.")
    options = Options(
        data=asked.data,
        repeats=asked.repeats,
        methods=tuple(asked.methods.split(",")) if asked.methods else (),
        extra_methods=asked.extra,
        simulated=asked.simulated,
    )
    if experiment is None and asked.data is None:
        tell("\n".join(sorted(EXPERIMENTS)))
        return
    names = asked.names(experiment)
    results = {name: EXPERIMENTS[name](options) for name in names}
    found = [result.to_dict() for result in results.values()]
    texts = [
        _markdown(name, result) if markdown else result.to_text()
        for name, result in results.items()
    ]
    written: list[Path] = []
    with ExitStack() as stack:
        if figures is not None:
            place = stack.enter_context(landing_in(figures))
            roles = Path(stack.enter_context(TemporaryDirectory()))
            for result in results.values():
                for path in result.save_figures(roles):
                    shutil.copyfile(path, place(figures / path.name))
                    written.append(figures / path.name)
        emit(found if experiment is None else found[0], ["\n\n".join(texts)], as_json)
    for path in written:
        say(f"Wrote {in_a_line(path)}")


def _available(folder: Path) -> list[str]:
    """Return the names of the tables whose files are in the folder."""
    from abstain.paper import EXPERIMENTS, TableExperiment

    names = [
        name
        for name, experiment in EXPERIMENTS.items()
        if isinstance(experiment, TableExperiment) and experiment.available(folder)
    ]
    if not names:
        raise FileNotFoundError(f"No data file of the paper's experiments is in {folder}.")
    return names


def _markdown(name: str, result: Result) -> str:
    """Return the result under a heading, with the day and the version it was made by."""
    from abstain.paper import TableResult

    today = datetime.now(UTC).date().isoformat()
    made = f"Made on {today} by abstain {__version__} with `abstain reproduce {name}`."
    if isinstance(result, TableResult):
        return f"### {name}\n\n{result.table.title}. {made}\n\n{result.to_markdown()}"
    return f"### {name}\n\n{made}\n\n```text\n{result.to_text()}\n```"
