"""What a run found, first as plain facts, then as lines for people."""

from typing import Any

from abstain.decisions import Decisions, EstimatedValue

__all__ = ["facts", "lines"]


def facts(decisions: Decisions) -> dict[str, Any]:
    """Return what a run found as plain data."""
    estimate = decisions.estimate
    return {
        "metric": decisions.policy.metric.name,
        "rows": len(decisions),
        "withheld": int(decisions.abstain.sum()),
        "abstention_rate": decisions.abstention_rate,
        "classes": decisions.classes.tolist(),
        "priors": {
            "validation": decisions.source_priors.tolist(),
            "target": decisions.priors.tolist(),
        },
        "estimate": {
            "before": _value(estimate.before),
            "after": _value(estimate.after),
        },
        "withhold": decisions.policy.region.to_dict(),
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
    return result


def _value(part: EstimatedValue) -> dict[str, Any]:
    return {"value": part.value, "interval": list(part.interval)}
