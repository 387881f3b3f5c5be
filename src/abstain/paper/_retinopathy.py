"""Diabetic retinopathy: quadratic kappa of five grades, without and with label shift.

Thirty splits by patient; eight augmented copies of each image. The paper predicts with dropout
off (its Table 3) or with the mean of a hundred draws (its appendix); the seeds are its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from abstain._inputs import FloatArray, IntArray
from abstain.calibration import (
    AutoCalibration,
    BiasCorrectedTemperatureScaling,
    TemperatureScaling,
)
from abstain.metrics import WeightedKappa
from abstain.paper._experiment import Published, read_arrays
from abstain.paper._table_experiment import TableExperiment, printed_rows
from abstain.paper._trial import DefaultCalibration, Prepare, Trial, adapted

N_COPIES, N_GRADES = 8, 5
# With label shift an eye of each grade is in the test set in this many of its copies.
COPIES_KEPT = np.array([1, 2, 5, 8, 8])
# The least probability that is told from 0 when logarithms are taken.
SMALLEST = 1e-30

#: What the paper compares its own method with.
OTHERS = ("js-divergence", "entropy", "max-probability", "dropout-variance")
METHODS = (
    "delta-metric",
    "delta-metric-sampled",
    "delta-metric-joint",
    "delta-metric-optimal",
    *OTHERS,
)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of the data: a copy and an image each."""

    copy: IntArray
    image: IntArray


class _Eyes:
    """Predictions for pairs of eyes, split by patient."""

    def __init__(self, folder: Path, *, mean_of_draws: bool, shifted: bool) -> None:
        kind = "mcmean_probs" if mean_of_draws else "det_probs"
        stored = read_arrays(
            folder / "dr.npz", {"labels": (None,), kind: (N_COPIES, None, N_GRADES)}
        )
        self._grades: IntArray = stored["labels"].astype(np.intp)
        n_images = len(self._grades)
        logits = np.log(np.maximum(stored[kind].astype(np.float64), SMALLEST))
        self._logits: FloatArray = logits - logits.mean(axis=2, keepdims=True)
        self._draws: NDArray[np.float16] = read_arrays(
            folder / "dr_mc.npz", {"mc_centered_logprobs": (N_COPIES, None, n_images, N_GRADES)}
        )["mc_centered_logprobs"]
        self._shifted = shifted

    def trials(self, repeat: int) -> Iterator[tuple[str, Trial]]:
        """Return the trial of each preparation."""
        valid, test = self._split(repeat)
        logits_val, y_val = self._logits[valid.copy, valid.image], self._grades[valid.image]
        logits = self._logits[test.copy, test.image]
        default = DefaultCalibration(logits_val, y_val, logits, lambda: self._default_kind)
        defaults = {
            "adapted": default.adapted,
            "unadapted": default.unadapted,
            "calibrated": default.unadapted,
            "uncalibrated": lambda: _raw,
        }
        kind = BiasCorrectedTemperatureScaling if self._shifted else TemperatureScaling
        # The paper's calibrators have no prior.
        calibrate = kind(scale="logits", prior_rows=0).fit(logits_val, y_val).predict_proba
        ways: dict[str, Prepare] = {"calibrated": calibrate, "uncalibrated": _raw}
        if self._shifted:
            ways = {"adapted": adapted(calibrate, logits_val, logits), "unadapted": calibrate}
        for prepared, prepare in ways.items():
            yield (
                prepared,
                Trial(
                    y=self._grades[test.image],
                    logits=logits,
                    prepare=prepare,
                    prepare_default=defaults[prepared],
                    y_val=y_val,
                    proba_val=(_raw if prepared == "uncalibrated" else calibrate)(logits_val),
                    draws=lambda: self._drawn(test),
                    seed=repeat,
                ),
            )

    @cached_property
    def _default_kind(self) -> str:
        """What the library's default calibration picks on the first split.

        Trying all candidates on every split would take longer than all the rest.
        """
        valid, _ = self._split(0)
        auto = AutoCalibration(scale="logits")
        auto.fit(self._logits[valid.copy, valid.image], self._grades[valid.image])
        return auto.selected_

    def _drawn(self, rows: _Rows) -> Iterator[FloatArray]:
        for m in range(self._draws.shape[1]):
            yield self._draws[rows.copy, m, rows.image].astype(np.float64)

    def _split(self, fold: int) -> tuple[_Rows, _Rows]:
        """Send each patient to the set that has fewer eyes of the worse eye's grade."""
        patients = self._grades.reshape(-1, 2)
        order = list(range(len(patients)))
        np.random.RandomState(1000 * fold).shuffle(order)
        valid_counts, test_counts = np.zeros(N_GRADES), np.zeros(N_GRADES)
        valid: list[int] = []
        test: list[int] = []
        for patient in order:
            worse = patients[patient].max()
            to_valid = valid_counts[worse] < test_counts[worse]
            np.add.at(valid_counts if to_valid else test_counts, patients[patient], 1)
            (valid if to_valid else test).extend((2 * patient, 2 * patient + 1))
        return self._copies(valid, shifted=False), self._copies(test, shifted=self._shifted)

    def _copies(self, images: list[int], *, shifted: bool) -> _Rows:
        image = np.repeat(np.array(images, dtype=np.intp).reshape(-1, 2), N_COPIES, axis=0).ravel()
        copy = np.tile(np.repeat(np.arange(N_COPIES), 2), len(images) // 2)
        if not shifted:
            return _Rows(copy, image)
        kept = copy < COPIES_KEPT[self._grades[image]]
        return _Rows(copy[kept], image[kept])


def _raw(logits: FloatArray) -> FloatArray:
    return np.asarray(softmax(logits, axis=1))


def _experiment(name: str, *, mean_of_draws: bool, shifted: bool) -> TableExperiment:
    metric = WeightedKappa("quadratic")
    prepared = ("adapted", "unadapted") if shifted else ("calibrated", "uncalibrated")
    # Without shift the paper prints its own two methods calibrated only.
    once = () if shifted else ("delta-metric", "js-divergence")
    predicted = "mean of dropout draws" if mean_of_draws else "dropout off"
    return TableExperiment(
        name=name,
        title=(
            f"Diabetic retinopathy ({predicted}): quadratic kappa "
            f"{'with' if shifted else 'without'} label shift"
        ),
        files=("dr.npz", "dr_mc.npz"),
        source=partial(_Eyes, mean_of_draws=mean_of_draws, shifted=shifted),
        metrics=(metric,),
        fractions=(0.3, 0.25, 0.2, 0.15, 0.1),
        paper_rows={metric.name: printed_rows(("delta-metric", *OTHERS), prepared, once)},
        methods=METHODS,
        published=Published(
            f"tab:dr_{'no' if mean_of_draws else 'yes'}weightrescale_"
            f"{'yes' if shifted else 'no'}labelshift",
            {metric.name: ("Diabetic Retinopathy", "delta-metric")},
        ),
    )


#: The four retinopathy tables.
RETINOPATHY = (
    _experiment("dr", mean_of_draws=False, shifted=False),
    _experiment("dr-shift", mean_of_draws=False, shifted=True),
    _experiment("dr-dropout", mean_of_draws=True, shifted=False),
    _experiment("dr-dropout-shift", mean_of_draws=True, shifted=True),
)
