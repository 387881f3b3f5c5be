"""Validation data that are not what they are taken for: what sceptics try first."""

import numpy as np
import pytest

from abstain import Abstainer


def cases(n, share, rng):
    y = (rng.random(n) < share).astype(int)
    return rng.normal(size=n) + 1.8 * y - 2, y


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    return *cases(1_200, 0.2, rng), cases(800, 0.3, rng)[0]


def said(scores_val, y_val, scores, metric="auroc", **options):
    abstainer = Abstainer(metric, budget=0.1, scale="logits", random_state=0, **options)
    return " ".join(abstainer.fit(scores_val, y_val).decide(scores).assumption.doubts)


def test_nothing_is_said_of_what_is_as_it_should_be(data):
    scores_val, y_val, scores = data
    assert said(scores_val, y_val, scores) == ""
    # Rounded scores repeat, and that is no copy.
    assert said(scores_val.round(1), y_val, scores.round(1)) == ""


def test_labels_of_other_rows(data):
    scores_val, y_val, scores = data
    shuffled = np.random.default_rng(0).permutation(y_val)
    found = said(scores_val, shuffled, scores)
    assert "hardly predict the labels of the validation rows (auROC 0." in found
    assert "joined correctly" in found


def test_scores_that_are_the_wrong_way_round_in_both_files(data):
    scores_val, y_val, scores = data
    assert "rows of class 1 have the lower scores (auROC 0.0" in said(-scores_val, y_val, -scores)


def test_rows_that_are_there_several_times(data):
    scores_val, y_val, scores = data
    found = said(np.tile(scores_val, 10), np.tile(y_val, 10), scores)
    assert "there 10 times" in found
    assert "12,000 labels and not 1,200" in found


def test_one_file_as_both(data):
    scores_val, y_val, _ = data
    rng = np.random.default_rng(1)
    assert "The batch is the validation data" in said(
        scores_val, y_val, rng.permutation(scores_val)
    )


def test_a_model_that_knew_the_validation_rows(data):
    """Its scores tell them apart without error, and are far less certain of new rows."""
    _, y_val, scores = data
    learnt = np.where(y_val == 1, 4.0, -4.0) + np.random.default_rng(2).normal(size=len(y_val)) / 4
    assert "trained on the validation rows?" in said(learnt, y_val, scores)


def test_labels_of_other_rows_of_many_classes():
    rng = np.random.default_rng(4)
    proba = rng.dirichlet(np.full(4, 0.3), 1_000)
    y = np.array([rng.choice(4, p=row) for row in proba])
    logits = np.log(proba + 1e-9)
    parts = logits[:600], logits[600:]
    assert "hardly predict" not in said(parts[0], y[:600], parts[1], "accuracy")
    shuffled = said(parts[0], rng.permutation(y[:600]), parts[1], "accuracy")
    assert "hardly predict the labels" in shuffled
    assert "by chance" in shuffled
