"""``abstain reproduce``: the paper's experiments, rerun."""

import json
from pathlib import Path

import click

from abstain.cli._options import json_option

__all__ = ["reproduce"]


@click.command(epilog="Example: abstain reproduce auroc-agreement --figures figures")
@click.argument("experiment", required=False)
@click.option(
    "--data", type=click.Path(path_type=Path), help="The folder with the experiment's data."
)
@click.option("--repeats", type=click.IntRange(min=1), help="How many repeats; the paper's own.")
@click.option("--methods", help="Comma-separated methods to run; all of them.")
@click.option("--method", "extra", multiple=True, help="A score of your own, module:function.")
@click.option(
    "--figures", type=click.Path(path_type=Path), help="Write the experiment's figures there."
)
@json_option
def reproduce(
    experiment: str | None,
    *,
    data: Path | None,
    repeats: int | None,
    methods: str | None,
    extra: tuple[str, ...],
    figures: Path | None,
    as_json: bool,
) -> None:
    """Rerun EXPERIMENT of the paper; without one, list them."""
    from abstain.paper import EXPERIMENTS, Options

    if experiment is None:
        click.echo("\n".join(sorted(EXPERIMENTS)))
        return
    if experiment not in EXPERIMENTS:
        raise click.UsageError(
            f"There is no experiment {experiment!r}; there are {', '.join(sorted(EXPERIMENTS))}."
        )
    options = Options(
        data=data,
        repeats=repeats,
        methods=tuple(methods.split(",")) if methods else (),
        extra_methods=extra,
    )
    result = EXPERIMENTS[experiment](options)
    click.echo(json.dumps(result.to_dict()) if as_json else result.to_text())
    if figures is not None:
        figures.mkdir(parents=True, exist_ok=True)
        for path in result.save_figures(figures):
            click.echo(f"Wrote {path}", err=True)
