"""Monitor: a rule and the stream that it decides about, chunk by chunk, for years."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import (
    FloatArray,
    IntArray,
    Missing,
    check_number,
    check_sample_weight,
    row_roles,
    seconds_of,
    shown,
)
from abstain._summariser import Summariser
from abstain.deciding import Given
from abstain.exceptions import ArgumentError, RepairWarning, Way, warn_user
from abstain.monitoring._alarms import Alarm, raised
from abstain.monitoring._chunk import Chunk, LabelledRows, Looking
from abstain.monitoring._file import (
    MOST_CHUNKS,
    OpenChunk,
    part_of,
    read_state,
    span_of,
    write_state,
)
from abstain.monitoring._settings import capacity_of, positive, range_of
from abstain.monitoring._shown import headline_of, html_of, text_of
from abstain.monitoring._times import check_every, named, period_end, period_starts
from abstain.monitoring._watched import KINDS, Watched
from abstain.policy import Policy
from abstain.selection import Selection
from abstain.summaries import Summary


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
    read : dict of str to dict
        Of each source that was read its ``rows`` and ``bytes``, for who goes on from a state.
    told : list of str
        What somebody was told of already, for the same.

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
        self.tolerance = positive(tolerance, "tolerance", 100.0)
        self.false_alarms = positive(false_alarms, "false_alarms", 10.0)
        self.capacity = capacity_of(capacity, policy)
        self._allowed = range_of(policy, prior_range, self.tolerance)
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
        self._open: OpenChunk | None = None
        self.read: dict[str, dict[str, int]] = {}
        self.told: list[str] = []
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
        y_target: ArrayLike | None = None,
        name: str | None = None,
        missing: Missing = "refer",
        more: bool = False,
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
        y_target : array-like of shape (n,), optional
            Labels where they are known already; None, NaN or empty text where not. Others may
            come later, with :meth:`label`.
        name : str, optional
            What to call the chunk, where each call is one.
        missing : {"refer", "drop", "error"}
            What becomes of rows without a score; those that are referred use capacity.
        more : bool
            Whether other rows of the same chunk follow, where each call is one.
        """
        rows = np.asarray(scores) if not hasattr(scores, "__len__") else scores
        n = len(rows)  # type: ignore[arg-type]
        seconds = None if time is None else seconds_of(time, n)
        weight = check_sample_weight(sample_weight, n_rows=n) if n else None
        codes = self._codes(y_target, n)

        def part(rows: Any) -> OpenChunk:
            some = part_of(scores, rows)
            heavy = None if weight is None else weight[rows]
            times = (None, None) if seconds is None else span_of(seconds[rows], time)
            return OpenChunk(
                self._summariser.summarise(some, heavy, missing=missing),
                len(np.arange(n)[rows]),
                *times,
                {} if codes is None else self._labels(some, codes[rows], heavy),
            )

        if self.every is None:
            whole = part(slice(None)) if n else None
            return self._alone(whole, name, span_of(seconds, time), more=more)
        if name is not None or more:
            raise ArgumentError(
                "`name` and `more` are for chunks that are added one by one; with `every` they "
                "are named by their period.",
                "name",
            )
        if isinstance(self.every, int):
            return list(self._by_number(n, part))
        if seconds is None:
            ways = [Way("time", python="pass `time`")]
            raise ArgumentError(
                f"`time` is needed to cut the stream by {self.every}.", "time", ways=ways
            )
        return list(self._by_period(seconds, part))

    def _codes(self, y_target: ArrayLike | None, n: int) -> IntArray | None:
        """Return the column of each label that is known, -1 where none is."""
        if y_target is None:
            return None
        classes = self.policy.classes
        return row_roles(np.zeros(n), missing="drop", y_target=y_target, classes=classes)[1].codes

    def _labels(
        self, scores: Any, codes: IntArray, weight: FloatArray | None
    ) -> dict[int, Summary]:
        """Return the summaries of rows whose label is known, by class."""
        found = {}
        for column in np.unique(codes[codes >= 0]).tolist():
            rows = np.flatnonzero(codes == column)
            heavy = None if weight is None else weight[rows]
            found[column] = self._summariser.summarise(
                part_of(scores, rows), heavy, missing="drop"
            )
        return {column: one for column, one in found.items() if one.n_rows}

    def _alone(
        self,
        rows: OpenChunk | None,
        name: str | None,
        at: tuple[float | None, float | None],
        *,
        more: bool,
    ) -> list[Chunk]:
        """Take rows for a chunk, with those that came before and were not all of it."""
        if name is not None:
            self._check_name(name)
        if rows is not None:
            self._open = rows.merge(self._open)
        if more:
            return []
        if self._open is not None:
            at = self._open.start, self._open.end
        closed, self._open = self._open, None
        return [self._keep(closed, name or self._name(at[0]), *at)]

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
        if not isinstance(summary, Summary) or summary.n_rows:
            self._summariser.check(summary)
        at = [None if one is None else float(seconds_of(one, 1)[0]) for one in (start, end)]
        if (at[0] is None) != (at[1] is None):
            raise ArgumentError("`start` and `end` go together: pass both, or none.", "end")
        if name is not None:
            self._check_name(name)
        whole = OpenChunk(summary, summary.n_rows + summary.n_missing)
        return self._keep(whole, name or self._name(at[0]), at[0], at[1])

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
        rows = self._looking.labelled_rows(scores, y, sample_weight)
        return self._compare(at[0], rows)

    def label_times(
        self, scores: ArrayLike, y: ArrayLike, time: Any, sample_weight: ArrayLike | None = None
    ) -> list[Chunk]:
        """Compare chunks with labels that came late, each with those of its time.

        As :meth:`label` does, for a stream that is cut by time. Labels of a time that no complete
        chunk has are left out, with a warning.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            The scores of the rows that have a label.
        y : array-like of shape (n,)
            The labels.
        time : array-like of shape (n,)
            When each row came.
        sample_weight : array-like of shape (n,), optional
            As for :meth:`label`.
        """
        if not isinstance(self.every, str):
            raise ArgumentError(
                "Labels find their chunk by time only where the stream is cut by month, week, day "
                "or hour. Give those of each chunk by its name.",
                "time",
            )
        starts = period_starts(seconds_of(time, len(np.asarray(y))), self.every)
        weight = check_sample_weight(sample_weight, n_rows=len(starts))
        at: dict[float | None, str] = {}
        for one in self._chunks:
            at.setdefault(one.start, one.name)
        found, left = [], {}
        for start in np.unique(starts).tolist():
            rows = np.flatnonzero(starts == start)
            if start not in at:
                left[named(start, self.every)] = len(rows)
                continue
            heavy = None if weight is None else weight[rows]
            found.append(self.label(at[start], part_of(scores, rows), np.asarray(y)[rows], heavy))
        if left:
            first = next(iter(left))
            warn_user(
                f"{sum(left.values()):,} labels are of no complete chunk, first of {first}; they "
                f"are left out. Give them again once it is complete.",
                RepairWarning,
            )
        return found

    def _compare(self, at: int, rows: LabelledRows) -> Chunk:
        orders = [one.realised.order for one in self._chunks if one.realised is not None]
        found = self._looking.labelled(self._chunks[at], rows, max(orders, default=-1) + 1)
        self._chunks[at] = found
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

    def _by_number(self, n: int, part: Callable[[Any], OpenChunk]) -> Iterator[Chunk]:
        size, begin = int(self.every or 1), 0
        while begin < n:
            have = 0 if self._open is None else self._open.rows
            end = min(begin + size - have, n)
            self._open = part(slice(begin, end)).merge(self._open)
            begin = end
            if self._open.rows >= size:
                yield from self._closed()

    def _by_period(self, seconds: FloatArray, part: Callable[[Any], OpenChunk]) -> Iterator[Chunk]:
        every = str(self.every)
        starts = period_starts(seconds, every)
        latest = max((one.end for one in self._chunks if one.end is not None), default=-np.inf)
        order = np.argsort(starts, kind="stable")
        cuts = np.flatnonzero(np.diff(starts[order])) + 1
        for rows in np.split(order, cuts) if len(order) else ():
            start = float(starts[rows[0]])
            found = replace(part(rows), start=start, end=float(period_end(int(start), every)))
            current = None if self._open is None else self._open.start
            if start < latest or (current is not None and start < current):
                late = self.free_name(f"{named(start, every)} (late)")
                yield self._keep(found, late, found.start, found.end)
                continue
            if current is not None and start > current:
                yield from self._closed()
            self._open = found.merge(self._open)

    def _closed(self) -> Iterator[Chunk]:
        found, self._open = self._open, None
        if found is not None:
            yield self._keep(found, self._name(found.start), found.start, found.end)

    def _check_name(self, name: str) -> None:
        if any(one.name == name for one in self._chunks):
            raise ArgumentError(f"There is a chunk {name!r} already.", "name")

    def _keep(
        self, rows: OpenChunk | None, name: str, start: float | None, end: float | None
    ) -> Chunk:
        if len(self._chunks) >= MOST_CHUNKS:
            raise ValueError(
                f"A monitor remembers {MOST_CHUNKS:,} chunks; begin another, with longer chunks."
            )
        chunk = self._looking.chunk(None if rows is None else rows.summary, name, start, end)
        self._chunks.append(chunk)
        self._alarms = None
        if rows is not None and rows.labels:
            return self._compare(-1, self._looking.labelled_summaries(rows.labels))
        return chunk

    @property
    def open_rows(self) -> int:
        """How many rows the chunk has that is not complete yet."""
        return 0 if self._open is None else self._open.rows

    def _name(self, start: float | None) -> str:
        if start is None:
            return self.free_name(f"chunk {len(self._chunks) + 1}")
        return self.free_name(named(start, self.every))

    def free_name(self, name: str) -> str:
        """Return a name, with a number behind it where a chunk has it already."""
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
        return f"<Monitor: {headline_of(self)}>"

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
            "read": {name: dict(of) for name, of in self.read.items()},
            "told": list(self.told),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what is needed to go on later to a file, whole or not at all.

        Parameters
        ----------
        path : str or path
            The file; one that is there is replaced.
        """
        write_state(path, self.to_dict(), self._open)

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
        data, begun = read_state(path)
        if not isinstance(policy, Policy):
            raise TypeError(f"`policy` must be a Policy; got {shown(policy)}.")
        if data["policy"] != policy.sha256:
            raise ArgumentError(
                f"{path} watches another rule than this policy. Load that one, or begin a new "
                f"file.",
                "policy",
            )
        try:
            return cls._resumed(policy, data, begun)
        except ValueError as error:
            raise ValueError(f"{path} is no state of a monitor of this rule: {error}") from error

    @classmethod
    def _resumed(cls, policy: Policy, data: dict[str, Any], begun: OpenChunk | None) -> Self:
        low, high = (np.array(side, dtype=np.float64) for side in data["prior_range"])
        names = ("every", "floor", "capacity", "tolerance", "false_alarms")
        found = cls(policy, prior_range=(low, high), **{name: data[name] for name in names})
        for one in map(Chunk.from_dict, data["chunks"]):
            found._chunks.append(found._checked(one))
        found._cleared = dict(data["cleared"])
        for part in () if begun is None else (begun.summary, *begun.labels.values()):
            if part.n_rows:
                found._summariser.check(part)
        found._open = begun
        found.read, found.told = data.get("read", {}), data.get("told", [])
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

    def report(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """Return the page about the stream, which shows itself in a notebook.

        Parameters
        ----------
        path : path, optional
            Where to write the page as well.
        **options
            Those of :class:`abstain.report.MonitorReport`.

        Returns
        -------
        MonitorReport
        """
        # What stands below all rooms is opened when it is asked for.
        from abstain.report import MonitorReport

        report = MonitorReport(self, **options)
        if path is not None:
            report.save(path)
        return report

    def to_text(self) -> str:
        """Say what was seen as lines: the alarms, then the last chunks."""
        return text_of(self)

    def _repr_html_(self) -> str:
        return html_of(self)
