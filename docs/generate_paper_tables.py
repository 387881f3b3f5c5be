"""Rerun the paper: its tables into paper-tables.inc, its simulations into paper-agreement.json.

Run ``python docs/generate_paper_tables.py DIR`` where DIR holds the data files and tables.json
(some ten minutes). A table whose files are not there gets the paper's numbers alone.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from abstain import __version__
from abstain.paper import EXPERIMENTS, Options
from abstain.paper._experiment import read_published

PAGE = Path(__file__).parent / "paper-tables.inc"
#: What figures/paper_agreement.py draws, which takes too long to be made whenever it is drawn.
AGREEMENT = Path(__file__).parent / "paper-agreement.json"
#: The number of the table in the paper, and the experiment that reruns it, in the paper's order.
TABLES = (
    ("Table 1, left", "imdb"),
    ("Table 1, right", "catdog"),
    ("Table 2", "lsc"),
    ("Table 3", "dr"),
    ("Table 4", "dr-shift"),
    ("Table A.1", "phsc"),
    ("Table A.2", "dr-dropout"),
    ("Table A.3", "dr-dropout-shift"),
)


def section(number, name, folder):
    """Return one table: a line of the paper's numbers above each line of ours."""
    experiment = EXPERIMENTS[name]
    printed = read_published(folder, experiment.published)
    ours = {}
    if experiment.available(folder):
        for cell in experiment(Options(data=folder)).table.cells:
            metric, withheld = cell.column
            at = 0.0 if withheld == "base" else int(withheld[1:-1]) / 100
            ours[metric, *cell.row, at] = cell
    parts = [f"### {number}: `{name}`", f"{experiment.title}."]
    parts.append(agreement(printed, ours) if ours else missing(name, experiment.files))
    for metric in experiment.metrics:
        parts.append(table(metric.name, experiment, printed, ours))
    return "\n\n".join(parts)


def agreement(printed, ours):
    """Return in a sentence how near our numbers come to the paper's."""
    gaps = {place: abs(ours[place].mean - cell.mean) for place, cell in printed.items()}
    worst = max(gaps, key=gaps.__getitem__)
    same = sum(gap < 0.00015 for gap in gaps.values())
    bold = sum(ours[place].best == cell.bold for place, cell in printed.items())
    return (
        f"Of the {len(gaps)} cells that the paper prints, {same} come out within 0.0001. The "
        f"largest difference is {gaps[worst]:.4f}, which is "
        f"{gaps[worst] / printed[worst].se:.2f} of the standard error printed beside it. "
        f"{bold} of {len(gaps)} cells are bold here if and only if they are bold there."
    )


def missing(name, files):
    """Return why there is no line of ours."""
    names = " and ".join(f"`{file}`" for file in files)
    return (
        f"Not rerun here: the predictions ({names}) were not at hand. These are the paper's "
        f"numbers alone; with the files, `abstain reproduce {name} --data DIR` gives ours."
    )


def table(metric, experiment, printed, ours):
    """Return the Markdown table of one metric."""
    fractions = (0.0, *experiment.fractions)
    heads = ["nobody withheld", *(f"{at:.0%} withheld" for at in experiment.fractions)]
    lines = [
        f"| {metric} | prepared | | {' | '.join(heads)} |",
        f"| --- | --- | --- |{' ---: |' * len(heads)}",
    ]
    rows = dict.fromkeys(place[1:3] for place in (*printed, *ours) if place[0] == metric)
    # The rows that the paper has come first.
    in_paper = {place[1:3] for place in printed if place[0] == metric}
    for row in sorted(rows, key=lambda row: row not in in_paper):
        first = [*row]
        for who, found in (("paper", printed), ("ours", ours)):
            cells = [found.get((metric, *row, at)) for at in fractions]
            if all(cell is None for cell in cells):
                continue
            lines.append(f"| {' | '.join([*first, who, *map(shown, cells)])} |")
            first = ["", ""]
    return "\n".join(lines)


def shown(cell):
    """Return the mean with its standard error, bold where it is among the best."""
    if cell is None:
        return ""
    bold = cell.bold if hasattr(cell, "bold") else cell.best
    text = f"{cell.mean:.4f} ± {cell.se:.4f}"
    return f"**{text}**" if bold else text


def page(folder):
    """Return all tables."""
    date = datetime.now(UTC).date()
    head = (
        f"Written on {date} by `python docs/generate_paper_tables.py DIR` with abstain "
        f"{__version__}. A cell is the mean and its standard error over 30 repeats; bold ones "
        "are the best of their column by the paper's signed-rank procedure."
    )
    sections = [section(number, name, folder) for number, name in TABLES]
    return "\n\n".join([head, *sections]) + "\n"


def agreement_of_algorithms():
    """Return the correlations of the paper's Figures C.1 and C.2, for each simulated dataset."""
    found = {}
    for name in ("auroc-agreement", "sensitivity-agreement"):
        result = EXPERIMENTS[name](Options()).to_dict()
        found[name] = {
            kind: [round(value, 5) for value in result[f"{kind}_values"]]
            for kind in ("spearman", "pearson")
        }
    return json.dumps(found) + "\n"


if __name__ == "__main__":
    AGREEMENT.write_text(agreement_of_algorithms(), encoding="utf-8")
    PAGE.write_text(page(Path(sys.argv[1])), encoding="utf-8")
