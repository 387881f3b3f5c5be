"""NannyML's bundled sets, chunk by chunk, with its own CBPE beside ours.

Chunks are of the size that NannyML's documentation takes for each set. CBPE is judged by the
predictions that the set came with, ours by those it made; each estimates its own.
"""

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain import Abstainer
from abstain.exceptions import AssumptionWarning

__all__ = [
    "SOURCES",
    "ChunkTable",
    "Estimated",
    "Part",
    "Source",
    "cbpe",
    "chunk_table",
    "chunks",
    "nannyml",
]

_CARDS = ("highstreet_card", "prepaid_card", "upmarket_card")


def nannyml() -> Any:
    """Return the package, with the reports of its use turned off."""
    os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import nannyml

    return nannyml


@dataclass(frozen=True, eq=False)
class Part:
    """The reference or analysis rows: a frame, its scores and its labels."""

    frame: Any
    scores: NDArray[Any]
    y: NDArray[Any]


@dataclass(frozen=True)
class Source:
    """Where a set's columns are; ``proba`` names one column, or one for each class."""

    loader: str
    truth: str
    prediction: str
    proba: str | dict[str, str]
    chunk: int

    def parts(self) -> tuple[Part, Part]:
        """Return reference and analysis rows."""
        return _parts(self.loader, self.truth, *self._columns)

    @property
    def _columns(self) -> tuple[str, ...]:
        return (self.proba,) if isinstance(self.proba, str) else tuple(self.proba.values())


@cache
def _parts(loader: str, truth: str, *columns: str) -> tuple[Part, Part]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference, analysis, labels = getattr(nannyml().datasets, loader)()
    return (
        _part(reference, reference[truth].to_numpy(), columns),
        _part(analysis, labels[truth].to_numpy(), columns),
    )


def _part(frame: Any, y: NDArray[Any], columns: tuple[str, ...]) -> Part:
    scores = frame[[*columns]].to_numpy()
    # Probabilities were rounded to two places, after which rows do not sum to 1.
    scores = scores[:, 0] if len(columns) == 1 else scores / scores.sum(axis=1, keepdims=True)
    return Part(frame, scores, y)


SOURCES = {
    "car_loan": Source(
        "load_synthetic_car_loan_dataset", "repaid", "y_pred", "y_pred_proba", 5_000
    ),
    "census": Source(
        "load_us_census_ma_employment_data", "employed", "prediction", "predicted_probability",
        5_000,
    ),
    "california": Source(
        "load_modified_california_housing_dataset", "clf_target", "y_pred", "y_pred_proba", 500
    ),
    "credit_cards": Source(
        "load_synthetic_multiclass_classification_dataset", "y_true", "y_pred",
        {card: f"y_pred_proba_{card}" for card in _CARDS}, 6_000,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class ChunkTable:
    """Errors of the estimated accuracy over the chunks of a set.

    ``silent`` counts chunks where the estimate was NaN or a class proportion exactly 0 or 1 and
    nothing was said; ``extreme`` counts them whether or not something was said.
    """

    name: str
    chunks: int
    ours: float
    cbpe: float
    covered: float
    extreme: int
    silent: int
    warned: int


def chunk_table(name: str) -> ChunkTable:
    """Estimate accuracy chunk by chunk, and compare with NannyML's CBPE."""
    source = SOURCES[name]
    reference, analysis = source.parts()
    abstainer = Abstainer("accuracy", budget=0.0, random_state=0)
    abstainer.fit(reference.scores, reference.y)
    rows = list(_decided(abstainer, analysis, source.chunk))
    errors, covered, extreme, warned = (np.array(column) for column in zip(*rows, strict=True))
    theirs = cbpe(source, reference.frame, analysis.frame)["accuracy"].value
    correct = analysis.frame[source.prediction].to_numpy() == analysis.y
    realised = [float(correct[rows].mean()) for rows in chunks(len(correct), source.chunk)]
    return ChunkTable(
        name=name,
        chunks=len(errors),
        ours=float(np.nanmean(np.abs(errors))),
        cbpe=float(np.abs(theirs - realised).mean()),
        covered=float(covered.mean()),
        extreme=int(extreme.sum()),
        silent=int((extreme & ~warned).sum()),
        warned=int(warned.sum()),
    )


def _decided(
    abstainer: Abstainer, analysis: Part, size: int
) -> Iterator[tuple[float, bool, bool, bool]]:
    for rows in chunks(len(analysis.y), size):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            decisions = abstainer.decide(analysis.scores[rows])
            estimated = decisions.estimate.before
        realised = float(np.mean(decisions.prediction == analysis.y[rows]))
        low, high = estimated.interval
        edge = np.isin(decisions.priors, (0.0, 1.0)).any() or np.isnan(estimated.value)
        warned = any(issubclass(w.category, AssumptionWarning) for w in said)
        yield estimated.value - realised, low <= realised <= high, bool(edge), warned


def chunks(n: int, size: int) -> list[slice]:
    """Return where each chunk of so many rows is; the last may be shorter."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


@dataclass(frozen=True, eq=False)
class Estimated:
    """What CBPE says of each chunk: the metric, and its bounds of three sampling errors."""

    value: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]


def cbpe(
    source: Source, reference: Any, analysis: Any, metrics: tuple[str, ...] = ("accuracy",)
) -> dict[str, Estimated]:
    """Return what NannyML's CBPE estimates of each chunk, by NannyML's name of each metric."""
    two = isinstance(source.proba, str)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = nannyml().CBPE(
            y_pred_proba=source.proba,
            y_pred=source.prediction,
            y_true=source.truth,
            problem_type=f"classification_{'binary' if two else 'multiclass'}",
            metrics=[*metrics],
            chunk_size=source.chunk,
        )
        estimator.fit(reference)
        found = estimator.estimate(analysis).filter(period="analysis").to_df()
    return {
        metric: Estimated(
            *(
                found[(metric, column)].to_numpy(float)
                for column in ("value", "lower_confidence_boundary", "upper_confidence_boundary")
            )
        )
        for metric in metrics
    }
