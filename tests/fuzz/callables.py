"""Every public callable of the library with arguments that work, found by walking its names.

A class is made and used: parameters are only assigned in a constructor, and looked at later.
"""

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

ROOMS = (
    "abstain",
    "abstain.metrics",
    "abstain.calibration",
    "abstain.shift",
    "abstain.scores",
    "abstain.certificates",
    "abstain.monitoring",
    "abstain.classifier",
)
#: Data that others make, checked where files are read; what inner loops call, which take arrays
#: that were checked before; and what a monitor says of chunks that it was given, and of files.
NOT_DOORS = {
    *("AbstainError", "Decisions", "Policy", "Certificate", "Bound", "Summary", "__version__"),
    *("bins_for", "coarseness", "choose_for", "check_function", "check_n_classes", "penalties"),
    "check_parameters",
    *("compact", "fit_summaries", "from_dict", "to_dict", "restored", "get_params", "set_params"),
    *("get_metadata_routing", "set_fit_request", "set_score_request", "importance", "other"),
    *("ratio_draws", "settled", "gradient", "removal_gains", "value", "of", "restore", "register"),
    *("summaries", "parse", "Evidence", "resolved", "summarised", "of_operations"),
    *(
        "free_name",
        "label",
        "label_times",
        "load",
        "save",
        "told_by",
        "value_of",
        "for_choice",
        "choice_by_cost",
        "at",
    ),
}
#: What takes one of these is called by the house, which checked the rows before it made one.
CHECKED = re.compile(
    r"\b(BatchSummary|RowSummary|LabelledSummary|LabelledReplicates|Atoms|Value)\b"
)
#: Handed to scikit-learn as it is, whose refusals these are.
SCIKIT_LEARN = {
    ("AbstainingClassifier", "estimator"),
    ("AbstainingClassifier", "cv"),
    ("AbstainingClassifier.fit", "y"),
    ("AbstainingClassifier.fit", "sample_weight"),
    ("AbstainingClassifier.score", "y"),
}

_rng = np.random.default_rng(0)
Y = np.tile([0, 1], 20)
P = np.clip(0.5 * Y + 0.5 * _rng.random(40), 0.01, 0.99).round(3)
LABELS = np.tile([0, 1, 2], 14)
MATRIX = _rng.dirichlet([0.7, 0.7, 0.7], 42) * 0.5 + 0.5 * np.eye(3)[LABELS]
COUNTS = np.array([[3.0, 1.0], [1.0, 3.0]])


def youden(counts):
    return counts[1, 1] / counts[1].sum() + counts[0, 0] / counts[0].sum() - 1


def hits(y_true, y_score, sample_weight=None):
    return float(np.average((y_score > 0.5) == y_true, weights=sample_weight))


@cache
def decided():
    from abstain import Abstainer

    fitted = Abstainer("accuracy", budget=0.2, confidence=0.9, random_state=0).fit(P, Y)
    return fitted.decide(P)


def summarised():
    from abstain import Abstainer

    return Abstainer("accuracy", budget=0.2, calibration="bcts").fit(P, Y).summarise(P)


#: A value for each parameter, by its name; a parameter with a default needs none.
BY_NAME: dict[str, Callable[[], Any]] = {
    "metric": lambda: "accuracy",
    "metrics": lambda: ["accuracy", "auroc"],
    "estimator": lambda: _classifier(),
    "X": lambda: np.column_stack([P, 1 - P]),
    "y": lambda: Y,
    "groups": lambda: np.where(np.arange(len(P)) % 2, "a", "b"),
    "scores": lambda: P,
    "scores_val": lambda: P,
    "scores_reference": lambda: P,
    "y_val": lambda: Y,
    "y_true": lambda: Y,
    "proba": lambda: P,
    "proba_source": lambda: np.column_stack([1 - P, P]),
    "proba_target": lambda: np.column_stack([1 - P, P])[5:],
    "y_source": lambda: Y,
    "capacity": lambda: 5.0,
    "budgets": lambda: [0.0, 0.25],
    "n_draws": lambda: 3,
    "seed": lambda: 0,
    "lower": lambda: np.array([0.2, 0.4]),
    "upper": lambda: np.array([0.3, 0.6]),
    "weights": lambda: np.array([0.5, 1.5]),
    "function": lambda: hits,
    "costs": lambda: [[0, 1], [5, 0]],
    "threshold": lambda: 0.2,
    "max_fpr": lambda: 0.2,
    "recall": lambda: 0.9,
    "precision": lambda: 0.9,
    "specificity": lambda: 0.9,
    "sensitivity": lambda: 0.9,
    "abstain": lambda: 0.2,
    "prediction": lambda: (P > 0.5).astype(np.intp),
    "samples": lambda: [P, P**2],
    "priors": lambda: [0.3, 0.7],
    "source_priors": lambda: [0.5, 0.5],
    "score": lambda: "entropy",
    "shift": lambda: "em",
    "calibration": lambda: "bcts",
    "scale": lambda: "probabilities",
    "measure": lambda: _room("calibration").log_loss,
    "evidence": lambda: decided().certificate.evidence,
    "confidence": lambda: 0.9,
    "classes": lambda: [0, 1],
    "policy": lambda: decided().policy,
    "rate": lambda: 0.2,
    "budget": lambda: 0.2,
    "counts": lambda: decided().certificate.evidence.counts,
    "summary": lambda: summarised(),
}
#: Where the same name means something else.
INSTEAD: dict[tuple[str, str], Callable[[], Any]] = {
    ("ConfusionMetric", "function"): lambda: youden,
    ("Cost.expected", "abstain"): lambda: P < 0.4,
    ("calibration.get", "scale"): lambda: "probabilities",
    ("WeightedKappa", "weights"): lambda: "linear",
}
for _name in ("Abstainer", "AbstainingClassifier"):
    INSTEAD |= {(_name, "budget"): lambda: 0.2, (_name, "calibration"): lambda: "bcts"}
INSTEAD[("AbstainingClassifier", "cv")] = lambda: 2
INSTEAD[("KnownPriors", "priors")] = lambda: 0.4
for _name in ("BBSEHard", "BBSESoft", "RLLSHard", "RLLSSoft"):
    INSTEAD[(f"{_name}.fit", "y_source")] = lambda: Y
INSTEAD[("Cost.expected", "proba")] = lambda: np.column_stack([1 - P, P])
#: What a parameter goes with.
TOGETHER: dict[tuple[str, str], dict[str, Any]] = {
    ("Abstainer", "target"): {"budget": None, "target": 0.9},
    ("AbstainingClassifier", "target"): {"budget": None, "target": 0.9},
    ("Abstainer", "cost"): {"budget": None},
    ("Abstainer", "arms"): {"budget": None},
    ("AbstainingClassifier", "cost"): {"budget": None},
    ("Abstainer", "prior_range"): {"confidence": 0.9},
    ("AbstainingClassifier", "prior_range"): {"confidence": 0.9},
    ("Cost", "value_of_metric"): {"value_of_metric": 2.0},
    ("WeightedKappa", "n_samples"): {"method": "sampled", "solver": "marginal"},
    ("WeightedKappa", "random_state"): {"method": "sampled", "solver": "marginal"},
}


@dataclass(frozen=True)
class Callee:
    """A public callable, the arguments it is known to work with, and the parameter to spoil."""

    name: str
    call: Callable[..., Any]
    arguments: dict[str, Any]
    parameter: str

    def with_(self, value: Any) -> Any:
        return self.call(**{**self.arguments, self.parameter: value})

    def __repr__(self) -> str:
        return f"{self.name}({self.parameter}=)"


def _room(name: str) -> Any:
    return importlib.import_module(f"abstain.{name}")


@cache
def _classifier() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


def callees() -> Iterator[Callee]:
    """Yield every parameter of every public callable that is a door."""
    seen: set[int] = set()
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in module.__all__:
            thing = getattr(module, name)
            if name in NOT_DOORS or inspect.isabstract(thing) or id(thing) in seen:
                continue
            seen.add(id(thing))
            if not inspect.isclass(thing):
                yield from _spoilt(f"{room.rpartition('.')[2]}.{name}", thing, thing)
                continue
            yield from _spoilt(name, thing, partial(_made_and_used, thing))
            for method in _doors(thing):
                bound = partial(_on_a_good_one, name, thing, method)
                yield from _spoilt(f"{name}.{method}", getattr(thing, method), bound)


def _doors(kind: type) -> Iterator[str]:
    for name in dir(kind):
        door = getattr(kind, name)
        # What is checked already says so in its name.
        house = name.startswith("_") or name.endswith("_checked") or name in NOT_DOORS
        if house or not callable(door):
            continue
        taken = inspect.signature(door).parameters.values()
        if not any(CHECKED.search(str(one.annotation)) for one in taken):
            yield name


def _spoilt(name: str, signed: Any, call: Callable[..., Any]) -> Iterator[Callee]:
    given = _working(name, signed)
    for parameter in [*given, *_optional(signed, given)]:
        if parameter == "X" or (name, parameter) in SCIKIT_LEARN:
            continue
        together = TOGETHER.get((name, parameter), {})
        yield Callee(name, call, {**given, **together}, parameter)


def _working(name: str, signed: Any) -> dict[str, Any]:
    """Return arguments for the parameters that have no default, and for some that need one."""
    found = {}
    for one in inspect.signature(signed).parameters.values():
        if one.name == "self" or one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL):
            continue
        special = INSTEAD.get((name, one.name))
        if special is not None:
            found[one.name] = special()
        elif one.default is one.empty:
            found[one.name] = BY_NAME[one.name]()
    return found


def _optional(signed: Any, given: dict[str, Any]) -> list[str]:
    names = [
        one.name
        for one in inspect.signature(signed).parameters.values()
        if one.name != "self"
        and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
        and one.name not in given
    ]
    if any(one.kind is one.VAR_KEYWORD for one in inspect.signature(signed).parameters.values()):
        names += ["method", "n_samples", "smoothing", "random_state", "bins"]
    return names


def _on_a_good_one(name: str, kind: type, door: str, /, **arguments: Any) -> Any:
    """Call a method of an object that was made, and fitted, with arguments that work."""
    return getattr(deepcopy(_good_one(name, kind)), door)(**arguments)


@cache
def _good_one(name: str, kind: type) -> Any:
    thing = kind(**_working(name, kind))
    if hasattr(thing, "fit"):
        _fitted(thing)
    return thing


def _made_and_used(kind: type, /, **arguments: Any) -> Any:
    """Make an object of hostile parameters, and have it do what it is for."""
    thing = kind(**arguments)
    repr(thing)
    if hasattr(thing, "expected") and hasattr(thing, "choose"):
        if kind.__name__ == "Cost":
            return thing.choose(P, _room("metrics").get("auroc"))
        return thing.choose(P, 5.0), thing.curve(P, [0.1]).withheld
    if hasattr(thing, "decide") and hasattr(thing, "fit"):
        _fitted(thing)
        found = thing.decide(BY_NAME["X"]() if hasattr(thing, "estimator") else P)
        return found.abstain, found.estimate
    if hasattr(thing, "decide"):
        return thing.decide(P).abstain
    if hasattr(thing, "fit"):
        _fitted(thing)
        return thing.priors_ if hasattr(thing, "priors_") else thing.predict_proba(P)
    return thing


def _fitted(thing: Any) -> None:
    if hasattr(thing, "transform"):
        thing.fit(BY_NAME["proba_source"](), BY_NAME["proba_target"](), Y)
    elif hasattr(thing, "estimator"):
        thing.fit(BY_NAME["X"](), Y)
    else:
        thing.fit(P, Y)
