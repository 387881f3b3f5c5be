"""Reviewer: what a person's opinion is worth as evidence, as data.

How often each answer is given for each class, how sure that is, and how far it hangs on what the
model says. The posterior of model and opinion is Bayes' rule with these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs import (
    FloatArray,
    IntArray,
    check_fraction,
    check_labels,
    check_proba,
    check_same_length,
    check_sample_weight,
    column_labels,
    known_codes,
    label_array,
)
from abstain._kernels.proportions import adapted
from abstain._numerics import gamma_draws, plain
from abstain._schema import Either, Flag, Keys, Labels, Number, amounts, proportions
from abstain.exceptions import ArgumentError, Way
from abstain.team._confusions import checked_confusion, smoothing
from abstain.team._dependence import LEAST, dependence_of

_SMALLEST = np.finfo(np.float64).eps

#: What a policy file holds of a reviewer.
KEYS: Keys = {
    "accuracy": Either(null=None, number=Number(0, 1)),
    "classes": Either(null=None, list=Labels()),
    "confusion": Either(null=None, list=proportions("classes", "classes")),
    "cases": Either(null=None, list=amounts("classes", "classes")),
    "prior": Either(null=None, list=amounts("classes", "classes")),
    "weights": Either(null=None, list=amounts("classes", "classes")),
    "dependence": Number(-10, 10),
    "p_value": Either(null=None, number=Number(0, 1)),
    "of_referred": Flag(),
}


@dataclass(frozen=True, eq=False)
class LabelledOpinions:
    """Labelled rows with a reader's answers.

    Attributes
    ----------
    codes, answers : ndarray of shape (n,)
        The true column; the reader's, -1 where there is none.
    weight : ndarray of shape (n,) or None
        How much each row counts.
    proba : ndarray of shape (n, n_classes) or None
        The model's calibrated probabilities, not adapted.
    """

    codes: IntArray
    answers: IntArray
    weight: FloatArray | None = None
    proba: FloatArray | None = None

    @property
    def counts(self) -> FloatArray:
        """How much each row counts, which is once where no weights are given."""
        return np.ones(len(self.codes)) if self.weight is None else self.weight

    @classmethod
    def joined(cls, parts: Sequence[LabelledOpinions]) -> LabelledOpinions:
        """Return the answers of several readers as those of one."""
        if len(parts) == 1:
            return parts[0]
        probas = [one.proba for one in parts if one.proba is not None]
        return cls(
            np.concatenate([one.codes for one in parts]),
            np.concatenate([one.answers for one in parts]),
            np.concatenate([one.counts for one in parts]),
            np.concatenate(probas) if len(probas) == len(parts) else None,
        )


@dataclass(frozen=True, eq=False, init=False)
class Reviewer:
    r"""How often a reader gives each answer for each true class.

    Parameters
    ----------
    confusion : array-like of shape (n_classes, n_classes), optional
        Entry (i, j): the chance of the answer j where the true class is i; rows sum to 1.
    accuracy : float, optional
        How often the answer is right, for those who know only that: in each class as often, and
        wrong towards each other one alike. Neither given, the reader is always right.
    classes : sequence, optional
        The label of each row and column of ``confusion``; in the order of the fitted
        ``classes_`` when not given.

    Attributes
    ----------
    confusion_ : ndarray of shape (n_classes, n_classes)
        Rows are true classes, columns answers; rows sum to 1.
    counts_ : ndarray of shape (n_classes, n_classes) or None
        What it was measured from, and what smooths it: how sure the confusion is. None where it
        was given, which is taken as exact.
    cases_ : ndarray of shape (n_classes, n_classes) or None
        The cases alone.
    dependence_ : float
        How far answers hang on the model given the true class; 0 for not at all.
    p_value_ : float or None
        How probably answers that do not would look as if they did; None where not tested.
    of_referred : bool
        Whether it was measured on referred rows alone, which are hard ones.
    classes : ndarray or None
        The label of each row and column.

    Notes
    -----
    With R the confusion and p the probabilities of the model, the posterior after the answer a
    is :math:`q_k \propto p_k R_{ka}`, where opinion and model are independent given the class.
    Where they are not, :math:`R_{ka}` is :math:`W_{ka} p_a^g / \sum_b W_{kb} p_b^g` with p as
    before any shift: a reader then errs where the model does, and like it.

    Examples
    --------
    >>> from abstain.team import Reviewer, combined
    >>> reader = Reviewer(accuracy=0.9)
    >>> combined([[0.7, 0.3], [0.7, 0.3]], [1, None], reader).round(3)
    array([[0.206, 0.794],
           [0.7  , 0.3  ]])
    """

    confusion: FloatArray | None
    accuracy: float | None
    classes: NDArray[Any] | None
    cases_: FloatArray | None = None
    prior: FloatArray | None = None
    weights: FloatArray | None = None
    dependence_: float = 0.0
    p_value_: float | None = None
    of_referred: bool = False

    def __init__(
        self,
        confusion: ArrayLike | None = None,
        *,
        accuracy: float | None = None,
        classes: Sequence[Any] | NDArray[Any] | None = None,
    ) -> None:
        if confusion is not None and accuracy is not None:
            raise ArgumentError(
                "Pass `confusion` or `accuracy`, not both.",
                "accuracy",
                ways=[Way("", python="pass `confusion`")],
            )
        matrix = None if confusion is None else checked_confusion(confusion)
        width = 0 if classes is None else len(label_array(classes, "classes"))
        labels = None if classes is None else column_labels(classes, width)
        if matrix is not None and labels is not None and len(labels) != len(matrix):
            raise ArgumentError(
                f"`confusion` must have a row for each of the {len(labels)} classes; got "
                f"{len(matrix)}.",
                "confusion",
            )
        right = None if accuracy is None else check_fraction(accuracy, name="accuracy")
        for name, value in (("confusion", matrix), ("accuracy", right), ("classes", labels)):
            object.__setattr__(self, name, value)

    @classmethod
    def measured(
        cls,
        y_true: ArrayLike,
        opinions: ArrayLike,
        *,
        classes: Sequence[Any] | NDArray[Any],
        sample_weight: ArrayLike | None = None,
        proba: ArrayLike | None = None,
        by_score: bool = False,
        **readers: Any,
    ) -> Self:
        """Measure a reader on labelled rows.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels.
        opinions : array-like of shape (n,)
            What the reader answered; None, NaN, NA or empty text where nothing.
        classes : sequence of n_classes labels
            The label of each column.
        sample_weight : array-like of shape (n,), optional
            How much each row counts.
        proba : array-like of shape (n, n_classes), optional
            Calibrated probabilities of the model, not adapted: they test whether the answers are
            independent of the model given the class.
        by_score : bool
            Let the answers hang on the model as far as these rows say; needs ``proba``.
        **readers
            ``pooled_with``: other reviewers that were measured, whose answers stand in where
            this one has given few. ``of_referred=True``: that the rows are referred ones alone,
            which are hard; such a reviewer is pooled with such ones only.

        Returns
        -------
        Reviewer

        Raises
        ------
        ValueError
            If no row has both a label and an opinion, or an answer is no class.

        Examples
        --------
        >>> reader = Reviewer.measured([0, 0, 1, 1], [0, 1, 1, None], classes=[0, 1])
        >>> reader.cases_
        array([[1., 1.],
               [0., 1.]])
        """
        labels = column_labels(classes, len(label_array(classes, "classes")))
        codes = check_labels(y_true, classes=labels, name="y_true")
        answers = opinion_codes(opinions, labels, len(codes))
        weight = check_sample_weight(sample_weight, n_rows=len(codes))
        rows = None
        if proba is not None:
            rows = check_proba(proba, n_classes=len(labels))
            check_same_length(proba=rows, y_true=codes)
        elif by_score:
            raise ArgumentError("`by_score` needs the model's probabilities.", "proba")
        return cls.of_codes(
            LabelledOpinions(codes, answers, weight, rows), labels, by_score=by_score, **readers
        )

    @classmethod
    def of_codes(
        cls,
        given: LabelledOpinions,
        classes: NDArray[Any],
        *,
        by_score: bool = False,
        pooled_with: Iterable[Reviewer] = (),
        of_referred: bool = False,
    ) -> Self:
        """Measure a reader on rows that are checked."""
        there = given.answers >= 0
        n, weight = len(classes), given.counts[there]
        codes, answers = given.codes[there], given.answers[there]
        if not weight.any():
            raise ArgumentError(
                "`opinions` has no answer on a labelled row, so that nothing tells how good the "
                "reader is. Pass answers on rows whose label is known, or Reviewer(accuracy=...).",
                "opinions",
                ways=[Way("Reviewer", python="Reviewer(accuracy=...)")],
            )
        counted = np.bincount(codes * n + answers, weight, n * n)
        cases: FloatArray = np.asarray(counted.reshape(n, n), dtype=np.float64)
        others = [one.for_classes(classes) for one in pooled_with]
        if any(one.of_referred != of_referred or one.cases_ is None for one in others):
            raise ArgumentError(
                "`pooled_with` must be reviewers that were measured, on rows of the same kind: "
                "who was measured on referred rows alone was measured on hard ones.",
                "pooled_with",
            )
        prior = smoothing(cases, [one.cases_ for one in others if one.cases_ is not None])
        made = cls(classes=classes)._with(cases_=cases, prior=prior, of_referred=of_referred)
        if given.proba is None:
            return made
        found = dependence_of(made.confusion_, given.proba[there], codes, answers, weight)
        made = made._with(p_value_=found.p_value)
        if not by_score:
            return made
        return made._with(dependence_=found.strength, weights=found.weights)

    def _with(self, **changes: Any) -> Self:
        made = copy(self)
        for name, value in changes.items():
            object.__setattr__(made, name, value)
        return made

    @property
    def counts_(self) -> FloatArray | None:
        """What the confusion was measured from, with what smooths it; None where it was given."""
        return None if self.cases_ is None or self.prior is None else self.cases_ + self.prior

    @property
    def confusion_(self) -> FloatArray:
        """The chance of each answer (column) for each true class (row)."""
        if self.counts_ is not None:
            return np.asarray(self.counts_ / self.counts_.sum(axis=1, keepdims=True))
        if self.confusion is not None:
            return self.confusion
        if self.classes is None:
            raise ArgumentError(
                "`classes` must be known for a confusion; pass classes=[...].",
                "classes",
                ways=[Way("classes", python="pass classes=[...]")],
            )
        n, right = len(self.classes), 1.0 if self.accuracy is None else self.accuracy
        return np.where(np.eye(n) > 0, right, (1 - right) / (n - 1))

    def for_classes(self, classes: NDArray[Any]) -> Self:
        """Return the reviewer with the classes in this order; raise if they are others."""
        if self.classes is None:
            if self.confusion is not None and len(self.confusion) != len(classes):
                raise ArgumentError(
                    f"`confusion` of the reviewer must have a row for each of the {len(classes)} "
                    f"classes; got {len(self.confusion)}.",
                    "confusion",
                )
            return self._with(classes=classes)
        own, wanted = self.classes.tolist(), classes.tolist()
        if own == wanted:
            return self
        if sorted(map(str, own)) != sorted(map(str, wanted)) or {*own} != {*wanted}:
            raise ArgumentError(
                f"`reviewer` knows the classes {own}, and there are {wanted}. Measure it on the "
                f"same classes.",
                "reviewer",
            )
        at = np.ix_(*2 * [[own.index(label) for label in wanted]])
        parts = {"confusion", "cases_", "prior", "weights"}
        held = {name: getattr(self, name) for name in parts}
        moved = {name: None if one is None else one[at] for name, one in held.items()}
        return self._with(classes=classes, **moved)

    def chances(
        self,
        proba: FloatArray,
        ratios: FloatArray | None = None,
        weights: FloatArray | None = None,
    ) -> FloatArray:
        """Return, for each row, the chance of each answer for each class.

        Parameters
        ----------
        proba : ndarray of shape (n, n_classes)
            The model's probabilities.
        ratios : ndarray of shape (n_classes,), optional
            New over old class proportions, where they are adapted to such.
        weights : ndarray of shape (n_classes, n_classes), optional
            One of those that ``drawn`` gave.

        Returns
        -------
        ndarray of shape (n, n_classes, n_classes)
            Entry (x, i, j): of the answer j to the row x, were its class i.
        """
        base = self.base if weights is None else weights
        if not self.dependence_:
            return np.broadcast_to(base, (len(proba), *base.shape))
        found = base * self.likely(proba, ratios)[:, None, :]
        found /= found.sum(axis=2, keepdims=True)
        return np.asarray(found)

    def likely(self, proba: FloatArray, ratios: FloatArray | None = None) -> FloatArray:
        """Return how likely the model makes each answer; 1 where answers do not hang on it."""
        if not self.dependence_:
            return np.ones(proba.shape)
        if ratios is not None:
            proba = adapted(np.ascontiguousarray(proba), 1 / np.maximum(ratios, _SMALLEST))
        return np.asarray(np.maximum(proba, LEAST) ** self.dependence_)

    @property
    def base(self) -> FloatArray:
        """The chance of each answer for each class, were the model's probabilities all alike."""
        return self.confusion_ if self.weights is None else self.weights

    def drawn(self, n: int, seed: int) -> FloatArray:
        """Return what ``chances`` may be made of, as far as cases leave that open, many times."""
        base, counts = self.base, self.counts_
        if counts is None:
            return np.broadcast_to(base, (n, *base.shape))
        found = gamma_draws(counts, n, np.random.default_rng([seed, 2]))
        found /= found.sum(axis=2, keepdims=True)
        return np.asarray(found * (base / self.confusion_))

    def __repr__(self) -> str:
        if self.cases_ is not None:
            right = np.trace(self.cases_) / self.cases_.sum()
            hard = " referred" if self.of_referred else ""
            return f"<Reviewer: right in {right:.1%} of {self.cases_.sum():,.0f}{hard} cases>"
        if self.confusion is not None:
            return f"<Reviewer: a confusion of {len(self.confusion)} classes>"
        return f"<Reviewer: right in {1 if self.accuracy is None else self.accuracy:.1%}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the reviewer as plain data."""
        names = [name.removesuffix("?") for name in KEYS]
        return {name: plain(getattr(self, _HELD.get(name, name))) for name in names}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the reviewer that ``to_dict`` described."""
        held = {_HELD.get(name, name): value for name, value in data.items()}
        for name in ("confusion", "cases_", "prior", "weights"):
            held[name] = None if held[name] is None else np.array(held[name], dtype=np.float64)
        if held["classes"] is not None:
            held["classes"] = label_array(held["classes"], "classes")
        return cls()._with(**held)


_HELD = {"cases": "cases_", "dependence": "dependence_", "p_value": "p_value_"}


def opinions_by_name(
    opinions: Any, classes: NDArray[Any], n: int, name: str = "reviewer"
) -> dict[str, IntArray]:
    """Return the column of each answer, -1 where there is none, of each reader by name.

    Of one reader without a name that is empty.
    """
    columns = getattr(opinions, "columns", None)
    if isinstance(opinions, Mapping):
        by_name = {str(one): opinions[one] for one in opinions}
    elif columns is not None:
        by_name = {str(one): opinions[one] for one in columns}
    else:
        by_name = {"": opinions}
    return {one: opinion_codes(given, classes, n, name) for one, given in by_name.items()}


def opinion_codes(
    opinions: ArrayLike, classes: NDArray[Any], n: int, name: str = "opinions"
) -> IntArray:
    """Return the column of each opinion, -1 where there is none."""
    found = known_codes(opinions, classes, n, name)
    return np.full(n, -1, dtype=np.intp) if found is None else found
