"""Monitor: a rule and the stream that it decides about, chunk by chunk, for years."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from abstain._display import block, doubts, facts, sentence, table
from abstain._inputs import FloatArray, Missing, check_number, check_sample_weight, shown
from abstain._numerics import aligned
from abstain._summariser import Summariser
from abstain._words import number, percent, share, span
from abstain.certificates import check_prior_range
from abstain.deciding import Given
from abstain.exceptions import ArgumentError, Way
from abstain.monitoring._alarms import Alarm, raised
from abstain.monitoring._chunk import Chunk, Looking
from abstain.monitoring._file import MOST_CHUNKS, Place, read_state, write_state
from abstain.monitoring._times import check_every, named, period_end, period_starts, seconds_of
from abstain.monitoring._watched import KINDS, Watched, allowed_range
from abstain.policy import Policy
from abstain.selection import Selection
from abstain.summaries import Summary

# A budget is clearly above itself from here on.
_CLEARLY = 1.1

_MOST_SHOWN = 12


class Monitor:
    """Watch a rule and the stream it decides about, and say when it is no longer the right one.

    Parameters
    ----------
    policy : Policy
        The rule, as :meth:`abstain.Abstainer.decide` made it.
    every : {"month", "week", "day", "hour"} or int, optional
        How the stream is cut: by time, or into so many rows (also ``"1000 rows"``). When not
        given, whatever :meth:`add` is given is a chunk.
    floor : float, optional
        What the estimated metric of the rows that are kept is to reach; of a cost the most.
    capacity : float or int, optional
        What people can look at: a share of the rows or, as a whole number, so many of each chunk.
        When not given it is the policy's budget and a tenth of it.
    prior_range : pair, optional
        The class proportions that the rule is made for: two numbers for the positive class of
        two, or two arrays. When not given, that of its certificate or the proportions it was made
        for, and ``tolerance`` about them.
    tolerance : float
        By what part the odds of a class may differ from those the rule was made for.
    false_alarms : float
        How many false alarms there may be in a year, of all kinds together: 0.01 is one in a
        hundred years.

    Attributes
    ----------
    chunks : tuple of Chunk
        What is known of each chunk, in the order they came.
    alarms : tuple of Alarm
        The alarms that stand; see :meth:`acknowledge`.

    Notes
    -----
    Every kind of evidence is an e-process: bets that the mean of a bounded value is outside its
    quiet range, whose stakes are paid in as time passes. While all means are in their ranges, the
    expected number of alarms in a year is at most ``false_alarms``, however often and whenever one
    looks. It is proved for rows that are independent of each other; the ranges are as wide as the
    validation data leave open, but for a probability of 1% in all. The kind "metric" is about
    normal instead, and no chunk alone can raise it.

    A monitor keeps sums and no rows. Only the chunk that is still open has a summary.

    References
    ----------
    J. Shin, A. Ramdas, A. Rinaldo (2024). E-detectors: a nonparametric framework for sequential
    change detection. The New England Journal of Statistics in Data Science 2(2).

    Examples
    --------
    >>> from abstain import Abstainer
    >>> from abstain.datasets import screening_clinic
    >>> from abstain.monitoring import Monitor
    >>> clinic = screening_clinic(random_state=0)
    >>> abstainer = Abstainer("auroc", budget=0.1, calibration="platt", scale="logits")
    >>> policy = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target).policy
    >>> monitor = Monitor(policy, every="day")
    >>> for day in range(1, 6):
    ...     rows = clinic.scores_target[1000 * (day - 1) : 1000 * day]
    ...     closed = monitor.add(rows, time=f"2026-03-0{day}T12:00:00Z")
    >>> monitor
    <Monitor: 4 chunks, 2026-03-01 to 2026-03-04, no alarm>
    >>> closed = monitor.add(clinic.scores_target[:1000] + 2.0, time="2026-03-06")
    >>> [alarm.kind for alarm in monitor.close().alarms]
    ['proportions', 'scores', 'model']
    """

    def __init__(
        self,
        policy: Policy,
        *,
        every: str | int | None = None,
        floor: float | None = None,
        capacity: float | None = None,
        prior_range: tuple[ArrayLike, ArrayLike] | None = None,
        tolerance: float = 0.2,
        false_alarms: float = 0.01,
    ) -> None:
        if not isinstance(policy, Policy):
            raise TypeError(f"`policy` must be a Policy; got {shown(policy)}.")
        if policy.source is None or policy.shift is None:
            raise ArgumentError(
                "This policy cannot be watched: it does not carry its validation data. Make it "
                "with Abstainer.decide(), from a shift estimator and a score with registered "
                "names.",
                "policy",
                ways=[Way("Abstainer.decide", python="Abstainer.decide()")],
            )
        self.policy = policy
        self.every = check_every(every)
        self.floor = None if floor is None else check_number(floor, name="floor")
        self.tolerance = _positive(tolerance, "tolerance", 100.0)
        self.false_alarms = _positive(false_alarms, "false_alarms", 10.0)
        self.capacity = _capacity(capacity, policy)
        self._allowed = _allowed(policy, prior_range, self.tolerance)
        given = Given(
            policy.source,
            policy.shift,
            policy.metric,
            policy.selection or Selection(),
            policy.classes,
            level=policy.level,
        )
        self._watched = Watched.of(policy, policy.source, self._allowed)
        self._looking = Looking(policy, given, self._watched, self.capacity, self.floor)
        self._summariser = Summariser(policy.calibrator, policy.order)
        self._chunks: list[Chunk] = []
        self._open: Summary | None = None
        self._open_at: Place = (None, None, 0)
        self._cleared: dict[str, int] = {}
        self._alarms: tuple[Alarm, ...] | None = None

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """What is known of each chunk, in the order they came."""
        return tuple(self._chunks)

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """The alarms that stand, in the order they were raised."""
        if self._alarms is None:
            found = raised(
                self._chunks, self._watched, self._kinds, self.false_alarms, self._cleared
            )
            self._alarms = tuple(found)
        return self._alarms

    @property
    def _kinds(self) -> list[str]:
        return [kind for kind in KINDS if any(kind in chunk.sums for chunk in self._chunks)]

    def add(
        self,
        scores: ArrayLike,
        time: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        name: str | None = None,
        missing: Missing = "refer",
    ) -> list[Chunk]:
        """Look at the next rows; return the chunks that are complete now.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores on the scale the policy was made on. There may be none.
        time : datetime, text, or array-like of shape (n,), optional
            When each row came, or all of them: datetimes or ISO text, in any zone. Rows need not
            be in order. Those of a period that was closed before become a chunk of their own.
        sample_weight : array-like of shape (n,), optional
            How much each row counts.
        name : str, optional
            What to call the chunk, where each call is one.
        missing : {"refer", "drop", "error"}
            What becomes of rows without a score; those that are referred use capacity.
        """
        rows = np.asarray(scores) if not hasattr(scores, "__len__") else scores
        n = len(rows)  # type: ignore[arg-type]
        seconds = None if time is None else seconds_of(time, n)
        weight = check_sample_weight(sample_weight, n_rows=n) if n else None

        def summarised(part: Any) -> Summary:
            some = None if weight is None else weight[part]
            return self._summariser.summarise(_part(scores, part), some, missing=missing)

        if self.every is None:
            whole = summarised(slice(None)) if n else None
            at = _span(seconds, time)
            return [self._keep(whole, name or self._name(at[0]), *at)]
        if name is not None:
            raise ArgumentError(
                "`name` is for chunks that are added one by one; with `every` they are named by "
                "their period.",
                "name",
            )
        if isinstance(self.every, int):
            return list(self._by_number(n, seconds, summarised))
        if seconds is None:
            raise ArgumentError(
                f"`time` is needed to cut the stream by {self.every}.",
                "time",
                ways=[Way("time", python="pass `time`")],
            )
        return list(self._by_period(seconds, summarised))

    def add_summary(
        self,
        summary: Summary,
        *,
        name: str | None = None,
        start: Any = None,
        end: Any = None,
    ) -> Chunk:
        """Look at a chunk whose rows are elsewhere, from their summary.

        Parameters
        ----------
        summary : Summary
            As :meth:`abstain.Abstainer.summarise`, Dask, Spark or Arrow give it, made with the
            calibration of the policy.
        name : str, optional
            What to call the chunk.
        start, end : datetime or text, optional
            When it begins and ends.
        """
        self._summariser.check(summary)
        at = [None if one is None else float(seconds_of(one, 1)[0]) for one in (start, end)]
        if (at[0] is None) != (at[1] is None):
            raise ArgumentError("`start` and `end` go together: pass both, or none.", "end")
        return self._keep(summary, name or self._name(at[0]), at[0], at[1])

    def label(
        self,
        chunk: str,
        scores: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> Chunk:
        """Compare a chunk with the labels of some of its rows, whenever these arrive.

        Given again, labels take the place of those that the chunk had before: a correction needs
        all of them.

        Parameters
        ----------
        chunk : str
            Its name.
        scores : array-like of shape (n,) or (n, n_classes)
            The scores of the rows that have a label.
        y : array-like of shape (n,)
            The labels; of one class alone too.
        sample_weight : array-like of shape (n,), optional
            One over the probability with which each row was picked to be labelled. Needed for the
            realised metric where rows were not picked at random. Whether labels contradict the
            estimate is told without it, as long as rows were picked by their score.
        """
        at = [k for k, one in enumerate(self._chunks) if one.name == chunk]
        if not at:
            raise ArgumentError(f"There is no chunk {chunk!r} yet.", "chunk")
        orders = [one.realised.order for one in self._chunks if one.realised is not None]
        found = self._looking.labelled(
            self._chunks[at[0]], scores, y, sample_weight, max(orders, default=-1) + 1
        )
        self._chunks[at[0]] = found
        self._alarms = None
        return found

    def close(self) -> Self:
        """Take the chunk that is still open for complete."""
        list(self._closed())
        return self

    def acknowledge(self, *kinds: str) -> Self:
        """Take standing alarms as seen, all or some kinds of them; evidence begins anew.

        Parameters
        ----------
        *kinds : str
            Which; all when none is named.
        """
        wrong = {*kinds} - {*KINDS}
        if wrong:
            raise ArgumentError(
                f"`kinds` must be of {', '.join(KINDS)}; got {sorted(wrong)[0]!r}.", "kinds"
            )
        standing = {alarm.kind for alarm in self.alarms}
        self._cleared |= dict.fromkeys(standing & {*(kinds or KINDS)}, len(self._chunks))
        self._alarms = None
        return self

    def _by_number(self, n: int, seconds: FloatArray | None, summarised: Any) -> Iterator[Chunk]:
        size, begin = int(self.every or 1), 0
        while begin < n:
            _, _, have = self._open_at
            end = min(begin + size - have, n)
            part = slice(begin, end)
            times = None if seconds is None else seconds[part]
            self._merge(summarised(part), end - begin, *_span(times, None))
            begin = end
            if self._open_at[2] >= size:
                yield from self._closed()

    def _by_period(self, seconds: FloatArray, summarised: Any) -> Iterator[Chunk]:
        every = str(self.every)
        starts = period_starts(seconds, every)
        latest = max((one.end for one in self._chunks if one.end is not None), default=-np.inf)
        for start in np.unique(starts).tolist():
            rows = np.flatnonzero(starts == start)
            end = float(period_end(start, every))
            current = self._open_at[0]
            if start < latest or (current is not None and start < current):
                late = f"{named(start, every)} (late)"
                yield self._keep(summarised(rows), self._free(late), float(start), end)
                continue
            if current is not None and start > current:
                yield from self._closed()
            self._merge(summarised(rows), len(rows), float(start), end)

    def _merge(self, summary: Summary, n: int, start: float | None, end: float | None) -> None:
        self._open = summary if self._open is None else self._open.merge(summary)
        first, last, have = self._open_at
        if start is not None and end is not None:
            first = start if first is None else min(first, start)
            last = end if last is None else max(last, end)
        self._open_at = first, last, have + n

    def _closed(self) -> Iterator[Chunk]:
        if self._open is None:
            return
        (start, end, _), summary = self._open_at, self._open
        self._open, self._open_at = None, (None, None, 0)
        yield self._keep(summary, self._name(start), start, end)

    def _keep(
        self, summary: Summary | None, name: str, start: float | None, end: float | None
    ) -> Chunk:
        if any(one.name == name for one in self._chunks):
            raise ArgumentError(f"There is a chunk {name!r} already.", "name")
        if len(self._chunks) >= MOST_CHUNKS:
            raise ValueError(
                f"A monitor remembers {MOST_CHUNKS:,} chunks; begin another, with longer chunks."
            )
        chunk = self._looking.chunk(summary, name, start, end)
        self._chunks.append(chunk)
        self._alarms = None
        return chunk

    def _name(self, start: float | None) -> str:
        if start is None:
            return self._free(f"chunk {len(self._chunks) + 1}")
        return self._free(named(start, self.every))

    def _free(self, name: str) -> str:
        """Return a name that no chunk has."""
        taken, k = {one.name for one in self._chunks}, 1
        while (found := name if k == 1 else f"{name} ({k})") in taken:
            k += 1
        return found

    def in_time(self) -> list[Chunk]:
        """Return the chunks in the order of time, those without one as they came."""
        order = [(k if one.start is None else one.start, k) for k, one in enumerate(self._chunks)]
        return [self._chunks[k] for _, k in sorted(order)]

    @property
    def queue(self) -> float:
        """How many referred rows people are behind with, at their capacity."""
        waiting = 0.0
        for one in self._chunks if self.capacity is not None else ():
            capacity = self.capacity or 0
            if not isinstance(capacity, int):
                capacity = capacity * (one.rows + one.missing)
            waiting = max(waiting + one.referred - capacity, 0.0)
        return waiting

    def __repr__(self) -> str:
        return f"<Monitor: {self._headline()}>"

    def _headline(self) -> str:
        n = len(self._chunks)
        if not n:
            return "no chunk yet"
        ordered = self.in_time()
        told = "no alarm"
        if self.alarms:
            told = f"alarms: {', '.join(alarm.kind for alarm in self.alarms)}"
        chunks = "1 chunk" if n == 1 else f"{n:,} chunks"
        ends = ordered[0].name if n == 1 else f"{ordered[0].name} to {ordered[-1].name}"
        return f"{chunks}, {ends}, {told}"

    def to_dict(self) -> dict[str, Any]:
        """Return all that a monitor knows as plain data; see :meth:`save`."""
        return {
            "policy": self.policy.sha256,
            "metric": self.policy.metric.name,
            "classes": [str(name) for name in self.policy.classes.tolist()],
            "level": self.policy.level,
            "every": self.every,
            "floor": self.floor,
            "capacity": self.capacity,
            "prior_range": self._allowed.tolist(),
            "tolerance": self.tolerance,
            "false_alarms": self.false_alarms,
            "queue": self.queue,
            "alarms": [alarm.to_dict() for alarm in self.alarms],
            "cleared": dict(self._cleared),
            "chunks": [chunk.to_dict() for chunk in self._chunks],
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what is needed to go on later to a file, whole or not at all.

        Parameters
        ----------
        path : str or path
            The file; one that is there is replaced.
        """
        write_state(path, self.to_dict(), self._open, self._open_at)

    @classmethod
    def load(cls, path: str | os.PathLike[str], policy: Policy) -> Self:
        """Go on from what :meth:`save` wrote.

        Parameters
        ----------
        path : str or path
            The file.
        policy : Policy
            The rule that it is of.

        Raises
        ------
        ValueError
            If the file is cut, damaged, too large, or of another rule.
        """
        data, summary, place = read_state(path)
        if not isinstance(policy, Policy):
            raise TypeError(f"`policy` must be a Policy; got {shown(policy)}.")
        if data["policy"] != policy.sha256:
            raise ArgumentError(
                f"{path} watches another rule than this policy. Load that one, or begin a new "
                f"file.",
                "policy",
            )
        try:
            return cls._resumed(policy, data, summary, place)
        except ValueError as error:
            raise ValueError(f"{path} is no state of a monitor of this rule: {error}") from error

    @classmethod
    def _resumed(
        cls, policy: Policy, data: dict[str, Any], summary: Summary | None, place: Place
    ) -> Self:
        low, high = (np.array(side, dtype=np.float64) for side in data["prior_range"])
        names = ("every", "floor", "capacity", "tolerance", "false_alarms")
        found = cls(policy, prior_range=(low, high), **{name: data[name] for name in names})
        for one in map(Chunk.from_dict, data["chunks"]):
            found._chunks.append(found._checked(one))
        found._cleared = dict(data["cleared"])
        if summary is not None:
            found._summariser.check(summary)
        found._open, found._open_at = summary, place
        return found

    def _checked(self, chunk: Chunk) -> Chunk:
        """Return a chunk that was read, if it watches what this monitor does."""
        for kind, sums in chunk.sums.items():
            if len(sums) != len(self._watched.bounds[kind]):
                raise ValueError(
                    f"The chunk {chunk.name!r} has {len(sums)} values of {kind}, where the rule "
                    f"has {len(self._watched.bounds[kind])}: the state is of another one."
                )
        return chunk

    def to_text(self) -> str:
        """Say what was seen as lines: the alarms, then the last chunks."""
        said = [f"Monitor: {self._headline()}."]
        said += [f"ALARM {alarm.kind}: {alarm}" for alarm in self.alarms]
        if self.capacity is not None and self.queue >= 1:
            said.append(f"Waiting for a person: {self.queue:,.0f} rows more than capacity.")
        if not self._chunks:
            return "\n".join(said)
        heads, rows = self._table()
        skipped = len(self._chunks) - len(rows)
        said += ["", *aligned([heads, *rows])]
        return "\n".join([*said, f"and {skipped:,} chunks before."] if skipped else said)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        metric = self.policy.metric.name
        heads = ["chunk", "rows", "referred", f"{metric}, estimated", "interval", "realised"]
        rows = []
        for one in self.in_time()[-_MOST_SHOWN:]:
            after, true = one.estimate.after, one.realised
            rate = one.referral_rate
            rows.append(
                [
                    one.name,
                    f"{one.rows:,}",
                    share(rate) if np.isfinite(rate) else "",
                    number(after.value),
                    span(after.interval),
                    "" if true is None else f"{number(true.after)} ({true.rows:,} labels)",
                ]
            )
        return heads, rows

    def _repr_html_(self) -> str:
        heads, rows = self._table() if self._chunks else ([], [])
        allowed = percent(self.false_alarms)
        return block(
            "Monitor",
            self._headline(),
            doubts(f"{alarm.kind}: {alarm}" for alarm in self.alarms),
            facts(
                [
                    ("metric", self.policy.metric.name),
                    ("chunks", None if self.every is None else f"every {self.every}"),
                    ("floor", self.floor),
                    ("false alarms", f"at most {allowed} a year, however often one looks"),
                ]
            ),
            table(heads, rows) if rows else sentence("No chunk yet.", soft=True),
        )


def _part(scores: Any, rows: Any) -> Any:
    """Return some rows of scores, which may be a frame."""
    if isinstance(rows, slice) and rows == slice(None):
        return scores
    if hasattr(scores, "iloc"):
        return scores.iloc[rows]
    if hasattr(scores, "columns") or hasattr(scores, "schema"):
        at = np.arange(len(scores))[rows]
        return scores.take(at) if hasattr(scores, "take") else scores[at]
    return np.asarray(scores)[rows]


def _span(seconds: FloatArray | None, time: Any) -> tuple[float | None, float | None]:
    """Return when rows begin and end; of no rows, the time that was given for them."""
    if seconds is None:
        return None, None
    if not len(seconds):
        if np.ndim(time):
            return None, None
        (at,) = seconds_of(time, 1)
        return float(at), float(at)
    return float(seconds.min()), float(seconds.max())


def _positive(value: Any, name: str, most: float) -> float:
    found = check_number(value, name=name)
    if not 0 < found <= most:
        raise ArgumentError(f"`{name}` must be above 0 and at most {most:g}; got {value!r}.", name)
    return found


def _capacity(capacity: float | None, policy: Policy) -> float | int | None:
    """Return what people can look at; where nobody said, the budget of the policy and a tenth."""
    if capacity is None:
        budget = None if policy.selection is None else policy.selection.budget
        # A count is of one batch, and chunks are others.
        return None if budget is None or isinstance(budget, int) else min(_CLEARLY * budget, 1.0)
    if isinstance(capacity, int) and not isinstance(capacity, bool) and capacity >= 1:
        return capacity
    found = check_number(capacity, name="capacity")
    if not 0 < found < 1:
        raise ArgumentError(
            f"`capacity` must be a share of the rows, between 0 and 1, or a whole number of rows "
            f"in each chunk; got {capacity!r}.",
            "capacity",
        )
    return found


def _allowed(
    policy: Policy, prior_range: tuple[ArrayLike, ArrayLike] | None, tolerance: float
) -> FloatArray:
    """Return the least and the greatest proportion of each class that the rule is made for."""
    given = prior_range
    if given is None and policy.certificate is not None:
        given = policy.certificate.prior_range
    if given is None:
        return allowed_range(policy.priors, tolerance)
    return np.array(check_prior_range(given, len(policy.classes)))
