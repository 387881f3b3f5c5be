"""``abstain metrics``: the metrics there are, by name."""

from __future__ import annotations

import click

from abstain.cli import _options as option
from abstain.cli._output import emit


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
