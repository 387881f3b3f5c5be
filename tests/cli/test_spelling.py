"""The library's messages, as whoever reads them in a terminal has to type."""

import ast
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import abstain as library
from abstain import Abstainer
from abstain.cli._terminal import OPTIONS, spelled
from abstain.exceptions import ArgumentError, RepairWarning, Way

PACKAGE = Path(library.__file__).parent
# What no command reaches: bridges, the paper, displays, Python's own front doors.
BEYOND = {
    "_rowwise.py", "arrow", "classifier.py", "cli", "cuda", "dask.py", "datasets", "keras.py",
    "mlflow.py", "onnx", "paper", "plots", "spark.py", "sql", "torch.py",
}  # fmt: skip
# Arguments that have no option, in messages that only Python's callers can meet.
PYTHON_ONLY = (
    "solver=", "replace=", "`loss` is empty", "`samples` holds no draw", "score_samples",
    "`y_source`", "`metric`.", "`n_classes`", "such as 'delta-metric'", "register", "Register",
    "decisions.rows", "Policy.apply() returned", "as summarise() returns", "are on a device",
    "pass an array of them", "was made for scale=", "`budgets` is empty", "procedure=",
    "`scores_val` and `y_val`", "must be a Cost, such as", "`start` and `end` go together",
    "what to_dict() returned", "are for chunks that are added one by one",
    "`scores` is empty; pass",
)  # fmt: skip


@pytest.mark.parametrize(
    ("said", "typed", "ways"),
    [
        ('If these are logits, pass scale="logits".', "If these are logits, add --scale logits.",
         [Way("scale", "logits")]),
        ("Pass positive='cancer' or", "Add --positive cancer or",
         [Way("positive", "cancer", "pass positive='cancer'")]),
        ('pass positive="not ill"', "add --positive 'not ill'", [Way("positive", "not ill")]),
        ("raise at_most=40", "raise --at-most 40", [Way("at_most", 40, "at_most=40")]),
        ('Pass missing="refer" to give', "Add --missing refer to give",
         [Way("missing", "refer")]),
        ("call policy.adapt(scores) first", "call `abstain adapt` first",
         [Way("Policy.adapt", python="policy.adapt(scores)")]),
        ("Pass drop_certificate=True to choose again", "Add --drop-certificate to choose again",
         [Way("drop_certificate", True)]),
        ("Pass a smaller count, or", "Give a smaller count, or",
         [Way("", python="pass a smaller count")]),
        ("`budget` must be a fraction", "--budget must be a fraction", []),
        ("`scores` has gaps", "The scores have gaps", []),
        ("the files a.csv and b.csv", "The files a.csv and b.csv", []),
        ("pass nothing that is no way", "pass nothing that is no way", []),
    ],
)  # fmt: skip
def test_arguments_become_options(said, typed, ways):
    assert spelled(ArgumentError(said, ways=ways)) == typed
    assert spelled(RepairWarning(said, ways=ways)) == typed
    assert str(ArgumentError(said, ways=ways)) == said


def test_errors_know_their_argument_and_travel_with_it():
    with pytest.raises(ArgumentError) as raised:
        Abstainer("accuracy", budget=0.1).fit([0.2, np.nan], [0, 1])
    assert raised.value.argument == "scores_val"
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.argument) == (str(raised.value), "scores_val")
    assert again.ways == raised.value.ways


def test_advice_about_classes_is_about_columns():
    with pytest.raises(ArgumentError) as raised:
        Abstainer("accuracy", budget=0.1).fit(np.full((4, 3), 1 / 3), ["a", "b", "c", "d"])
    said = spelled(raised.value)
    assert "Name the score columns so that each ends in its class" in said
    assert "--scores 'p_*'" in said


def text_of(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) for part in node.values)
    return "" if isinstance(node, ast.Constant) else "17"


def messages():
    """Every text that is raised or warned of in a room that commands reach."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).parts[0] in BEYOND:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                calls, ways = node.exc.args, node.exc.keywords
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "warn_user":
                calls, ways = node.args, node.keywords
            else:
                continue
            # What is to be done instead is told with it, for the command line to say it otherwise.
            if any(one.arg == "ways" for one in ways):
                continue
            yield from (
                (path.relative_to(PACKAGE), text_of(one))
                for one in calls
                if isinstance(one, ast.JoinedStr | ast.Constant)
            )


def test_no_message_of_the_library_asks_for_python():
    found = list(messages())
    assert len(found) > 150
    asked = re.compile(rf"\b[Pp]ass \S|\b({'|'.join(OPTIONS)})=|`({'|'.join(OPTIONS)})`|\w\(\)")
    left = [
        (str(path), spelled(text))
        for path, text in found
        if asked.search(spelled(text)) and not any(part in text for part in PYTHON_ONLY)
    ]
    assert left == []


def test_the_command_line_says_it_its_own_way(abstain):
    Path("v.csv").write_text("p_a,p_b,y\n" + "0.5,0.2,a\n0.3,0.7,b\n" * 20)
    code, _, err = abstain("run", "v.csv", "v.csv", "--metric", "accuracy", "--budget", "0.1")
    assert code == 1
    assert "The rows of the scores of VALIDATION must sum to 1" in err
    assert "first is row 0 " in err
    assert err.rstrip().endswith("Rows are counted from 0 below the header.")
    assert "add --scale logits" in err
    code, _, err = abstain("run", "v.csv", "v.csv", "--metric", "accuracy", "--budget", "2.5")
    assert code == 2
    assert "--budget must be a fraction in [0, 1)" in " ".join(err.split())
