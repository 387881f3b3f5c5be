"""Team: who is asked, and what becomes of the answer; as data, for a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray
from abstain._numerics import plain
from abstain._schema import NAME, Either, Keys, MapOf, Numbers, OneOf, Record
from abstain._words import share
from abstain.exceptions import ArgumentError, Way
from abstain.rules import DecisionRule
from abstain.team._codoc import advantages_of
from abstain.team._combined import posterior
from abstain.team._reviewer import KEYS as REVIEWER_KEYS
from abstain.team._reviewer import LabelledOpinions, Reviewer

#: What becomes of an opinion: evidence beside the probabilities, or the verdict.
Answer = Literal["combine", "replace"]

#: What a policy file holds of a team.
KEYS: Keys = {
    "answer": OneOf(*get_args(Answer)),
    "reviewer": REVIEWER_KEYS,
    "readers": MapOf(Record(REVIEWER_KEYS), name=NAME, least=0),
    "advantages": Either(null=None, list=Numbers((2, "knots"))),
}
# As a surprise this rare is one no longer.
_DEPENDENT = 0.01
# Rows with an answer, and without, that tell how hard they are; by how many standard errors.
_FEWEST_APART = 20
_CLEARLY = 4.0


@dataclass(frozen=True, eq=False)
class Team:
    """Who is asked about a referred row, and what becomes of the answer.

    Attributes
    ----------
    reviewer : Reviewer
        Who will be asked, as far as is known when rows are chosen: of several readers their mean.
    answer : {"combine", "replace"}
        Whether the answer is combined with the probabilities, or taken for the verdict.
    readers : dict of str to Reviewer
        Each of several readers, by name.
    advantages : ndarray of shape (2, n_knots) or None
        Where the reader does better than the model, by the model's score; for ``"codoc"``.
    """

    reviewer: Reviewer
    answer: Answer = "combine"
    readers: Mapping[str, Reviewer] = field(default_factory=dict)
    advantages: FloatArray | None = None

    @classmethod
    def given(
        cls, reviewer: Reviewer | Mapping[str, Reviewer] | None, answer: Answer, classes: Any
    ) -> Self:
        """Return a team of reviewers that are known; of nobody given, of one without fault."""
        if not isinstance(reviewer, Mapping):
            return cls((Reviewer() if reviewer is None else reviewer).for_classes(classes), answer)
        readers = {name: one.for_classes(classes) for name, one in reviewer.items()}
        mean = np.mean([one.confusion_ for one in readers.values()], axis=0)
        return cls(Reviewer(mean, classes=classes), answer, readers)

    @classmethod
    def measured(
        cls, rows: Mapping[str, LabelledOpinions], answer: Answer, classes: NDArray[Any]
    ) -> Self:
        """Return a team of readers measured on labelled rows, each pooled with the others.

        Who is asked is not known beforehand: the reviewer is one of them, by how many answers
        each gave.
        """
        whole = LabelledOpinions.joined([*rows.values()])
        told: dict[str, Any] = {"by_score": whole.proba is not None}
        told["of_referred"] = hard = _of_hard_rows(whole)
        reviewer = Reviewer.of_codes(whole, classes, **told)
        readers = {}
        if len(rows) > 1:
            alone = {
                name: Reviewer.of_codes(one, classes, of_referred=hard)
                for name, one in rows.items()
            }
            for name, one in rows.items():
                others = [made for other, made in alone.items() if other != name]
                readers[name] = Reviewer.of_codes(one, classes, **told, pooled_with=others)
        return cls(reviewer, answer, readers, advantages_of(whole))

    def final(
        self,
        proba: FloatArray,
        opinions: Mapping[str, IntArray],
        rule: DecisionRule,
        ratios: FloatArray,
    ) -> tuple[FloatArray, IntArray]:
        """Return what rows that were referred come to: probabilities, and answers, -1 for none.

        Parameters
        ----------
        proba : ndarray of shape (n, n_classes)
            Of the model, adapted.
        opinions : mapping of str to ndarray of shape (n,)
            What each reader answered, -1 for nothing; of two the answers count one by one, and as
            a verdict the first.
        rule, ratios
            How the model predicts, and by what its probabilities are adapted.
        """
        found, verdict = proba.copy(), np.full(len(proba), -1, dtype=np.intp)
        for name, answers in opinions.items():
            rows = np.flatnonzero(answers >= 0)
            said = answers[rows]
            chances = self.who(name).chances(np.ascontiguousarray(proba[rows]), ratios)
            known = chances[np.arange(len(rows)), :, said]
            found[rows] = posterior(found[rows], known, said)
            verdict[rows] = np.where(verdict[rows] < 0, said, verdict[rows])
        if self.answer == "replace":
            return found, verdict
        return found, np.where(verdict < 0, -1, rule.predict(found))

    @property
    def doubts(self) -> list[str]:
        """What speaks against taking opinions for what they are taken for."""
        found, p_value = [], self.reviewer.p_value_
        if p_value is not None and p_value < _DEPENDENT:
            found.append(
                f"Given the class, what readers answer hangs on what the model says "
                f"(p = {p_value:.2g}), so it is weighed as evidence that does: less where they "
                f"err alike."
            )
        if self.reviewer.of_referred:
            found.append(
                "The reader was measured on referred rows alone, which are hard ones: on rows "
                "picked at random the same reader does better. Measure on both, and keep the "
                "two apart."
            )
        return found

    @property
    def in_words(self) -> str:
        """What figures are of, and how good readers are taken to be."""
        cases = self.reviewer.cases_
        right = float(np.diag(self.reviewer.confusion_).mean())
        told = f"right in {share(right)} of the cases of a class, on average"
        if cases is not None:
            told = f"right in {share(float(np.trace(cases) / cases.sum()))} of {cases.sum():,.0f}"
        what = "what model and reader say together"
        if self.answer == "replace":
            what = "what the reader says"
        return (
            f"The figure is of the final answers: the model's about cases that are not referred, "
            f"and about the others {what}. Readers are taken to be {told}."
        )

    def who(self, name: str) -> Reviewer:
        """Return the reviewer of this name; where there is one only, that one."""
        if name and self.readers and name not in self.readers:
            raise ArgumentError(
                f"`opinions` has no reader of the name {name!r}; the policy knows "
                f"{', '.join(self.readers)}.",
                "opinions",
                ways=[Way("", python="the policy knows")],
            )
        return self.readers.get(name, self.reviewer)

    def to_dict(self) -> dict[str, Any]:
        """Return the team as plain data."""
        return {
            "answer": self.answer,
            "reviewer": self.reviewer.to_dict(),
            "readers": {name: one.to_dict() for name, one in self.readers.items()},
            "advantages": plain(self.advantages),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the team that ``to_dict`` described."""
        readers = {name: Reviewer.from_dict(one) for name, one in data["readers"].items()}
        return cls(
            **{**data, "reviewer": Reviewer.from_dict(data["reviewer"]), "readers": readers}
        )


def _of_hard_rows(rows: LabelledOpinions) -> bool:
    """Tell whether answers were given about rows that the model finds harder than the others."""
    if rows.proba is None:
        return False
    there, doubt = rows.answers >= 0, 1 - rows.proba.max(axis=1)
    if min(np.count_nonzero(there), np.count_nonzero(~there)) < _FEWEST_APART:
        return False
    sides = doubt[there], doubt[~there]
    noise = np.sqrt(sum(side.var() / len(side) for side in sides))
    return bool(sides[0].mean() - sides[1].mean() > _CLEARLY * noise)
