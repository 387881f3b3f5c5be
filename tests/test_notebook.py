"""What results show in a notebook: the answer, what it rests on, what to do next."""

import html
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import abstain
from abstain import Abstainer, AbstainingClassifier, Policy, metrics
from abstain.datasets import screening_clinic
from abstain.estimation import Estimate, EstimatedValue
from abstain.evaluation import Cell, ResultTable, evaluate
from abstain.report import Report

NAMES = np.array(["<i>well</i>", 'ill & "worse"'])


class Whole(HTMLParser):
    """Raises unless every tag is closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)


def shown(result):
    """Return the text of what a notebook shows of a result, once that is seen to be sound."""
    text = result._repr_html_()
    page = Whole()
    page.feed(text)
    assert not page.open
    assert len(text) < 6_000
    assert "<script" not in text
    assert not re.search(r"https?:|src=|url\(", text)
    # Colours of its own would not suit every theme.
    assert not re.search(r"[^-]color:(?!inherit)", text)
    return " ".join(page.text)


@pytest.fixture(scope="module")
def clinic():
    return screening_clinic(1_000, 1_000, random_state=0)


def fitted(clinic, metric="sensitivity@specificity=0.9", **options):
    options = {"budget": 0.15} | options
    abstainer = Abstainer(metric, calibration="platt", scale="logits", random_state=0, **options)
    return abstainer.fit(clinic.scores_val, NAMES[clinic.y_val], classes=NAMES)


@pytest.fixture(scope="module")
def decisions(clinic):
    return fitted(clinic).decide(clinic.scores_target)


def test_decisions(decisions):
    text = shown(decisions)
    after = decisions.estimate.after
    assert "150 of 1,000 rows go to a person (15.0%)" in text
    assert "sensitivity@specificity=0.9" in text
    assert f"{after.value:.4f}" in text
    assert f"{after.interval[0]:.4f} to {after.interval[1]:.4f}" in text
    assert f"{100 * decisions.priors[1]:.1f}%" in text
    assert 'positive class ill & "worse"' in text
    assert decisions.assumption.summary() in text
    assert ".report()" in text


def test_what_users_name_is_escaped(decisions):
    for result in (decisions, decisions.policy):
        assert "<i>well" not in result._repr_html_()
        assert html.escape(NAMES[0]) in result._repr_html_()


def test_doubts_are_shown(clinic):
    doubtful = fitted(clinic).decide(0.3 * clinic.scores_target - 2)
    for result in (doubtful, doubtful.policy, doubtful.assumption):
        text = shown(result)
        for doubt in doubtful.assumption.doubts:
            assert doubt in text


def test_a_policy(decisions):
    policy = decisions.policy
    text = shown(policy)
    assert policy.sha256[:16] in text
    assert policy.created in text
    assert "a budget of 0.15 of the rows" in text
    assert f"{policy.estimate.after.value:.4f}" in text
    assert ".apply(scores)" in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"budget": 30}, "a budget of 30"),
        ({"budget": None, "target": 0.7}, "a target of 0.7"),
        (
            {"budget": None, "target": {"sensitivity": 0.7, "specificity": 0.8}},
            "a target of sensitivity 0.7, specificity 0.8",
        ),
        ({"budget": None, "cost": abstain.Cost(0.2)}, "least cost"),
        ({"score": "entropy"}, "a budget of 0.15 of the rows, by entropy"),
    ],
)
def test_how_much_was_to_be_withheld(clinic, options, said):
    made = fitted(clinic, "auroc", **options).decide(clinic.scores_target)
    assert said in shown(made.policy)
    assert "reaches the target" in shown(made) or "target" not in options


def test_estimates(decisions, clinic):
    estimate = decisions.estimate
    assert f"{estimate.before.value:.4f}" in shown(estimate)
    assert f"{estimate.after.value:.4f}" in shown(estimate.after)
    assert repr(estimate) == (
        f"<Estimate: before abstaining {estimate.before}, after {estimate.after}>"
    )
    assert repr(estimate.after) == f"<EstimatedValue {estimate.after}>"
    batch = abstain.estimate(
        clinic.scores_val, clinic.y_val, clinic.scores_target, ["accuracy", "auroc"],
        scale="logits", calibration="platt", random_state=0,
    )  # fmt: skip
    assert f"{batch['auroc'].value:.4f}" in shown(batch)


def test_what_is_not_defined_says_so():
    nothing = EstimatedValue(float("nan"), (float("nan"), float("nan")))
    for result in (nothing, Estimate(EstimatedValue(0.5, (0.4, 0.6)), nothing)):
        assert "not defined" in shown(result)
        assert "nan" not in result._repr_html_().lower()


def test_a_certificate(clinic):
    made = fitted(clinic, "balanced-accuracy", confidence=0.9).decide(clinic.scores_target)
    text = shown(made.certificate)
    assert "90% confidence" in text
    assert f"{made.certificate.bounds['sensitivity'].value:.4f}" in text
    assert "90% confidence" in shown(made)
    assert repr(made.certificate) == f"<Certificate: {made.certificate}>"


def test_a_table_of_results():
    cells = (
        Cell(("ours",), ("10%",), (0.9, 0.8), best=True),
        Cell(("<theirs>",), ("10%",), (0.7, 0.6)),
    )
    table = ResultTable(cells, ("method",), ("budget",), "A table")
    assert "0.8500" in shown(table)
    assert "<theirs>" in shown(table)
    assert repr(table).startswith("<ResultTable of 'A table': 2 x 1")


def test_many_classes_are_cut():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(30), 300)
    labels = [f"a class with the rather long name {k}" for k in range(30)]
    y = rng.choice(labels[1:], 300)
    made = Abstainer("accuracy", budget=0.1, calibration="temperature", shift="none")
    with pytest.warns(abstain.exceptions.RepairWarning):
        made.fit(proba, y, classes=labels)
    decided = made.decide(proba)
    assert "and 22 more classes" in shown(decided)
    assert "and 22 more classes" in shown(decided.policy)


def test_a_metric_that_is_not_known(clinic, tmp_path):
    own = metrics.ConfusionMetric(lambda C: C[1, 1] / C.sum(), name="own")
    with pytest.warns(UserWarning, match="your own"):
        fitted(clinic, own).decide(clinic.scores_target).policy.save(tmp_path / "own.json")
    applied = Policy.load(tmp_path / "own.json").apply(clinic.scores_target)
    assert "abstain.metrics.register" in shown(applied)
    assert "abstain.metrics.register" in shown(applied.policy)


def test_nothing_is_computed_but_the_estimate(decisions, monkeypatch):
    for costly in ("proba", "prediction", "columns", "gain", "priority", "alternative"):
        monkeypatch.setattr(type(decisions), costly, property(lambda self: 1 / 0))
    shown(decisions)


@pytest.fixture(scope="module")
def evaluation(clinic, decisions):
    groups = np.where(np.arange(len(decisions)) % 3, "north", "south")
    labels = NAMES[clinic.y_target]
    return evaluate(decisions, labels, groups=groups, metrics=("accuracy",))


def test_an_evaluation(evaluation):
    text = shown(evaluation)
    assert "by group" in text
    assert "north" in text
    assert f"{evaluation.realised['accuracy'].kept:.4f}" in text
    assert "inside" in text or "outside" in text
    assert repr(evaluation).startswith("<Evaluation: sensitivity@specificity=0.9 ")


def test_several_groupings_are_named(clinic, decisions):
    ward = np.arange(len(decisions)) % 2
    found = evaluate(decisions, NAMES[clinic.y_target], groups={"ward": ward})
    assert "by ward" in shown(found)
    assert f"positive class {decisions.positive}" in shown(found)
    assert found.to_frame()["grouping"].tolist() == ["", "ward", "ward"]


def test_an_evaluation_as_a_frame(evaluation):
    frame = evaluation.to_frame()
    assert list(frame.columns)[:8] == [
        "metric", "grouping", "group", "n", "abstention_rate", "all", "kept", "withheld",
    ]  # fmt: skip
    assert frame["group"].tolist() == ["", "", "north", "north", "south", "south"]
    assert frame["metric"].tolist() == ["sensitivity@specificity=0.9", "accuracy"] * 3
    north = evaluation.groups["north"]["accuracy"]
    assert frame.iloc[3]["kept"] == north.kept
    assert frame.iloc[3]["n"] == north.n


def facts(report):
    """Return the facts but for the time of the day."""
    found = report.facts
    return {**found, "reproduce": {**found["reproduce"], "created": None}}


@pytest.fixture(scope="module")
def few():
    clinic = screening_clinic(300, 200, random_state=0)
    return clinic, fitted(clinic, "auroc").decide(clinic.scores_target)


def test_the_report_needs_no_validation_data_again(few, tmp_path):
    clinic, decisions = few
    labels = NAMES[clinic.y_val]
    passed = Report(decisions, scores_val=clinic.scores_val, y_val=labels, title="Triage")
    report = decisions.report(tmp_path / "report.html", title="Triage")
    assert facts(report) == facts(passed)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report.to_html()
    assert "<iframe" in report._repr_html_()


def test_the_report_of_an_applied_policy_says_what_is_missing(few):
    clinic, decisions = few
    found = decisions.policy.apply(clinic.scores_target).report().facts
    # The summary that a policy carries tells about as much as the rows do.
    said = decisions.report().facts["moved"]["test"]["p_value"]
    assert found["moved"]["test"]["p_value"] == pytest.approx(said, abs=0.005)
    assert found["moved"]["interval"] is not None
    assert found["trust"]["back_test"] is None
    assert "pass scores_val and y_val" in found["trust"]["reason"]
    labels = NAMES[clinic.y_val]
    applied = decisions.policy.apply(clinic.scores_target)
    whole = applied.report(scores_val=clinic.scores_val, y_val=labels).facts
    assert whole["trust"]["back_test"] is not None


def test_the_report_of_a_classifier():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    classifier = AbstainingClassifier(
        LogisticRegression(), "accuracy", budget=0.1, cv=2, calibration="platt", random_state=0
    )
    found = classifier.fit(X, y).decide(X[:200]).report().facts
    assert found["trust"]["back_test"] is not None
