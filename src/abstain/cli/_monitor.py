"""``abstain monitor``: a rule and the files of a stream in, chunks and alarms out, for years.

What is kept between two runs is one small file of summaries. It is written before anybody is told,
so a message that does not arrive loses nothing.
"""

# ruff: noqa: RUF009 - a field that an option fills is a field of a dataclass

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from abstain.cli import _options as option
from abstain.cli._goal import budget_of, proportion_range
from abstain.cli._output import wrote
from abstain.cli._terminal import in_a_line, say, tell
from abstain.cli._values import FILE, check_with, in_one_value, option_field

if TYPE_CHECKING:
    from abstain import Policy
    from abstain.monitoring import Alarm, Chunk, Monitor

# Seconds after which what was read so far is kept, and for which an answer is waited for.
_KEEP_AFTER, _PATIENCE = 30.0, 10.0


@dataclass(frozen=True)
class Watch:
    """What is watched, as the options say it; None for what the state or the library says.

    Attributes
    ----------
    every : str or None
        How the stream is cut.
    floor, capacity, prior_range, tolerance, false_alarms
        As :class:`abstain.monitoring.Monitor` has them.
    """

    every: str | None = option_field(
        "--every",
        metavar="PERIOD",
        help="How the stream is cut into chunks: month, week, day or hour (needs --time), or "
        "'1000 rows'.  [default: each file is a chunk]",
    )
    floor: float | None = option_field(
        "--floor",
        type=float,
        help="What the metric of the rows that are kept is to reach; of a cost the most.",
    )
    capacity: Any = option_field(
        "--capacity",
        callback=check_with(budget_of),
        help="What people can look at: a share of the rows such as 12%, or so many of each chunk, "
        "such as 40.  [default: the budget of the rule and a tenth of it]",
    )
    prior_range: tuple[float, float] | None = option_field(
        "--prior-range",
        callback=check_with(proportion_range),
        help="The range LOW:HIGH of the positive class's proportion that the rule is made for.  "
        "[default: that of its certificate, or --tolerance about where it was made]",
    )
    tolerance: float | None = option_field(
        "--tolerance",
        type=float,
        help="By what part the odds of a class may differ from where the rule was made.  "
        "[default: 0.2]",
    )
    false_alarms: float | None = option_field(
        "--false-alarms",
        type=float,
        help="How many false alarms there may be in a year, of all kinds together.  "
        "[default: 0.01]",
    )

    def begin(self, policy: Policy, state: Path | None) -> Monitor:
        """Return the monitor that goes on from a state, or a new one."""
        from abstain.monitoring import Monitor

        given = {one.name: getattr(self, one.name) for one in fields(self)}
        given = {name: value for name, value in given.items() if value is not None}
        if state is None or not state.exists():
            return Monitor(policy, **given)
        found = Monitor.load(state, policy)
        ask = Monitor(policy, **given).to_dict()
        for name in given:
            if found.to_dict()[name] != ask[name]:
                raise click.UsageError(
                    f"{in_a_line(state)} was begun with another --{name.replace('_', '-')} "
                    f"({found.to_dict()[name]}). Leave it out to go on, or name a new --state."
                )
        return found


@dataclass(frozen=True)
class Place:
    """Where rows are told apart and kept, as the options say it.

    Attributes
    ----------
    time, label : str or None
        The columns with the time and the true label.
    labelled : tuple of Path
        Files with labels that came later.
    state : Path or None
        Where what is known waits for the next run.
    close : bool
        Whether the last chunk is complete.
    acknowledge : tuple of str
        Which alarms are seen.
    """

    time: str | None = option_field(
        "--time", metavar="COLUMN", help="The column with the time of each row, in ISO form."
    )
    label: str | None = option_field(
        "--label",
        metavar="COLUMN",
        help="The column with the true label, empty where it is not known yet.",
    )
    labelled: tuple[Path, ...] = option_field(
        "--labelled",
        multiple=True,
        type=FILE,
        help="Rows of chunks that were seen before, with all labels that are known by now; they "
        "take the place of those that the chunks had.",
        absent=(),
    )
    state: Path | None = option_field(
        "--state",
        type=FILE,
        help="Keep what is known in this file, and go on from it: files that were read are not "
        "read again.",
    )
    close: bool = option_field(
        "--close",
        is_flag=True,
        help="Take the last chunk for complete; without --state it always is.",
        absent=False,
    )
    acknowledge: tuple[str, ...] = option_field(
        "--acknowledge",
        multiple=True,
        metavar="KIND",
        help="Take the standing alarm of this kind as seen, or 'all'; evidence begins anew.",
        absent=(),
    )


@dataclass(frozen=True)
class Telling:
    """Who is told, and how.

    Attributes
    ----------
    report : Path or None
        Where the page goes.
    webhook : str or None
        Where new alarms are posted.
    strict, as_json : bool
        Exit 1 while an alarm stands; speak JSON.
    """

    report: Path | None = option_field(
        "--report", type=FILE, help="Write the page: one HTML file, replaced each time."
    )
    webhook: str | None = option_field(
        "--webhook",
        metavar="URL",
        help="Post new alarms as JSON to this http or https address; if it fails the command "
        "exits with 1, and they are posted the next time.",
    )
    strict: bool = option_field(
        "--strict", is_flag=True, help="Exit with 1 while an alarm stands.", absent=False
    )
    as_json: bool = option_field(
        "--json",
        "as_json",
        is_flag=True,
        help="Print a line of JSON for each chunk as it is complete, then for each alarm.",
        absent=False,
    )


@option.command(
    "abstain monitor triage.json inbox/ --scores p_ill --time scored_at --every day "
    "--state monitor.json --report monitor.html"
)
@option.rule
@click.argument("batches", metavar="[BATCH]...", nargs=-1, type=FILE)
@option.columns("scores")
@in_one_value(Place, "place")
@in_one_value(Watch, "watch")
@option.reading(refer=True)
@in_one_value(Telling, "telling")
def monitor(
    rule: option.SavedRule,
    batches: tuple[Path, ...],
    *,
    columns: option.Columns,
    place: Place,
    watch: Watch,
    reading: option.Reading,
    telling: Telling,
) -> None:
    """Watch the rule in POLICY and the stream that it decides about.

    BATCH are files of scores in the order of time, patterns of such, or a folder that grows. For
    each chunk: how many rows are referred, the class proportions, the metric estimated without
    labels and, where there are labels, the realised one. Alarms may be looked at however often:
    false ones are as seldom as --false-alarms says.
    """
    _check(rule, batches, place, telling)

    from abstain.cli._watched_files import WatchedFiles

    watching = watch.begin(rule.loaded, place.state)
    if place.acknowledge:
        watching.acknowledge(*(() if "all" in place.acknowledge else place.acknowledge))
    files = WatchedFiles(watching, columns, reading, place.time, place.label)
    kept = monotonic()
    for batch in batches:
        for chunk in files.add(batch):
            _told(chunk, telling)
            if place.state is not None and monotonic() - kept > _KEEP_AFTER:
                watching.save(place.state)
                kept = monotonic()
    if place.close or place.state is None:
        n = len(watching.chunks)
        watching.close()
        for chunk in watching.chunks[n:]:
            _told(chunk, telling)
    for labelled in place.labelled:
        for chunk in files.relabel(labelled):
            _told(chunk, telling)
    delivered = _finish(watching, place, telling)
    if not delivered or (telling.strict and watching.alarms):
        click.get_current_context().exit(1)


def _check(
    rule: option.SavedRule, batches: Sequence[Path], place: Place, telling: Telling
) -> None:
    """Refuse, before any work, what cannot be."""
    if not batches and place.state is None:
        raise click.UsageError("Name a BATCH, or the --state of a run before.")
    if place.acknowledge and place.state is None:
        raise click.UsageError("--acknowledge needs the --state whose alarms were seen.")
    report = telling.report
    if report is not None and report.suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(f"--report must end in .html; got {report}.")
    if telling.webhook is not None:
        from urllib.parse import urlsplit

        parts = urlsplit(telling.webhook)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise click.UsageError("--webhook must be an address that begins with https://.")
    inputs = (rule.policy, rule.key_file, *batches, *place.labelled)
    option.Outputs(out=place.state, report=report, force=True).check(*inputs, table=False)


def _told(chunk: Chunk, telling: Telling) -> None:
    if telling.as_json:
        _line("chunk", {name: of for name, of in chunk.to_dict().items() if name != "sums"})


def _line(kind: str, found: dict[str, Any]) -> None:
    import json

    from abstain._numerics import plain

    tell(json.dumps({"event": kind, **plain(found)}, allow_nan=False))


def _finish(watching: Monitor, place: Place, telling: Telling) -> bool:
    """Keep what is known, then say it; return whether all who are to be told were."""
    alarms = {f"{alarm.kind} {alarm.chunk}": alarm for alarm in watching.alarms}
    # What no longer stands may be told anew.
    watching.told = [name for name in watching.told if name in alarms]
    if place.state is not None:
        watching.save(place.state)
    if telling.report is not None:
        watching.report(telling.report)
    if telling.as_json:
        for alarm in alarms.values():
            _line("alarm", alarm.to_dict())
    else:
        tell(watching.to_text())
    wrote("what is known", place.state)
    wrote("the page", telling.report)
    if watching.open_rows:
        say(f"{watching.open_rows:,} rows wait for the chunk that is not complete yet.")
    new = [name for name in alarms if name not in watching.told]
    if telling.webhook is None or not new:
        return True
    failed = _post(telling.webhook, watching, [alarms[name] for name in new])
    if failed is not None:
        say(f"abstain: the webhook could not be told: {failed}. The next run will try again.")
        return False
    watching.told += new
    if place.state is not None:
        watching.save(place.state)
    return True


def _post(url: str, watching: Monitor, alarms: Sequence[Alarm]) -> str | None:
    """Post alarms; return why that failed, or None."""
    import json
    from http.client import HTTPException
    from urllib.error import URLError
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class Here(HTTPRedirectHandler):
        """An answer that leads elsewhere is none: who is told was said."""

        def redirect_request(self, *_: Any) -> None:
            return None

    found = {
        "text": "\n".join(str(alarm) for alarm in alarms),
        "policy": watching.policy.sha256,
        "alarms": [alarm.to_dict() for alarm in alarms],
    }
    body = json.dumps(found, allow_nan=False).encode()
    request = Request(url, body, {"Content-Type": "application/json"}, method="POST")  # noqa: S310
    try:
        with build_opener(Here).open(request, timeout=_PATIENCE):
            return None
    except (OSError, URLError, HTTPException, ValueError) as error:
        # The address may hold a secret, and is not repeated.
        return str(getattr(error, "reason", None) or type(error).__name__)
