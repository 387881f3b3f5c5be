"""What a run found, first as plain facts, then as lines for people."""

from dataclasses import asdict
from typing import Any

from abstain.decisions import Decisions

__all__ = ["facts", "lines"]


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
        "certificate": certificate and certificate.to_dict(),
    }


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
        f"Estimated {found['metric']}",
    ]
    for moment in ("before", "after"):
        part = found["estimate"][moment]
        low, high = part["interval"]
        result.append(
            f"  {moment:<6}  {part['value']:.4f}  (90% interval {low:.4f} to {high:.4f})"
        )
    return result + _certified(found["certificate"])


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
