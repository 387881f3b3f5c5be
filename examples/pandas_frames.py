"""pandas: frames of predictions in, a frame of decisions out, with the index and the id.

Run it with: python examples/pandas_frames.py
"""

import pandas as pd

from abstain import Abstainer
from abstain.datasets import simulate_four_class_normal

GRADES = ["none", "mild", "moderate", "severe"]


def predictions(n_per_class, seed):
    """Return what a hospital's database might give: one row per image, a column per grade."""
    simulation = simulate_four_class_normal(n_per_class, random_state=seed)
    frame = pd.DataFrame(simulation.proba, columns=[f"p_{grade}" for grade in GRADES])
    frame.insert(0, "image", [f"eye-{number:05d}" for number in range(len(frame))])
    frame["grade"] = [GRADES[code] for code in simulation.y]
    return frame.set_index("image")


def main():
    validation = predictions(500, seed=0)
    target = predictions(300, seed=1).drop(columns="grade")  # nobody has graded these

    # Columns are found by the names of the classes, whatever else is in the frame.
    abstainer = Abstainer("kappa:quadratic", budget=0.2, calibration="bcts", random_state=0)
    abstainer.fit(validation.filter(like="p_"), validation["grade"])
    decisions = abstainer.decide(target)

    frame = decisions.to_frame()
    print(frame[["abstain", "prediction", "gain"]].head())
    print(f"kappa expected of the kept images: {decisions.estimate.after}")

    # The index is that of the target, so the decisions join to anything.
    for_people = frame[frame["abstain"]].sort_values("gain", ascending=False)
    print("look at these first:", *for_people.index[:3])
    print(frame.groupby("prediction")["abstain"].mean().round(2).to_dict())


if __name__ == "__main__":
    main()
