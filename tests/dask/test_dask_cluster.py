"""A real cluster of two worker processes, one of which is killed in the middle of a run."""

import os
import signal

import numpy as np
import pytest

from abstain import Abstainer
from abstain.datasets import screening_clinic

pd = pytest.importorskip("pandas")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

bridge = pytest.importorskip("abstain.dask")

N, PARTS = 9_000, 4


@pytest.fixture(scope="module")
def client():
    settings = {"distributed.worker.daemon": False, "distributed.admin.log-format": "%(message)s"}
    import dask

    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def clinic():
    return screening_clinic(600, N, random_state=0)


@pytest.fixture(scope="module")
def abstainer(clinic):
    abstainer = Abstainer(
        "sensitivity@specificity=0.9",
        budget=0.15,
        calibration="platt",
        scale="logits",
        random_state=0,
    )
    return abstainer.fit(clinic.scores_val, clinic.y_val)


def rows(scores, *, killed_once=None):
    """Return a frame whose partitions tasks make; one kills its worker the first time."""

    # Not at the top of the module, which no worker could import.
    def part(at):
        if killed_once is not None and at == PARTS // 2:
            try:
                os.close(os.open(killed_once, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        where = slice(at * N // PARTS, (at + 1) * N // PARTS)
        return pd.DataFrame({"id": np.arange(N)[where], "score": scores[where]})

    meta = pd.DataFrame({"id": np.arange(0), "score": np.empty(0)})
    return dd.from_map(part, range(PARTS), meta=meta)


def content(policy):
    return {**policy.to_dict(), "created": ""}


def test_nothing_but_one_summary_reaches_the_driver(client, clinic, abstainer, monkeypatch):
    came = []
    gather = client.gather

    def spied(futures, *args, **how):
        found = gather(futures, *args, **how)
        came.append(found)
        return found

    monkeypatch.setattr(client, "gather", spied)
    decided = bridge.decide(rows(clinic.scores_target), abstainer, scores="score")
    assert content(decided.policy) == content(
        abstainer.decide_summary(abstainer.summarise(clinic.scores_target))
    )
    [found] = came
    whole = abstainer.summarise(clinic.scores_target).to_bytes()
    assert [one.to_bytes() for one in found] == [whole]
    withheld = decided.frame["abstain"].sum().compute()
    assert withheld == decided.policy.apply(clinic.scores_target).abstain.sum()


def test_a_killed_worker_changes_nothing(client, clinic, abstainer, tmp_path):
    before = workers(client)
    frame = rows(clinic.scores_target, killed_once=str(tmp_path / "killed"))
    decided = bridge.decide(frame, abstainer, scores="score")
    assert (tmp_path / "killed").exists()
    expected = abstainer.decide_summary(abstainer.summarise(clinic.scores_target))
    assert content(decided.policy) == content(expected)
    client.wait_for_workers(2)
    assert len(before & workers(client)) == 1
    made = decided.frame.compute()
    np.testing.assert_array_equal(made["id"], np.arange(N))
    np.testing.assert_array_equal(made["abstain"], expected.apply(clinic.scores_target).abstain)


def workers(client):
    """Return the numbers of the worker processes."""
    return {*client.run(os.getpid).values()}
