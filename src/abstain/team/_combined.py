"""The posterior of model and opinions, by Bayes' rule."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import FloatArray, IntArray, check_proba, float_array
from abstain.exceptions import ArgumentError
from abstain.team._reviewer import Reviewer, opinion_codes

#: What one reader answered, or each of several by name.
Opinions = ArrayLike | Mapping[str, ArrayLike]


def combined(
    proba: ArrayLike,
    opinions: Opinions,
    reviewer: Reviewer | Mapping[str, Reviewer],
    *,
    ratios: ArrayLike | None = None,
) -> FloatArray:
    """Return the posterior of model and opinions, by Bayes' rule.

    Parameters
    ----------
    proba : array-like of shape (n, n_classes) or (n,)
        Calibrated, adapted probabilities of the model.
    opinions : array-like of shape (n,), or mapping of str to these
        What the reader answered, or each of several; None, NaN, NA or empty text where nothing.
        Column numbers, where the reviewer knows no classes.
    reviewer : Reviewer, or mapping of str to Reviewer
        What that is worth; of several readers, which are taken as independent of each other given
        the class, each by its name.
    ratios : array-like of shape (n_classes,), optional
        New over old class proportions that ``proba`` are adapted to, such as ``policy.ratios``;
        for a reviewer whose answers hang on the model.

    Returns
    -------
    ndarray of shape (n, n_classes)
        The model's own where there is no opinion.
    """
    own = np.ascontiguousarray(check_proba(proba))
    at = None if ratios is None else float_array(ratios, "ratios")
    found, columns = own.copy(), np.arange(own.shape[1])
    for name, answers in _by_name(opinions, reviewer).items():
        one = reviewer[name] if isinstance(reviewer, Mapping) else reviewer
        labels = columns if one.classes is None else one.classes
        if len(labels) != len(columns):
            raise ArgumentError(
                f"`proba` must have a column for each of the {len(labels)} classes that the "
                f"reviewer knows; got {len(columns)}.",
                "proba",
            )
        one, codes = one.for_classes(labels), opinion_codes(answers, labels, len(own))
        rows = np.flatnonzero(codes >= 0)
        chances = one.chances(own[rows], at)[np.arange(len(rows)), :, codes[rows]]
        found[rows] = posterior(found[rows], chances, codes[rows])
    return found


def posterior(proba: FloatArray, chances: FloatArray, codes: IntArray) -> FloatArray:
    """Return probabilities after an answer of given chances; the answer itself if none can be."""
    found = proba * chances
    total = found.sum(axis=1)
    impossible = ~(total > 0)
    found[impossible] = np.eye(proba.shape[1])[codes[impossible]]
    total[impossible] = 1.0
    return np.asarray(found / total[:, None])


def _by_name(
    opinions: Opinions, reviewer: Reviewer | Mapping[str, Reviewer]
) -> Mapping[str, ArrayLike]:
    if not isinstance(opinions, Mapping):
        if isinstance(reviewer, Mapping):
            raise ArgumentError(
                f"`opinions` must be a mapping by name, as there are several reviewers: "
                f"{', '.join(map(str, reviewer))}.",
                "opinions",
            )
        return {"": opinions}
    known = [*reviewer] if isinstance(reviewer, Mapping) else []
    unknown = [name for name in opinions if name not in known]
    if unknown:
        raise ArgumentError(
            f"`opinions` has no reviewer of the name {unknown[0]!r}; there are: "
            f"{', '.join(map(str, known)) or 'none by name'}.",
            "opinions",
        )
    return opinions
