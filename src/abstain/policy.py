"""Policy: the frozen rule, as data, to save, load and apply to new rows.

A policy file is JSON that a person can read. It holds numbers and names, nothing executable,
and a checksum that tells an edited or damaged file from a whole one.
"""

import hashlib
import json
import os
import re
import warnings
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

import abstain
from abstain import calibration, metrics, shift
from abstain._files import write_text
from abstain._inputs import FloatArray, check_sample_weight, read_scores
from abstain._kernels.adapt import adapted
from abstain.baselines import ScoreThreshold
from abstain.calibration import Calibrator
from abstain.decisions import Decisions, Estimate, EstimatedValue
from abstain.exceptions import AssumptionWarning, PolicyError
from abstain.metrics import Metric
from abstain.regions import GainThreshold, Interval, ProbabilityBoxes, Region, TopShare
from abstain.rules import DecisionRule, rule_from_dict
from abstain.selection import AssumptionCheck, Certificate, Selection, Source, check_mixture
from abstain.shift import ShiftEstimator, ratio_of_priors

__all__ = ["Policy"]

FORMAT = "abstain-policy"
SCHEMA_VERSION = 1


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


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
    selection : Selection or None
        How much was to be withheld, and by what order; for :meth:`adapt`.
    shift : ShiftEstimator or None
        How the class proportions were estimated; for :meth:`adapt`.
    source : Source or None
        A compact summary of the labelled source; for :meth:`adapt`.
    certificate : Certificate or None
        What held-out labels prove about the rule.
    assumption : AssumptionCheck or None
        Of an adapted policy: whether label shift explains the recent scores.
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
    selection: Selection | None = None
    shift: ShiftEstimator | None = None
    source: Source | None = None
    certificate: Certificate | None = None
    assumption: AssumptionCheck | None = None
    created: str = field(default_factory=_now)
    version: str = abstain.__version__

    @cached_property
    def _weights(self) -> FloatArray:
        return ratio_of_priors(self.priors, self.source_priors)

    def __repr__(self) -> str:
        return (
            f"<Policy: {len(self.classes)} classes, metric {self.metric.name}, withholds "
            f"{self.region.describe()}, made {self.created}>"
        )

    def predict_proba(self, scores: ArrayLike) -> FloatArray:
        """Return calibrated, adapted probabilities of shape (n, n_classes)."""
        values = read_scores(scores, self.classes).values
        return adapted(self.calibrator.predict_proba(values), self._weights)

    def apply(self, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> Decisions:
        """Decide about new rows, one or many.

        Parameters
        ----------
        scores : array-like or frame of shape (n,) or (n, n_classes)
            Scores on the scale the policy was made on. A frame's columns are taken by the names
            of the classes, and its other columns and index are kept for ``to_frame``.
        sample_weight : array-like of shape (n,), optional
            How much each row counts in ``decisions.estimate``; it changes no decision.

        Returns
        -------
        Decisions
            The decision about a row depends on that row alone.
        """
        given = read_scores(scores, self.classes)
        proba = self.predict_proba(given.values)
        weight = check_sample_weight(sample_weight, n_rows=len(proba))
        return replace(self.decide(proba, weight), frame=given.source, carried=given.others)

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

    def adapt(
        self,
        scores_recent: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        drop_certificate: bool = False,
    ) -> Self:
        """Return the policy for what the rows have become, from unlabelled recent rows alone.

        The class proportions are estimated again and the region is chosen again, the way they
        were at first. The calibration stays.

        Parameters
        ----------
        scores_recent : array-like of shape (n,) or (n, n_classes)
            Scores of recent rows, as many as possible.
        sample_weight : array-like of shape (n,), optional
            How much each row counts.
        drop_certificate : bool
            Choose again although the rule is certified; the new policy has no certificate.

        Returns
        -------
        Policy
            Its ``assumption`` says whether label shift explains the recent scores. If not, there
            is a warning too: the new proportions are then not to be trusted.

        Raises
        ------
        ValueError
            If the policy does not carry what it takes, or is certified: a certified rule holds
            at every prevalence and needs no adapting.
        """
        if self.selection is None or self.source is None or self.shift is None:
            raise ValueError(
                "This policy cannot adapt: it does not carry how it was chosen. Make it with "
                "Abstainer.decide(), from a shift estimator and a score with registered names."
            )
        if self.certificate is not None and not drop_certificate:
            raise ValueError(
                "This policy is certified at every prevalence and needs no adapting. Pass "
                "drop_certificate=True to choose again without the certificate."
            )
        recent = read_scores(scores_recent, self.classes).values
        calibrated = self.calibrator.predict_proba(recent)
        weight = check_sample_weight(sample_weight, n_rows=len(calibrated))
        assumption = check_mixture(self.source, calibrated, weight)
        if not assumption.passes:
            warnings.warn(f"Adapting a policy: {assumption}.", AssumptionWarning, stacklevel=2)
        estimator = clone(self.shift).fit(
            self.source.proba,
            calibrated,
            self.source.codes,
            sample_weight_source=self.source.weight,
            sample_weight_target=weight,
        )
        proba = adapted(calibrated, estimator.weights_)
        choice = self.selection.choose(
            self.metric,
            proba,
            sample_weight=weight,
            source=self.source,
            weights=estimator.weights_,
        )
        policy = replace(
            self,
            source_priors=estimator.source_priors_,
            priors=estimator.priors_,
            region=choice.region,
            rule=choice.rule,
            certificate=None,
            assumption=assumption,
            created=_now(),
            version=abstain.__version__,
        )
        return replace(policy, estimate=policy.decide(proba, weight).estimate)

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
            "certificate": _optional(self.certificate),
            "assumption": _optional(self.assumption),
            "selection": _optional(self.selection),
            "shift": None if self.shift is None else _shift_to_dict(self.shift),
            "source": _optional(self.source),
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
            certificate=_read_optional(Certificate, data["certificate"]),
            assumption=_read_optional(AssumptionCheck, data["assumption"]),
            selection=_read_optional(Selection, data["selection"]),
            shift=_shift_from_dict(data["shift"]),
            source=_read_optional(Source, data["source"]),
            created=data["created"],
            version=data["library_version"],
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a JSON file, whole or not at all."""
        content = self.to_dict()
        text = json.dumps({**content, "sha256": _checksum(content)}, indent=2)
        write_text(path, _rows_on_lines(text) + "\n")

    def to_onnx(self, **options: Any) -> Any:
        """Return the policy as an ONNX model; see :func:`abstain.onnx.to_onnx`."""
        from abstain.onnx import to_onnx

        return to_onnx(self, **options)

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


def _rows_on_lines(text: str) -> str:
    """Put each list of plain numbers on one line, for people; no string can look like one."""
    return re.sub(
        r"\[\n\s*([^\[\]{}\"]*?)\s*\]",
        lambda found: "[" + re.sub(r",\s+", ", ", found.group(1)) + "]",
        text,
    )


def _optional(part: Any) -> dict[str, Any] | None:
    data: dict[str, Any] | None = None if part is None else part.to_dict()
    return data


def _read_optional(kind: Any, data: dict[str, Any] | None) -> Any:
    return None if data is None else kind.from_dict(data)


def _shift_to_dict(estimator: ShiftEstimator) -> dict[str, Any] | None:
    """Return the estimator's name and parameters; None where these are more than plain data."""
    parameters = {
        key: value.tolist() if isinstance(value, np.ndarray) else value
        for key, value in estimator.get_params(deep=False).items()
    }
    try:
        json.dumps(parameters, allow_nan=False)
        shift.get(estimator.name)
    except (TypeError, ValueError):
        return None
    return {"name": estimator.name, "parameters": parameters}


def _shift_from_dict(data: dict[str, Any] | None) -> ShiftEstimator | None:
    if data is None:
        return None
    estimator: ShiftEstimator = shift.get(data["name"]).set_params(**data["parameters"])
    return estimator


def _classes_to_list(classes: NDArray[Any]) -> list[Any]:
    labels: list[Any] = classes.tolist()
    for label in labels:
        if not isinstance(label, str | int | float | bool):
            raise TypeError(
                f"A policy can store classes that are text or numbers; {label!r} is neither."
            )
    return labels


def _region_from_dict(data: dict[str, Any]) -> Region:
    regions = (GainThreshold, Interval, ProbabilityBoxes, ScoreThreshold, TopShare)
    kinds = {region.kind: region for region in regions}
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
