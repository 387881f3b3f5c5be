"""Metrics by name, there and back."""

import re

import numpy as np
import pytest

from abstain import metrics
from abstain.metrics import ConfusionMetric, ExpectedCost


@pytest.fixture
def own_metric(forget):
    metric = ConfusionMetric(lambda C: C[1, 1] / C.sum(), name="share-of-hits")
    metrics.register(metric)
    return metric


@pytest.mark.parametrize(
    "name",
    [
        "accuracy",
        "balanced-accuracy",
        "error-rate",
        "f1",
        "f1:macro",
        "fbeta:2",
        "fbeta:0.5:weighted",
        "jaccard:micro",
        "kappa",
        "kappa:linear",
        "kappa:quadratic",
        "mcc",
        "brier",
        "log-loss",
        "precision",
        "recall:macro",
        "top-k=3",
        "sensitivity@specificity=0.99",
        "auroc",
    ],
)
def test_names_there_and_back(name):
    metric = metrics.get(name)
    assert metric.name == name
    assert metrics.from_dict(metric.to_dict()).name == name
    assert repr(metric) == f"<metric {name}>"


def test_cost_from_a_file_and_back_without_it(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text("0,1\n10,0\n")
    metric = metrics.get(f"cost:{path}")
    assert isinstance(metric, ExpectedCost)
    path.unlink()
    restored = metrics.from_dict(metric.to_dict())
    np.testing.assert_array_equal(restored.costs, [[0, 1], [10, 0]])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("kapa:quadratic", "Did you mean 'kappa:quadratic'"),
        ("acuracy", "Did you mean 'accuracy'"),
        ("zzz", "is not known. Known: "),
        ("fbeta", 'needs a number, as in "fbeta:2"'),
        ("fbeta:big", 'needs a number, as in "fbeta:2"'),
        ("f1:mean", "`average` must be one of"),
        ("top-k", 'as in "top-k=3"'),
        ("top-k=0", "`k` must be a whole number of at least 1"),
        ("cost", 'as in "cost:FILE"'),
        ("mcc:2", "takes no argument"),
    ],
)
def test_messages(name, message):
    with pytest.raises(ValueError, match=message):
        metrics.get(name)


@pytest.mark.parametrize(
    ("name", "proposed"),
    [
        ("sensitivity", ["sensitivity@specificity=0.9", "recall"]),
        ("Sensitivty", ["sensitivity@specificity=0.9", "recall"]),
        ("sensitivity@0.9", ["sensitivity@specificity=0.9", "recall"]),
        ("specificity", ["specificity@sensitivity=0.9"]),
        ("recall@fpr=0.1", ["sensitivity@specificity=0.9"]),
        ("auc", ["auroc"]),
        ("roc_auc", ["auroc"]),
        ("ROC-AUC", ["auroc"]),
        ("ppv", ["precision", "precision@recall=0.9"]),
        ("kappa_quadratic", ["kappa:quadratic"]),
        ("qwk", ["kappa:quadratic"]),
        ("MCC", ["mcc"]),
        ("f1_score", ["f1"]),
        ("balanced_accuracy", ["balanced-accuracy"]),
        ("average_precision", ["average-precision"]),
        ("pr-auc", ["average-precision"]),
        ("top-5", ["top-k=5"]),
    ],
)
def test_what_a_metric_is_called_elsewhere_is_proposed(name, proposed):
    said = " or ".join(map(repr, proposed))
    with pytest.raises(ValueError, match=re.escape(f"Did you mean {said}?")):
        metrics.get(name)


def test_everything_proposed_is_known(tmp_path):
    from abstain.metrics._names import KNOWN_AS

    (tmp_path / "costs.csv").write_text("0,1\n1,0\n")
    for proposed, words in KNOWN_AS.items():
        for one in proposed.split():
            metrics.get(one.replace("FILE", str(tmp_path / "costs.csv")))
        for name in words.split():
            assert name == name.lower().replace("_", "-")
            with pytest.raises(ValueError, match="Did you mean"):
                metrics.get(name)


def test_messages_for_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        metrics.get(f"cost:{tmp_path / 'none.csv'}")
    (tmp_path / "words.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="must hold numbers separated by commas"):
        metrics.get(f"cost:{tmp_path / 'words.csv'}")


def test_every_summary_says_something():
    names = [name for name, _ in metrics.summaries()]
    assert {"accuracy", "kappa:quadratic", "cost:FILE"} <= set(names)
    assert all(text for _, text in metrics.summaries())


def test_own_metric_is_known_by_name(own_metric):
    assert metrics.get("share-of-hits") is own_metric
    assert metrics.from_dict(own_metric.to_dict()) is own_metric
    assert ("share-of-hits", "yours") in metrics.summaries()


def test_registering_what_cannot_be():
    with pytest.raises(ValueError, match="taken by a built-in metric"):
        metrics.register(ConfusionMetric(np.trace, name="kappa"))
    with pytest.raises(TypeError, match="must be a Metric"):
        metrics.register("kappa")
    with pytest.raises(TypeError, match="a name or a Metric"):
        metrics.get(3)
