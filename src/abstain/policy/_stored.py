"""A policy as plain data: what a file holds of it, and what a file cannot hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from abstain import (
    calibration,
    certificates,
    estimation,
    metrics,
    regions,
    rules,
    scores,
    selection,
    shift,
    summaries,
    team,
)
from abstain._schema import (
    FORMAT,
    LONG_NAME,
    NAME,
    SCHEMA_VERSION,
    Constant,
    Either,
    Flag,
    Labels,
    Number,
    Record,
    Text,
    Whole,
    proportions,
    shown,
)
from abstain.certificates import Certificate
from abstain.estimation import Estimate
from abstain.exceptions import warn_user
from abstain.selection import Selection
from abstain.shift import Assumption
from abstain.summaries import LabelledSummary
from abstain.team import Team

if TYPE_CHECKING:
    from abstain.policy._policy import Policy


#: The schema of a policy file: every key, and what its value must be. What a part holds is said
#: where the part is; files of the first versions lack the keys that end in ``?``.
POLICY = Record(
    {
        "format": Constant(FORMAT),
        "schema_version": Whole(1),
        "library_version": NAME,
        "created": NAME,
        "classes": Labels(),
        "positive": Either(null=None, text=Text(), number=Number(), flag=Flag()),
        "priors": {"source": proportions("classes"), "target": proportions("classes")},
        "columns": Labels(),
        "metric": metrics.KEYS,
        "estimate?": Either(null=None, object=estimation.KEYS),
        "calibration": calibration.KEYS,
        "decision": rules.KEYS,
        "withhold": regions.KEYS,
        "certificate?": Either(null=None, object=certificates.KEYS),
        "assumption?": Either(null=None, object=shift.ASSUMPTION_KEYS),
        "selection?": Either(null=None, object=selection.KEYS),
        "shift?": Either(null=None, object=shift.KEYS),
        "source?": Either(null=None, object=summaries.KEYS),
        "made_from?": {"scores": LONG_NAME, "label": LONG_NAME},
        "team?": team.KEYS,
        # Of the file, not of the policy.
        "sha256?": Text(64),
        "hmac_sha256?": Text(64),
    }
)
# How many times a class may have become more frequent, so that no product is infinite.
_MOST_MOVED = 1e100


def conforming(data: dict[str, Any]) -> dict[str, Any]:
    """Return plain data of the newest version as the schema reads them, arrays as arrays.

    Raises
    ------
    ValueError
        If a key is missing, unknown, of the wrong type, shape, size or range, or if classes and
        proportions do not agree; the message names it.
    """
    sizes: dict[str, int] = {}
    if isinstance(data, dict) and "classes" in data:
        Labels().read(data["classes"], "classes", sizes)
    found: dict[str, Any] = POLICY.read(data, "", sizes)
    classes, columns = found["classes"].tolist(), found["columns"].tolist()
    if sorted(map(str, columns)) != sorted(map(str, classes)) or {*columns} != {*classes}:
        raise ValueError("`columns` must be the classes, in the order in which their scores come")
    positive = found["positive"]
    if positive is not None and (len(classes) != 2 or classes[1] != positive):
        raise ValueError(
            f"`positive` must be null, or of two classes the second; got {shown(positive)} of "
            f"{len(classes)} classes"
        )
    source, target = found["priors"]["source"], found["priors"]["target"]
    if (target > source * _MOST_MOVED)[source > 0].any():
        raise ValueError("`priors.source` is next to nothing where `priors.target` is not")
    return found


def to_plain(policy: Policy) -> dict[str, Any]:
    """Return a policy as plain data."""
    more: dict[str, Any] = {}
    if policy.made_from is not None:
        more["made_from"] = dict(policy.made_from)
    if policy.team is not None:
        more["team"] = policy.team.to_dict()
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "library_version": policy.version,
        "created": policy.created,
        "metric": metrics.to_dict(policy.metric),
        "estimate": _optional(policy.estimate),
        "classes": _classes_to_list(policy.classes),
        "positive": policy.positive,
        "columns": _classes_to_list(policy.columns),
        "calibration": policy.calibrator.to_dict(),
        "priors": {"source": policy.source_priors.tolist(), "target": policy.priors.tolist()},
        "decision": policy.rule.to_dict(),
        "withhold": policy.region.to_dict(),
        "certificate": _optional(policy.certificate),
        "assumption": _optional(policy.assumption),
        "selection": _optional(policy.selection),
        "shift": shift.to_dict(policy.shift),
        "source": _optional(policy.source),
        **more,
    }


def from_plain(data: dict[str, Any]) -> dict[str, Any]:
    """Return what a policy is made of, by its names, from plain data of the newest version.

    Raises
    ------
    ValueError
        If they are not what the schema says, or parts do not agree with each other.
    """
    data = conforming(data)
    classes = data["classes"]
    metric = metrics.from_dict(data["metric"])
    metric.check_n_classes(len(classes))
    selected = _read_optional(Selection, data.get("selection"))
    if selected is not None:
        selected.check_stored(metric, len(classes))
    return {
        "classes": classes,
        "positive": data["positive"],
        "columns": data["columns"],
        "calibrator": calibration.from_dict(data["calibration"], classes=classes),
        "source_priors": data["priors"]["source"],
        "priors": data["priors"]["target"],
        "region": regions.from_dict(data["withhold"], n_classes=len(classes)),
        "rule": rules.from_dict(data["decision"], n_classes=len(classes)),
        "metric": metric,
        "estimate": _read_optional(Estimate, data.get("estimate")),
        "certificate": _read_optional(Certificate, data.get("certificate")),
        "assumption": _read_optional(Assumption, data.get("assumption")),
        "selection": selected,
        "shift": shift.from_dict(data.get("shift")),
        "source": _read_optional(LabelledSummary, data.get("source")),
        "made_from": data.get("made_from"),
        "team": _read_optional(Team, data.get("team")),
        "created": data["created"],
        "version": data["library_version"],
    }


def warn_of_own(policy: Policy) -> None:
    """Say what a file cannot hold, and what that means where it is loaded."""
    score = policy.region.order
    if score is not None and scores.is_own(score):
        name = score if isinstance(score, str) else getattr(score, "__name__", "score")
        warn_user(
            f"The policy withholds by your own score, of which the file holds the name "
            f"{name!r} and not the function. To decide by the file elsewhere, call "
            f"abstain.scores.register(function, {name!r}) there first.",
            UserWarning,
        )
    if metrics.is_own(policy.metric) and policy.metric.known:
        warn_user(
            f"The policy's metric {policy.metric.name!r} is your own; the file holds its name "
            f"and not its function. The file can be applied anywhere, with the same "
            f"decisions; but estimates for new batches and adapt() need "
            f"abstain.metrics.register(metric), with a metric of that name, before "
            f"Policy.load().",
            UserWarning,
        )


def _optional(part: Any) -> dict[str, Any] | None:
    return None if part is None else part.to_dict()


def _read_optional(kind: Any, data: dict[str, Any] | None) -> Any:
    return None if data is None else kind.from_dict(data)


def _classes_to_list(classes: NDArray[Any]) -> list[Any]:
    labels: list[Any] = classes.tolist()
    for label in labels:
        if not isinstance(label, str | int | float | bool):
            raise TypeError(
                f"A policy can store classes that are text or numbers; {label!r} is neither."
            )
    return labels
