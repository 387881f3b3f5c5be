"""What a run found, first as plain facts, then as lines for people."""

from dataclasses import asdict
from typing import Any

from abstain.decisions import Decisions

__all__ = ["estimated", "facts", "lines"]


def facts(decisions: Decisions[Any]) -> dict[str, Any]:
    """Return what a run found as data."""
    certificate = decisions.certificate
    return {
        "metric": decisions.metric.name,
        "rows": len(decisions),
        "withheld": int(decisions.abstain.sum()),
        "abstention_rate": decisions.abstention_rate,
        "classes": decisions.classes.tolist(),
        "priors": {"validation": decisions.source_priors, "target": decisions.priors},
        "estimate": asdict(decisions.estimate),
        "withhold": decisions.choice.region.to_dict(),
        "decision": decisions.choice.rule.to_dict(),
        "predicts": _predicts(decisions),
        "reached": decisions.reached,
        "certificate": certificate and certificate.to_dict(),
        "assumption": _assumption(decisions),
        "alternative": _alternative(decisions),
    }


def _assumption(decisions: Decisions[Any]) -> dict[str, Any] | None:
    assumption = decisions.assumption
    if assumption is None:
        return None
    return {**assumption.to_dict(), "summary": assumption.summary()}


def _alternative(decisions: Decisions[Any]) -> dict[str, Any] | None:
    """Return the estimate under the other assumption, where that may be right as well."""
    assumption = decisions.assumption
    if assumption is None or not assumption.contested or decisions.alternative is None:
        return None
    return {"assuming": assumption.otherwise(), **asdict(decisions.alternative)}


def lines(found: dict[str, Any]) -> list[str]:
    """Return the facts as lines for people."""
    width = max(9, *(len(str(name)) for name in found["classes"]))
    result = [
        "Class proportions",
        f"  {'class':<{width}}  validation  target (estimated)",
    ]
    for name, source, target in zip(
        found["classes"], found["priors"]["validation"], found["priors"]["target"], strict=True
    ):
        result.append(f"  {name!s:<{width}}  {source:10.3f}  {target:6.3f}")
    result += [
        "",
        f"Withheld {found['withheld']:,} of {found['rows']:,} rows "
        f"({found['abstention_rate']:.1%})",
        found["predicts"],
        f"Estimated {found['metric']}",
    ]
    for moment in ("before", "after"):
        result.append(f"  {moment:<6}  {estimated(found['estimate'][moment])}")
    if found["reached"] is not None:
        result.append(
            f"The target is reached with probability {found['reached']:.2f} by the estimate"
        )
    return result + _certified(found["certificate"]) + _assumed(found)


def estimated(part: dict[str, Any]) -> str:
    """Return an estimated value and its interval."""
    low, high = part["interval"]
    return f"{part['value']:.4f} ({100 * part['level']:g}% interval {low:.4f} to {high:.4f})"


def _assumed(found: dict[str, Any]) -> list[str]:
    if found["assumption"] is None:
        return []
    result = ["", f"The estimates rest on this. {found['assumption']['summary']}"]
    other = found["alternative"]
    if other is not None:
        before, after = (estimated(other[moment]) for moment in ("before", "after"))
        result.append(f"{other['assuming']}: before {before}, after {after}")
    return result


def _predicts(decisions: Decisions[Any]) -> str:
    """Say in a sentence how the rows are predicted."""
    name = str(decisions.classes[-1])
    words = decisions.choice.rule.in_words(f"class {name}" if name.isdigit() else name)
    return words[:1].upper() + words[1:]


def _certified(certificate: dict[str, Any] | None) -> list[str]:
    if certificate is None:
        return []
    result = ["", f"Certified with {certificate['confidence']:.0%} confidence, at any prevalence"]
    if certificate["prior_range"] is not None:
        low, high = (side[-1] for side in certificate["prior_range"])
        result[-1] = result[-1].replace("any prevalence", f"prevalences {low:g} to {high:g}")
    for name, bound in certificate["bounds"].items():
        observed = "-" if bound["observed"] is None else f"{bound['observed']:.4f}"
        result.append(
            f"  {name:<18}  {bound['value']:.4f}  (observed {observed} on {bound['n']:,} labels)"
        )
    return result
