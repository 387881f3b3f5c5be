"""The paper's diabetic-retinopathy tables: kappa by the marginal, joint and optimal choices."""

import functools
import os
from pathlib import Path

import numpy as np
import pytest

from abstain.calibration import BiasCorrectedTemperatureScaling, TemperatureScaling
from abstain.metrics import WeightedKappa
from abstain.shift import MaximumLikelihoodShift

BUDGETS = (0.0, 0.1, 0.15, 0.2, 0.25, 0.3)
# Tables on diabetic retinopathy, rows "Est. delta metric", calibrated and adapted.
PAPER = {
    False: (0.8104, 0.8597, 0.8714, 0.8800, 0.8875, 0.8918),
    True: (0.7817, 0.8203, 0.8319, 0.8423, 0.8499, 0.8559),
}
# With label shift an image of each grade is used in so many of its eight augmentations.
AUGMENTATIONS = (1, 2, 5, 8, 8)


def load():
    folder = os.environ.get("ABSTAIN_DATA")
    if folder is None:
        pytest.skip("the retinopathy predictions are found through ABSTAIN_DATA; it is not set")
    path = Path(folder) / "paper" / "dr.npz"
    if not path.exists():
        pytest.skip("ABSTAIN_DATA has no paper/dr.npz")
    with np.load(path) as data:
        return data["labels"].astype(int), data["det_probs"].astype(np.float64)


def split(labels, fold):
    """Which patients calibrate: those whose grade has had fewer there than in evaluation."""
    order = list(range(len(labels) // 2))
    np.random.RandomState(1000 * fold).shuffle(order)
    seen = np.zeros((2, 5), dtype=int)
    calibrates = []
    for patient in order:
        eyes = labels[2 * patient : 2 * patient + 2]
        side = 0 if seen[0, eyes.max()] < seen[1, eyes.max()] else 1
        np.add.at(seen[side], eyes, 1)
        calibrates.append(side == 0)
    return np.array(order), np.array(calibrates)


def rows(labels, patients, shifted):
    """Augmentation and image of each row."""
    images = np.stack([2 * patients, 2 * patients + 1], axis=1)
    augmentation = np.broadcast_to(np.arange(8)[None, :, None], (len(patients), 8, 2))
    image = np.broadcast_to(images[:, None, :], (len(patients), 8, 2))
    used = augmentation < np.array(AUGMENTATIONS)[labels[image]] if shifted else image >= 0
    return augmentation[used], image[used]


@functools.cache
def batches(shifted):
    """Calibrated, adapted probabilities and labels of the 30 evaluation sets."""
    labels, proba = load()
    result = []
    for fold in range(30):
        patients, calibrates = split(labels, fold)
        a, i = rows(labels, patients[calibrates], False)
        b, j = rows(labels, patients[~calibrates], shifted)
        kind = BiasCorrectedTemperatureScaling if shifted else TemperatureScaling
        calibrator = kind().fit(proba[a, i], labels[i])
        source, target = (calibrator.predict_proba(proba[x, y]) for x, y in ((a, i), (b, j)))
        if shifted:
            target = MaximumLikelihoodShift().fit(source, target).transform(target)
        result.append((target, labels[j]))
    return result


@functools.cache
def table(shifted, solver, decision):
    """Kappa of what is kept, for each split and budget."""
    metric = WeightedKappa("quadratic", solver=solver)
    kappas = np.empty((30, len(BUDGETS)))
    for fold, (proba, y) in enumerate(batches(shifted)):
        for column, budget in enumerate(BUDGETS):
            n = len(proba)
            choice = metric.choose(proba, n - int(n * (1 - budget)), decision=decision)
            prediction = choice.rule.predict(proba)
            kept = ~choice.region.contains(proba, prediction)
            kappas[fold, column] = metric.observed(
                y[kept], proba[kept], prediction=prediction[kept]
            )
    return kappas


@pytest.mark.parametrize("shifted", [pytest.param(False, marks=pytest.mark.slow), True])
def test_marginal_kappa_gives_the_papers_means(shifted):
    means = table(shifted, "marginal", "argmax").mean(axis=0)
    np.testing.assert_allclose(means, PAPER[shifted], atol=5e-4)


def test_optimal_decision_under_shift_beats_the_paper_at_every_budget():
    means = table(True, "joint", "optimal").mean(axis=0)
    assert (means > np.array(PAPER[True]) + 0.003).all()
    assert means[0] == pytest.approx(0.8039, abs=1e-3)


@pytest.mark.slow
def test_joint_beats_marginal_without_shift_where_much_is_withheld():
    means = table(False, "joint", "argmax").mean(axis=0)
    assert means[-1] == pytest.approx(0.8971, abs=5e-4)
    assert (means[2:] > PAPER[False][2:]).all()
