"""A small stand-in for the data of the paper's tables: the same files and arrays, simulated.

It shows what a rerun takes and prints where the authors' predictions are not at hand. None of its
figures is the paper's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import log_softmax, softmax

from abstain._inputs import FloatArray

N_MODELS, N_ROWS, N_DRAWS = 10, 240, 6
N_COPIES, N_PATIENTS, N_GRADES, N_GRADED_DRAWS = 8, 60, 5, 4
GRADES = (0.4, 0.2, 0.2, 0.1, 0.1)
#: How many repeats of it are run, where nobody says.
REPEATS = 3
STAND_IN = "Of a small simulated stand-in: none of these figures is the paper's."


def write_stand_in(folder: Path, name: str) -> None:
    """Write the two files of a data set into a folder.

    Parameters
    ----------
    folder : Path
    name : {"imdb", "catdog", "hema", "dr"}
        How the names of the files begin.
    """
    arrays, draws = _grades() if name == "dr" else _two_classes(2 if name == "hema" else None)
    np.savez(folder / f"{name}.npz", **arrays)
    np.savez(folder / f"{name}_mc.npz", **draws)


def _two_classes(n_tasks: int | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return logits of ten models, as good as each other, and draws of dropout around them."""
    rng, tail = np.random.default_rng(0), () if n_tasks is None else (n_tasks,)
    arrays: dict[str, Any] = {}
    for side in ("valid", "test"):
        y = rng.integers(2, size=(N_ROWS, *tail))
        noise: FloatArray = rng.normal(size=(N_MODELS, N_ROWS, *tail))
        arrays[f"{side}_labels"] = y.astype(np.int8)
        arrays[f"{side}_logits"] = (2.0 * (2 * y - 1) + 2 * noise).astype(np.float32)
    noise = rng.normal(size=(N_MODELS, N_DRAWS, N_ROWS, *tail))
    draws = arrays["test_logits"][:, None] + noise
    return arrays, {"test_mc_logits": draws.astype(np.float16)}


def _grades() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return probabilities of five grades for eight copies of pairs of eyes, and draws of them."""
    rng = np.random.default_rng(0)
    grades = rng.choice(N_GRADES, size=2 * N_PATIENTS, p=GRADES)
    logits = rng.normal(size=(N_COPIES, len(grades), N_GRADES)) + 2 * np.eye(N_GRADES)[grades]
    noise = rng.normal(size=(N_COPIES, N_GRADED_DRAWS, len(grades), N_GRADES))
    logs = log_softmax(logits[:, None] + 0.3 * noise, axis=3)
    centred = (logs - logs.mean(axis=3, keepdims=True)).astype(np.float16)
    proba = {"det_probs": softmax(logits, axis=2), "mcmean_probs": np.exp(logs).mean(axis=1)}
    return {"labels": grades.astype(np.int8), **proba}, {"mc_centered_logprobs": centred}
