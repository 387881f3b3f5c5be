"""``abstain metrics``: the metrics there are, by name."""

import json

import click

from abstain.cli._options import json_option

__all__ = ["metrics"]


@click.command(epilog="Example: abstain run validation.csv target.csv --metric fbeta:2")
@json_option
def metrics(*, as_json: bool) -> None:
    """List the metrics and what each is for."""
    from abstain.metrics import summaries

    known = summaries()
    if as_json:
        click.echo(json.dumps([{"name": name, "summary": text} for name, text in known]))
        return
    width = max(len(name) for name, _ in known)
    for name, text in known:
        click.echo(f"{name:<{width}}  {text}")
