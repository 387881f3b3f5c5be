"""Paired comparisons: every method on the same runs, and where ours is not the best."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.proof._lead import ENOUGH, Lead

__all__ = ["Compared", "Paired", "gap_figures", "gap_text", "lost_text", "percent"]

OURS = "ours"


@dataclass(frozen=True)
class Paired:
    """Errors of several methods on the same runs; NaN where one has none.

    ``means`` has the mean error of each method. ``gap`` tells of the best peer: its name, the mean
    of its error minus ours on the runs that both have, the standard error of that, and ``peer``.
    """

    runs: Sequence[Mapping[str, float]]
    means: dict[str, float]
    gap: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, runs: Sequence[Mapping[str, float]], methods: Sequence[str]) -> "Paired":
        """Compare the methods."""
        means = {method: _mean([run.get(method, np.nan) for run in runs]) for method in methods}
        peers = [m for m in methods if m != OURS and not np.isnan(means[m])]
        made = cls(runs, means)
        if not peers:
            return made
        best = min(peers, key=lambda method: means[method])
        gap, error = made.against(best)
        return cls(runs, means, {"peer": best, "gap": gap, "gap_error": error})

    def against(self, peer: str) -> tuple[float, float]:
        """Return the mean of a peer's error minus ours, and its standard error."""
        ours, theirs = ([run.get(name, np.nan) for run in self.runs] for name in (OURS, peer))
        lead = Lead.of(ours, theirs, greater_is_better=False)
        return lead.difference, lead.error

    def mean(self, column: str) -> float:
        """Return the mean of another figure."""
        return _mean([run.get(column, np.nan) for run in self.runs])


def _mean(values: Sequence[float]) -> float:
    known = np.asarray(values, dtype=float)
    known = known[~np.isnan(known)]
    return float(known.mean()) if len(known) else float("nan")


@dataclass(frozen=True)
class Compared:
    """Lines of a table by a name for each; each has the ``gap`` of its best peer."""

    lines: dict[str, dict[str, Any]]

    @property
    def lost(self) -> dict[str, dict[str, Any]]:
        """The lines where a peer's error is smaller, the clearest first."""
        behind = {name: line for name, line in self.lines.items() if line["gap"] < 0}
        return dict(sorted(behind.items(), key=lambda item: item[1]["gap"]))

    def mean_errors(self, methods: Sequence[str], of: str | None = None) -> dict[str, float]:
        """Return each method's error averaged over the lines, or those of one metric."""
        lines = [line for line in self.lines.values() if of is None or line["metric"] == of]
        found = {method: _mean([line[method] for line in lines]) for method in methods}
        return {method: error for method, error in found.items() if not np.isnan(error)}

    def in_short(self, what: str = "lines") -> str:
        """Return on how many lines ours is best."""
        clear = sum(is_clear(line) for line in self.lost.values())
        best = len(self.lines) - len(self.lost)
        return f"ours best on {best} of {len(self.lines)} {what}, clearly behind on {clear}"


def is_clear(line: Mapping[str, Any]) -> bool:
    """Tell whether the best peer's gap is more than chance makes."""
    return bool(abs(line["gap"]) > ENOUGH * line["gap_error"])


def gap_text(gap: Mapping[str, Any]) -> str:
    """Return a gap with its standard error."""
    if not gap:
        return ""
    return f"{gap_figures(gap['gap'], gap['gap_error'])} ({gap['peer']})"


def gap_figures(gap: float, error: float) -> str:
    """Return a difference with its standard error where there is one; nothing for NaN."""
    if np.isnan(gap):
        return ""
    return f"{gap:+.4f}" + ("" if np.isnan(error) else f" ± {error:.4f}")


def lost_text(compared: Compared, what: str = "lines") -> str:
    """Say on which lines a peer's error is smaller, and by how much; then on how many none is."""
    many, lost = len(compared.lines), compared.lost
    if not lost:
        return f"ours has the smallest error on all {many} {what}."
    said = [
        f"{name} ({line['peer']} by {-line['gap']:.4f} ± {line['gap_error']:.4f})"
        for name, line in lost.items()
    ]
    clear = [text for text, line in zip(said, lost.values(), strict=True) if is_clear(line)]
    rest = [text for text in said if text not in clear]
    parts = []
    if clear:
        parts.append(f"another's error is clearly smaller on {'; '.join(clear)}.")
    if rest:
        parts.append(f"{'Within' if clear else 'within'} two standard errors: {'; '.join(rest)}.")
    parts.append(f"Ours is smallest on {many - len(lost)} of {many} {what}.")
    return " ".join(parts)


def percent(share: float) -> str:
    """Return a share in percent; nothing where there is none."""
    return "" if np.isnan(share) else f"{100 * share:.0f} %"
