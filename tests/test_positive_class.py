"""Which class is positive: told by whom, in which order, and asked for where nobody tells."""

import json

import numpy as np
import pytest

import abstain
from abstain import Abstainer, AbstainingClassifier, Cost, Policy
from abstain.calibration import PlattScaling, log_loss
from abstain.classifier import abstention_scorer
from abstain.datasets import screening_clinic
from abstain.evaluation import Dataset, compare, evaluate
from abstain.metrics import ConfusionMetric, SampledMetric, get
from abstain.shift import KnownPriors

N = 400
LABELS = {
    "0/1": [0, 1],
    "0./1.": [0.0, 1.0],
    "-1/1": [-1, 1],
    "bool": [False, True],
    "1/2": [1, 2],
    "text": ["healthy", "cancer"],
    "digits as text": ["0", "1"],
}
TOLD = {"0/1": 1, "0./1.": 1, "-1/1": 1, "bool": True}
HOW = {"budget": 0.1, "calibration": "platt", "shift": "em", "random_state": 0}


@pytest.fixture(scope="module")
def clinic():
    return screening_clinic(N, N, random_state=0)


@pytest.fixture(scope="module")
def p(clinic):
    return 1 / (1 + np.exp(-clinic.scores_val)), 1 / (1 + np.exp(-clinic.scores_target))


def forms(p, labels, form):
    """Return scores of the second label in one of the forms that they come in."""
    pandas = pytest.importorskip("pandas")
    negative, positive = labels
    one, two = p, np.column_stack([1 - p, p])
    by_order = two[:, np.argsort(np.array([str(label) for label in labels]))]
    if not isinstance(negative, str):
        by_order = two
    return {
        "array": one,
        "two columns": by_order,
        "frame": pandas.DataFrame({f"p_{negative}": 1 - p, f"p_{positive}": p}),
        "unnamed column": pandas.DataFrame({"score": p}),
        "number for a name": pandas.DataFrame({0: p}),
        "named column": pandas.DataFrame({"id": range(len(p)), f"p_{positive}": p}),
        "named without prefix": pandas.DataFrame({"id": range(len(p)), f"{positive}": p}),
        "series": pandas.Series(p, name=f"p_{positive}"),
    }[form]


NAMED = {"named column", "named without prefix", "series"}
SINGLE = NAMED | {"array", "unnamed column", "number for a name"}


@pytest.mark.parametrize("metric", ["accuracy", "auroc", "f1:macro", "f1", "net-benefit=0.2"])
@pytest.mark.parametrize("form", [*sorted(SINGLE), "two columns", "frame"])
@pytest.mark.parametrize("kind", LABELS)
def test_who_tells_the_positive_class(clinic, p, kind, form, metric):
    labels = LABELS[kind]
    y = np.array(labels)[clinic.y_val][:60]
    abstainer = Abstainer(metric, budget=0.1, calibration="identity")
    scores = forms(p[0][:60], labels, form)
    known = labels[1] if form in NAMED else TOLD.get(kind)
    needed = form in SINGLE or get(metric).of_positive
    if known is None and needed:
        with pytest.raises(ValueError, match="nothing says which of") as caught:
            abstainer.fit(scores, y)
        said = str(caught.value)
        assert all(f"positive={json.dumps(label)}" in said for label in labels)
        assert (f"name the score column p_{sorted(labels)[0]}" in said) == (form in SINGLE)
        return
    abstainer.fit(scores, y)
    assert abstainer.positive_ == known
    if known is not None:
        assert abstainer.classes_.tolist() == labels
    told = abstainer.set_params(positive=labels[1]).fit(scores, y)
    assert told.positive_ == labels[1]
    assert told.classes_.tolist() == labels


@pytest.mark.parametrize(
    ("name", "depends"),
    [
        ("accuracy", False),
        ("balanced-accuracy", False),
        ("mcc", False),
        ("kappa:quadratic", False),
        ("auroc", False),
        ("cost:[[0,1],[5,0]]", False),
        ("f1:macro", False),
        ("recall:weighted", False),
        ("f1", True),
        ("fbeta:2", True),
        ("precision", True),
        ("recall", True),
        ("jaccard", True),
        ("average-precision", True),
        ("precision@recall=0.9", True),
        ("recall@precision=0.9", True),
        ("sensitivity@specificity=0.9", True),
        ("specificity@sensitivity=0.9", True),
        ("net-benefit=0.2", True),
    ],
)
def test_a_metric_knows_whether_it_depends_on_the_positive_class(name, depends):
    assert get(name).of_positive is depends
    p = np.array([0.1, 0.3, 0.35, 0.6, 0.8, 0.55])
    y = np.array([0, 1, 0, 1, 1, 0])
    if not name.startswith("cost"):
        mirrored = get(name).observed(1 - y, 1 - p)
        assert depends or get(name).observed(y, p) == pytest.approx(mirrored)


def test_own_functions_may_depend_on_it():
    assert ConfusionMetric(np.trace).of_positive
    assert SampledMetric(max).of_positive


def test_partial_auroc_depends_on_it():
    from abstain.metrics import PartialAUROC

    assert PartialAUROC(0.1).of_positive


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"target": {"sensitivity": 0.8, "specificity": 0.6}}, "`target` 'sensitivity'"),
        ({"budget": 0.1, "shift": KnownPriors(0.2)}, "`shift` has one proportion"),
        (
            {"target": 0.6, "confidence": 0.8, "prior_range": (0.1, 0.4)},
            "`prior_range` is a pair of numbers",
        ),
    ],
)
def test_other_things_need_it_too(clinic, p, parameters, what):
    y = np.array(["healthy", "cancer"])[clinic.y_val]
    two = np.column_stack([p[0], 1 - p[0]])
    with pytest.raises(ValueError, match=what):
        Abstainer("accuracy", **parameters).fit(two, y)
    fitted = Abstainer("accuracy", **parameters, positive="cancer").fit(two, y)
    assert fitted.classes_.tolist() == ["healthy", "cancer"]


def test_what_positive_may_be(clinic, p):
    y = np.array(["healthy", "cancer"])[clinic.y_val]
    with pytest.raises(
        ValueError, match=r"one of the two classes, 'cancer' or 'healthy'; got 'Can"
    ):
        Abstainer("f1", **HOW, positive="Cancer").fit(p[0], y)
    rng = np.random.default_rng(0)
    three = rng.dirichlet(np.ones(3), size=90)
    with pytest.raises(ValueError, match=r"`positive` is for two classes; there are 3.*f1:macro"):
        Abstainer("f1:macro", budget=0.1, positive=2).fit(three, np.arange(90) % 3)
    fitted = Abstainer("f1:macro", budget=0.1, calibration="platt", positive="a")
    assert fitted.fit(p[0], np.array(["b", "a"])[clinic.y_val]).positive_ == "a"


def test_given_classes_end_with_the_positive_one(clinic, p):
    y = np.array(["healthy", "cancer"])[clinic.y_val]
    two = np.column_stack([1 - p[0], p[0]])
    names = ["healthy", "cancer"]
    last = Abstainer("f1", **HOW).fit(two, y, classes=names)
    assert last.positive_ == "cancer"
    other = Abstainer("f1", **HOW, positive="healthy").fit(two, y, classes=names)
    assert other.positive_ == "healthy"
    assert other.order_.columns.tolist() == names
    one = other.decide(1 - p[1])
    np.testing.assert_allclose(
        one.proba, other.decide(np.column_stack([1 - p[1], p[1]])).proba, atol=1e-7
    )


METRICS = ["sensitivity@specificity=0.9", "f1", "cost:[[0,1],[5,0]]"]


@pytest.mark.parametrize("metric", METRICS)
def test_text_labels_give_the_figures_of_numbers_exactly(clinic, p, metric, tmp_path):
    names = np.array(["healthy", "cancer"])
    two = [np.column_stack([q, 1 - q]) for q in p]  # cancer before healthy, as sorted
    numbers = [np.column_stack([1 - q, q]) for q in p]
    numbered = Abstainer(metric, **HOW).fit(numbers[0], clinic.y_val)
    named = Abstainer(metric, **HOW, positive="cancer").fit(two[0], names[clinic.y_val])
    expected, found = numbered.decide(numbers[1]), named.decide(two[1])

    def same(one, other):
        np.testing.assert_array_equal(one.proba, other.proba)
        np.testing.assert_array_equal(one.abstain, other.abstain)
        np.testing.assert_array_equal(one.prediction, names[other.prediction])
        assert one.estimate == other.estimate
        assert (one.positive, other.positive) == ("cancer", 1)

    same(found, expected)
    found.policy.save(tmp_path / "policy.json")
    loaded = Policy.load(tmp_path / "policy.json")
    assert loaded.positive == "cancer"
    assert loaded.columns.tolist() == ["cancer", "healthy"]
    same(loaded.apply(two[1]), expected.policy.apply(numbers[1]))
    recent = slice(0, N, 2)
    adapted = loaded.adapt(two[1][recent])
    other = expected.policy.adapt(numbers[1][recent])
    np.testing.assert_array_equal(adapted.priors, other.priors)
    same(adapted.apply(two[1]), other.apply(numbers[1]))
    truth = evaluate(found, names[clinic.y_target], metrics=["recall", "auroc"])
    assert (
        truth.realised == evaluate(expected, clinic.y_target, metrics=["recall", "auroc"]).realised
    )


def test_estimates_are_those_of_numbers_exactly(clinic, p):
    names = np.array(["healthy", "cancer"])
    how = {"calibration": "platt", "shift": "em", "random_state": 0}
    wanted = ["f1", "sensitivity@specificity=0.9", "accuracy"]
    expected = abstain.estimate(p[0], clinic.y_val, p[1], wanted, **how)
    two = [np.column_stack([q, 1 - q]) for q in p]
    found = abstain.estimate(two[0], names[clinic.y_val], two[1], wanted, positive="cancer", **how)
    assert found.values.keys() == expected.values.keys()
    for name in wanted:
        assert found[name].value == pytest.approx(expected[name].value, abs=1e-12)
    assert found.positive == found.to_dict()["positive"] == "cancer"
    assert "positive class cancer" in repr(found)
    assert "Positive class: cancer" in str(found)
    with pytest.raises(ValueError, match=r"`metrics` 'f1' is of the positive class.*\"cancer\""):
        abstain.estimate(two[0], names[clinic.y_val], two[1], wanted, **how)
    with pytest.raises(ValueError, match="`shift` has one proportion"):
        abstain.estimate(two[0], names[clinic.y_val], two[1], "accuracy", shift=KnownPriors(0.1))


@pytest.mark.parametrize("metric", METRICS)
def test_onnx_takes_columns_as_the_policy_does(clinic, p, metric):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    names = np.array(["healthy", "cancer"])
    two = [np.column_stack([q, 1 - q]).astype(np.float32) for q in p]
    fitted = Abstainer(metric, **HOW, positive="cancer").fit(two[0], names[clinic.y_val])
    policy = fitted.decide(two[1]).policy
    expected = policy.apply(two[1])

    def run(model, scores):
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        return session.run(None, {"scores": scores})

    proba, prediction, withheld = run(policy.to_onnx(), two[1])
    np.testing.assert_allclose(proba, expected.proba, atol=1e-6)
    np.testing.assert_array_equal(prediction, expected.prediction)
    np.testing.assert_array_equal(withheld, expected.abstain)
    single = run(policy.to_onnx(columns=1), two[1][:, :1])
    np.testing.assert_allclose(single[0], expected.proba, atol=1e-5)


def test_without_a_positive_class_one_score_is_of_neither(clinic, p):
    y = np.array(["healthy", "cancer"])[clinic.y_val]
    two = [np.column_stack([q, 1 - q]) for q in p]
    decisions = Abstainer("accuracy", **HOW).fit(two[0], y).decide(two[1])
    policy = Policy.from_dict(decisions.policy.to_dict())
    assert (decisions.positive, policy.positive) == (None, None)
    assert "positive" not in repr(decisions) + repr(policy)
    for call in (policy.apply, policy.predict_proba, policy.adapt):
        with pytest.raises(ValueError, match=r"one dimension.*p_cancer or p_healthy"):
            call(p[1])
    with pytest.raises(ValueError, match="`metrics` 'recall' is of the positive class"):
        evaluate(decisions, np.array(["healthy", "cancer"])[clinic.y_target], metrics="recall")
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match="`columns` is 1"):
        policy.to_onnx(columns=1)
    pandas = pytest.importorskip("pandas")
    named = policy.apply(pandas.DataFrame({"p_cancer": p[1]}))
    np.testing.assert_allclose(named.proba, decisions.policy.apply(two[1]).proba, rtol=1e-12)


def test_policies_of_before_have_the_last_class_positive(clinic, p):
    decisions = Abstainer("f1", **HOW).fit(p[0], clinic.y_val).decide(p[1])
    data = decisions.policy.to_dict()
    assert (data["positive"], data["columns"]) == (1, [0, 1])
    old = {key: value for key, value in data.items() if key not in ("positive", "columns")}
    policy = Policy.from_dict({**old, "schema_version": 1})
    assert policy.positive == 1
    assert policy.columns.tolist() == [0, 1]
    np.testing.assert_array_equal(policy.apply(p[1]).abstain, decisions.abstain)
    for wrong in ({"positive": 0}, {"columns": [0, 2]}):
        with pytest.raises(abstain.exceptions.PolicyError, match="not consistent"):
            Policy.from_dict({**data, **wrong})


def test_representations_name_it(clinic, p):
    abstainer = Abstainer("f1", budget=0.1, calibration="platt", random_state=0)
    assert (
        repr(abstainer)
        == "Abstainer(budget=0.1, calibration='platt', metric='f1', random_state=0)"
    )
    decisions = abstainer.fit(p[0], clinic.y_val).decide(p[1])
    assert "positive=1" in repr(abstainer)
    assert abstainer.positive is None
    assert repr(decisions).endswith("metric f1, positive class 1>")
    assert "2 classes, positive class 1, metric f1" in repr(decisions.policy)


@pytest.fixture(scope="module")
def classified():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.4).astype(int)
    return rng.normal(size=(300, 3)) + y[:, None], y


@pytest.mark.parametrize("scores", ["predict_proba", "decision_function"])
@pytest.mark.parametrize("positive", ["cancer", "healthy"])
def test_the_classifier_keeps_the_order_of_scikit_learn(classified, scores, positive):
    from sklearn.linear_model import LogisticRegression, RidgeClassifier

    X, y = classified
    names = np.array(["healthy", "cancer"])[y]
    model = LogisticRegression() if scores == "predict_proba" else RidgeClassifier()
    how = {"budget": 0.1, "calibration": "platt", "random_state": 0}
    metric = "sensitivity@specificity=0.9"
    named = AbstainingClassifier(model, metric, positive=positive, **how).fit(X, names)
    numbered = AbstainingClassifier(model, metric, **how).fit(X, (names == positive).astype(int))
    assert named.classes_.tolist() == ["cancer", "healthy"]
    assert named.positive_ == positive
    place = named.classes_.tolist().index(positive)
    np.testing.assert_allclose(
        named.predict_proba(X)[:, place], numbered.predict_proba(X)[:, 1], atol=1e-9
    )
    np.testing.assert_array_equal(named.abstains(X), numbered.abstains(X))
    assert named.score(X, names) == pytest.approx(numbered.score(X, names == positive), abs=1e-12)
    np.testing.assert_array_equal(named.predict(X) == positive, numbered.predict(X) == 1)
    with pytest.raises(ValueError, match=r"Pass positive=\"cancer\" or positive=\"healthy\"\.$"):
        AbstainingClassifier(model, metric, **how).fit(X, names)


def test_the_scorer_takes_it_from_the_estimator_or_asks(classified):
    from sklearn.linear_model import LogisticRegression

    X, y = classified
    names = np.array(["healthy", "cancer"])[y]
    model = LogisticRegression().fit(X, names)
    expected = abstention_scorer("f1", 0.1)(LogisticRegression().fit(X, y), X, y)
    assert abstention_scorer("f1", 0.1, positive="cancer")(model, X, names) == pytest.approx(
        expected
    )
    with pytest.raises(ValueError, match="`metric` 'f1' is of the positive class"):
        abstention_scorer("f1", 0.1)(model, X, names)
    how = {"budget": 0.1, "calibration": "identity", "positive": "cancer"}
    own = AbstainingClassifier(LogisticRegression(), "f1", **how).fit(X, names)
    assert np.isfinite(abstention_scorer("f1", 0.1)(own, X, names))


def test_comparisons_ask_for_it(clinic, p):
    names = np.array(["healthy", "cancer"])
    y = names[clinic.y_val], names[clinic.y_target]

    def table(metric, *data, **options):
        dataset = Dataset(data[0], y[0], data[1], y[1], **options)
        how = {"repeats": 2, "calibration": "platt", "progress": False}
        return compare(["delta-metric"], dataset, metric, [0.1], **how).cells

    with pytest.raises(ValueError, match="`scores_val` has one dimension"):
        table("accuracy", *p)
    two = [np.column_stack([q, 1 - q]) for q in p]
    with pytest.raises(ValueError, match="`metric` 'f1' is of the positive class"):
        table("f1", *two)
    one = table("f1", *p, positive="cancer")
    assert [cell.values for cell in one] == [
        cell.values for cell in table("f1", *two, positive="cancer")
    ]


def test_what_takes_classes_asks_for_these(clinic, p):
    y = np.array(["healthy", "cancer"])[clinic.y_val]
    for call in (
        lambda **how: PlattScaling().fit(p[0], y, **how),
        lambda **how: log_loss(y, p[0], **how),
    ):
        with pytest.raises(
            ValueError, match=r"classes=\['cancer', 'healthy'\], the positive class l"
        ):
            call()
        call(classes=["healthy", "cancer"])
    assert log_loss(y, p[0], classes=["healthy", "cancer"]) == log_loss(clinic.y_val, p[0])
    f1 = get("f1")
    with pytest.raises(
        ValueError, match=r"pass classes=\[...\] if that is wrong, the positive clas"
    ):
        f1.observed(y, p[0])
    assert f1.observed(y, p[0], classes=["healthy", "cancer"]) == f1.observed(clinic.y_val, p[0])


def test_costs_are_in_the_order_of_the_classes(clinic, p):
    """A missed cancer costs 50, a false alarm 1: the matrix is [negative, positive]."""
    names = np.array(["healthy", "cancer"])
    two = [np.column_stack([q, 1 - q]) for q in p]
    errors = np.array([[0, 1], [50, 0]])
    how = {"calibration": "platt", "shift": "em", "random_state": 0}
    told = Abstainer("accuracy", cost=Cost(0.3, errors=errors), positive="cancer", **how)
    told = told.fit(two[0], names[clinic.y_val]).decide(two[1])
    by_labels = Abstainer("accuracy", cost=Cost(0.3, errors=errors.T[::-1, ::-1].T), **how)
    by_labels = by_labels.fit(two[0], names[clinic.y_val]).decide(two[1])
    np.testing.assert_array_equal(told.abstain, by_labels.abstain)
    np.testing.assert_array_equal(told.prediction, by_labels.prediction)
    assert (told.prediction[~told.abstain] == "cancer").any()


def test_draws_of_dropout_come_in_the_same_order(clinic, p):
    y = np.array(["healthy", "cancer"])[clinic.y_val]
    two = [np.column_stack([q, 1 - q]) for q in p]
    rng = np.random.default_rng(0)
    noise = [np.clip(p[1] + 0.1 * rng.normal(size=N), 0, 1) for _ in range(4)]
    how = {**HOW, "score": "dropout-variance", "positive": "cancer"}
    fitted = Abstainer("f1", **how).fit(two[0], y)
    one = fitted.decide(p[1], score_samples=noise)
    pair = fitted.decide(two[1], score_samples=[np.column_stack([q, 1 - q]) for q in noise])
    np.testing.assert_allclose(one.values, pair.values, atol=1e-12)
