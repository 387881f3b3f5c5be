"""Policy: the frozen rule, as data, to save, load and apply to new rows.

A policy file is JSON that a person can read. It holds numbers and names, nothing executable,
and a checksum that tells an edited or damaged file from a whole one.
"""

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

import abstain
from abstain import calibration, metrics
from abstain._exceptions import PolicyError
from abstain._files import write_text
from abstain._kernels.adapt import adapted
from abstain._validation import FloatArray, check_sample_weight
from abstain.baselines import ScoreThreshold
from abstain.calibration import Calibrator
from abstain.decisions import Decisions, Estimate, EstimatedValue
from abstain.metrics import Metric
from abstain.regions import GainThreshold, Interval, Region
from abstain.rules import DecisionRule, rule_from_dict
from abstain.shift import ratio_of_priors

__all__ = ["Policy"]

FORMAT = "abstain-policy"
SCHEMA_VERSION = 1


@dataclass(frozen=True, eq=False)
class Policy:
    """A frozen rule: scores in, decisions out, no refitting.

    Made by :meth:`abstain.Abstainer.decide`, or read from a file with :meth:`load`.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The label of each score column.
    calibrator : Calibrator
        Turns scores into calibrated probabilities.
    source_priors, priors : ndarray of shape (n_classes,)
        Class proportions before and after the shift; their ratio adapts the probabilities.
    region : Region
        What is withheld.
    rule : DecisionRule
        How a class is predicted.
    metric : Metric
        The metric the rule was chosen for.
    estimate : Estimate or None
        The metric on the batch the rule was chosen on.
    created : str
        When, in UTC.
    version : str
        The library version that made it.
    """

    classes: NDArray[Any]
    calibrator: Calibrator
    source_priors: FloatArray
    priors: FloatArray
    region: Region
    rule: DecisionRule
    metric: Metric
    estimate: Estimate | None = None
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    version: str = abstain.__version__

    @cached_property
    def _weights(self) -> FloatArray:
        return ratio_of_priors(self.priors, self.source_priors)

    def predict_proba(self, scores: ArrayLike) -> FloatArray:
        """Return calibrated, adapted probabilities of shape (n, n_classes)."""
        return adapted(self.calibrator.predict_proba(scores), self._weights)

    def apply(self, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> Decisions:
        """Decide about new rows, one or many.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores on the scale the policy was made on.
        sample_weight : array-like of shape (n,), optional
            How much each row counts in ``decisions.estimate``; it changes no decision.

        Returns
        -------
        Decisions
            The decision about a row depends on that row alone.
        """
        proba = self.predict_proba(scores)
        return self.decide(proba, check_sample_weight(sample_weight, n_rows=len(proba)))

    def decide(
        self, proba: FloatArray, sample_weight: FloatArray | None = None, *, seed: int = 0
    ) -> Decisions:
        """Decide about rows whose calibrated, adapted probabilities are known already."""
        columns = self.rule.predict(proba)
        return Decisions(
            abstain=self.region.contains(proba, columns),
            proba=proba,
            prediction=self.classes[columns],
            classes=self.classes,
            policy=self,
            sample_weight=sample_weight,
            seed=seed,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as plain data."""
        return {
            "format": FORMAT,
            "schema_version": SCHEMA_VERSION,
            "library_version": self.version,
            "created": self.created,
            "metric": self.metric.to_dict(),
            "estimate": _estimate_to_dict(self.estimate),
            "classes": _classes_to_list(self.classes),
            "calibration": self.calibrator.to_dict(),
            "priors": {
                "source": self.source_priors.tolist(),
                "target": self.priors.tolist(),
            },
            "decision": self.rule.to_dict(),
            "withhold": self.region.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the policy that ``to_dict`` described."""
        if data.get("format") != FORMAT:
            raise PolicyError(f"This is not a policy of abstain: no format {FORMAT!r} in it.")
        if data.get("schema_version") != SCHEMA_VERSION:
            raise PolicyError(
                f"The policy has schema version {data.get('schema_version')!r}; this library "
                f"({abstain.__version__}) reads version {SCHEMA_VERSION}. Install the library "
                f"that made it ({data.get('library_version')!r}), or make the policy again."
            )
        try:
            return cls._read(data)
        except (KeyError, TypeError, ValueError) as error:
            raise PolicyError(f"The policy is not complete or not consistent: {error}.") from error

    @classmethod
    def _read(cls, data: dict[str, Any]) -> Self:
        classes = np.array(data["classes"])
        source, target = (
            np.array(data["priors"][side], dtype=np.float64) for side in ("source", "target")
        )
        if not len(classes) == len(source) == len(target):
            raise ValueError(
                f"{len(classes)} classes, {len(source)} source and {len(target)} target priors"
            )
        return cls(
            classes=classes,
            calibrator=calibration.from_dict(data["calibration"], classes=classes),
            source_priors=source,
            priors=target,
            region=_region_from_dict(data["withhold"]),
            rule=rule_from_dict(data["decision"]),
            metric=metrics.from_dict(data["metric"]),
            estimate=_estimate_from_dict(data["estimate"]),
            created=data["created"],
            version=data["library_version"],
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a JSON file, whole or not at all."""
        content = self.to_dict()
        write_text(path, json.dumps({**content, "sha256": _checksum(content)}, indent=2) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a policy from a JSON file.

        Raises
        ------
        PolicyError
            If the file is cut, edited, of an unknown schema, or no policy at all.
        """
        try:
            content = json.loads(
                Path(path).read_text(encoding="utf-8"), parse_constant=_refuse_constant
            )
        except ValueError as error:
            raise PolicyError(f"{path} is not a whole JSON file: {error}.") from error
        if not isinstance(content, dict):
            raise PolicyError(f"{path} is not a policy of abstain.")
        checksum = content.pop("sha256", None)
        policy = cls.from_dict(content)
        if checksum != _checksum(content):
            raise PolicyError(
                f"{path} was changed after it was written: its checksum does not match. "
                f"Make the policy again rather than editing it."
            )
        return policy


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number that a policy may hold")


def _checksum(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _classes_to_list(classes: NDArray[Any]) -> list[Any]:
    labels: list[Any] = classes.tolist()
    for label in labels:
        if not isinstance(label, str | int | float | bool):
            raise TypeError(
                f"A policy can store classes that are text or numbers; {label!r} is neither."
            )
    return labels


def _region_from_dict(data: dict[str, Any]) -> Region:
    kinds = {region.kind: region for region in (GainThreshold, Interval, ScoreThreshold)}
    if data["kind"] not in kinds:
        raise ValueError(f"unknown region {data['kind']!r}; known are {sorted(kinds)}")
    region: Region = kinds[data["kind"]].from_dict(data)
    return region


def _estimate_to_dict(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    # JSON has no NaN; None stands for a value that is not defined.
    return {
        moment: {
            "value": _number_or_none(part["value"]),
            "interval": [_number_or_none(end) for end in part["interval"]],
        }
        for moment, part in asdict(estimate).items()
    }


def _estimate_from_dict(data: dict[str, Any] | None) -> Estimate | None:
    if data is None:
        return None
    before, after = (
        EstimatedValue(
            _nan_if_none(data[moment]["value"]),
            (_nan_if_none(data[moment]["interval"][0]), _nan_if_none(data[moment]["interval"][1])),
        )
        for moment in ("before", "after")
    )
    return Estimate(before=before, after=after)


def _number_or_none(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _nan_if_none(value: float | None) -> float:
    return float("nan") if value is None else float(value)
