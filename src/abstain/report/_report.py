"""Report: the page about a batch of decisions, as facts, JSON or HTML."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

from numpy.typing import ArrayLike

from abstain._files import write_text
from abstain._inputs import check_whole
from abstain._logs import logger, repeated_work, stopwatch
from abstain.decisions import Decisions, check_decisions
from abstain.report._facts import facts_of
from abstain.report._html import render
from abstain.summaries import LabelledSummary

_logger = logger("report")


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A page about a batch of decisions that a clinician can read.

    One self-contained HTML file: it needs no network, prints well, and its budget slider moves
    every figure. In a notebook it shows itself.

    Parameters
    ----------
    decisions : Decisions
        What was decided.
    scores_val, y_val : array-like, optional
        The validation scores and labels, on the scale the decisions were made on. With them the
        page says what moved and how far to trust the estimates.
    labelled : LabelledSummary, optional
        The same, where it is known already: calibrated and not adapted.
    scores_target : array-like, optional
        The scores of the decided rows; needed only where a class is estimated to have vanished.
    ids : array-like of shape (n,), optional
        The name of each row; row numbers when not given. Shown and downloaded exactly as they
        are: text of whatever kind, whole numbers of any size, fractions to their last digit,
        dates. A row without one (None, NaN, NA) is shown without.
    id_name : str
        What the names are.
    groups : array-like of shape (n,), optional
        A group of each row, such as a hospital or a sex, to compare referral rates.
    group_name : str
        What the groups are.
    title : str
        The page's title.
    command : str, optional
        The command that made the decisions, for the reader to repeat.
    inputs : sequence of path
        Files the decisions were made from; the page has their SHA-256.
    random_state : int
        Seeds the back-test.

    Attributes
    ----------
    facts : dict
        Everything the page says, as plain data; computed when first asked for.

    Examples
    --------
    >>> from abstain import Abstainer
    >>> from abstain.datasets import screening_clinic
    >>> from abstain.report import Report
    >>> clinic = screening_clinic(1000, 1000, random_state=0)
    >>> abstainer = Abstainer("auroc", budget=0.2, calibration="platt", scale="logits",
    ...                       random_state=0)
    >>> decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    >>> report = Report(decisions, scores_val=clinic.scores_val, y_val=clinic.y_val)
    >>> report.headline[:31]
    'Refer 200 of 1,000 cases (20%).'
    """

    decisions: Decisions
    _: KW_ONLY
    scores_val: ArrayLike | None = None
    y_val: ArrayLike | None = None
    labelled: LabelledSummary | None = None
    scores_target: ArrayLike | None = None
    ids: ArrayLike | None = None
    id_name: str = "row"
    groups: ArrayLike | None = None
    group_name: str = "group"
    title: str = "Which cases go to a person"
    command: str | None = None
    inputs: Sequence[str | os.PathLike[str]] = ()
    random_state: int = 0

    def __post_init__(self) -> None:
        check_decisions(self.decisions)
        for name in ("title", "id_name", "group_name", "command"):
            text = getattr(self, name)
            if not isinstance(text, str) and not (name == "command" and text is None):
                raise TypeError(f"`{name}` must be text; got {type(text).__name__}.")
        check_whole(self.random_state, name="random_state", least=0, most=2**63 - 1)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Everything the page says, as plain data."""
        lap = stopwatch()
        with repeated_work():
            found = facts_of(self)
        _logger.info("the facts of the page were found in %.2f s", lap())
        return found

    @property
    def headline(self) -> str:
        """The answer, in two sentences."""
        text: str = self.facts["steps"][self.facts["chosen"]]["headline"]
        return text

    def to_json(self) -> str:
        """Return the facts as JSON."""
        return json.dumps(self.facts, allow_nan=False)

    def to_html(self) -> str:
        """Return the page."""
        return render(self.facts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, whole or not at all."""
        write_text(path, self.to_html())

    def _repr_html_(self) -> str:
        # A frame of its own keeps the page's style and the notebook's apart.
        return (
            f'<iframe title="{html.escape(self.facts["title"], quote=True)}" '
            f'srcdoc="{html.escape(self.to_html(), quote=True)}" '
            f'style="width:100%;height:640px;border:1px solid #8888"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Report on {self.decisions!r}>"
