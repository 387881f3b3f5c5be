"""Polars: a rule fitted once, saved, and applied to new frames.

Run it with: python examples/polars_frames.py
"""

import tempfile
from pathlib import Path

import polars as pl

from abstain import Abstainer, Policy
from abstain.datasets import screening_clinic


def main():
    clinic = screening_clinic(2_000, 2_000, random_state=0)
    validation = pl.DataFrame({"p_ill": clinic.scores_val, "ill": clinic.y_val})
    target = pl.DataFrame(
        {"patient": [f"P{number}" for number in range(2_000)], "p_ill": clinic.scores_target}
    )

    # One score column is the score of the positive class, here a logit.
    abstainer = Abstainer(
        "sensitivity@specificity=0.9", budget=0.15, calibration="platt", scale="logits",
        random_state=0,
    )  # fmt: skip
    abstainer.fit(validation.select("p_ill"), validation["ill"])
    decisions = abstainer.decide(target)
    print(decisions)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "triage.json"
        decisions.policy.save(path)
        # Tomorrow, elsewhere: the frame that comes out is a Polars frame again.
        frame = Policy.load(path).apply(target).to_frame()
    print(frame.head(3))
    print(
        frame.group_by("abstain")
        .agg(pl.len(), pl.col("p_1").mean().round(3).alias("mean probability"))
        .sort("abstain")
    )


if __name__ == "__main__":
    main()
