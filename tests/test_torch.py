"""Logits and test-time dropout of a real network, whose every mode comes back."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra: torch)")

from abstain import Abstainer  # noqa: E402
from abstain.scores import dropout_variance  # noqa: E402
from abstain.torch import collect_logits, dropout_only, sample_predictions  # noqa: E402


@pytest.fixture
def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 16),
        torch.nn.BatchNorm1d(16),
        torch.nn.ReLU(),
        torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(16, 3)),
    )


@pytest.fixture
def inputs():
    return torch.randn(20, 4, generator=torch.Generator().manual_seed(1))


def modes(network):
    return [layer.training for layer in network.modules()]


def test_only_dropout_drops(network, inputs):
    before = {name: value.clone() for name, value in network.state_dict().items()}
    samples = sample_predictions(network, inputs, n_samples=7)
    assert samples.shape == (7, 20, 3)
    assert samples.dtype == np.float64
    assert np.ptp(samples, axis=0).min() > 0
    # Batch normalisation neither reads the batch nor learns from it.
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name])
    with dropout_only(network):
        assert [type(layer).__name__ for layer in network.modules() if layer.training] == [
            "Dropout"
        ]


def test_a_row_does_not_depend_on_its_batch(network, inputs):
    network[3][0].p = 0.0  # nothing is dropped, so draws are equal to the plain prediction
    together = sample_predictions(network, inputs, n_samples=1)[0]
    alone = sample_predictions(network, inputs[:1], n_samples=1)[0]
    assert alone[0] == pytest.approx(together[0], abs=1e-6)


@pytest.mark.parametrize("training", [True, False])
def test_every_mode_comes_back(network, inputs, training):
    network.train(training)
    network[1].eval()
    before = modes(network)
    sample_predictions(network, inputs, n_samples=2)
    assert modes(network) == before


def test_every_mode_comes_back_after_an_interruption(network, inputs):
    class Interrupting(torch.nn.Module):
        def forward(self, x):
            raise KeyboardInterrupt

    network.append(Interrupting())
    network.train()
    before = modes(network)
    with pytest.raises(KeyboardInterrupt):
        sample_predictions(network, inputs, n_samples=2)
    assert modes(network) == before


def test_a_seed_repeats_and_leaves_the_generator_alone(network, inputs):
    state = torch.random.get_rng_state()
    first = sample_predictions(network, inputs, n_samples=3, random_state=5)
    again = sample_predictions(network, inputs, n_samples=3, random_state=5)
    assert (first == again).all()
    assert torch.equal(torch.random.get_rng_state(), state)


def test_batches_are_put_together(network, inputs):
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(inputs, torch.zeros(20)), batch_size=6
    )
    assert sample_predictions(network, loader, n_samples=2).shape == (2, 20, 3)
    assert sample_predictions(network, (inputs,), n_samples=2).shape == (2, 20, 3)


def test_the_mean_of_many_draws_is_near_the_prediction(network, inputs):
    network.eval()
    with torch.no_grad():
        plain = network(inputs).numpy()
    # The layer after the dropout is linear, so the mean over draws is unbiased.
    mean = sample_predictions(network, inputs, n_samples=4_000, random_state=0).mean(axis=0)
    assert mean == pytest.approx(plain, abs=0.1)


def test_the_whole_flow(network, inputs):
    samples = sample_predictions(network, inputs, n_samples=30, random_state=0)
    scores = samples.mean(axis=0)
    y = scores.argmax(axis=1)
    y[:4] = (y[:4] + 1) % 3
    abstainer = Abstainer(
        "accuracy",
        budget=0.25,
        score="dropout-variance",
        calibration="temperature",
        shift="none",
        scale="logits",
        random_state=0,
    )
    decisions = abstainer.fit(scores, y, classes=[0, 1, 2]).decide(scores, score_samples=samples)
    proba = [abstainer.calibrator_.predict_proba(sample) for sample in samples]
    assert decisions.abstain.sum() == 5
    variance = dropout_variance(proba)
    assert variance[decisions.abstain].min() > variance[~decisions.abstain].max()


def test_errors(network, inputs):
    with pytest.raises(ValueError, match="no dropout layer"):
        sample_predictions(torch.nn.Linear(4, 2), inputs)
    with pytest.raises(ValueError, match="`n_samples` must be at least 1"):
        sample_predictions(network, inputs, n_samples=0)


def loader_of(inputs, *others, batch_size=6):
    return torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(inputs, *others), batch_size=batch_size
    )


def test_logits_are_those_of_evaluation(network, inputs):
    network.train()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    logits, labels = collect_logits(network, loader_of(inputs, torch.arange(20)))
    network.eval()
    with torch.no_grad():
        assert logits == pytest.approx(network(inputs).numpy(), abs=1e-6)
    assert logits.dtype == np.float64
    assert labels.tolist() == list(range(20))
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name])


def test_labels_are_optional(network, inputs):
    for batches in (loader_of(inputs), [inputs], iter([inputs[:9], inputs[9:]])):
        logits, labels = collect_logits(network, batches, device="cpu")
        assert logits.shape == (20, 3)
        assert labels is None


def test_one_column_is_the_logit_of_the_positive_class(inputs):
    logits, _ = collect_logits(torch.nn.Linear(4, 1).to(torch.bfloat16), [inputs.bfloat16()])
    assert logits.shape == (20,)
    bare, _ = collect_logits(torch.nn.Flatten(), [inputs])
    assert (bare == inputs.double().numpy()).all()


def test_collecting_restores_modes_also_after_an_interruption(network, inputs):
    network.train()
    network[1].eval()
    before = modes(network)
    collect_logits(network, [inputs])
    assert modes(network) == before

    def interrupted():
        yield inputs
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect_logits(network, interrupted())
    assert modes(network) == before
    assert torch.is_grad_enabled()


def test_progress_goes_to_stderr_and_only_if_asked(network, inputs, capsys):
    collect_logits(network, loader_of(inputs), progress=True)
    shown = capsys.readouterr()
    assert "logits [" in shown.err
    assert "3/4" in shown.err
    assert not shown.out
    collect_logits(network, loader_of(inputs))
    assert not capsys.readouterr().err


def test_loaders_that_cannot_be_read(network, inputs):
    with pytest.raises(ValueError, match="`loader` gave no batch"):
        collect_logits(network, [])
    with pytest.raises(ValueError, match="1 of 2 batches have them"):
        collect_logits(network, [(inputs, torch.zeros(20)), inputs])
    with pytest.raises(ValueError, match="got 3 parts"):
        collect_logits(network, [(inputs, inputs, inputs)])


def test_tensors_are_taken_everywhere(network, inputs):
    network.eval()
    logits = network(inputs)  # with a gradient, as a model gives it
    labels = logits.argmax(dim=1)
    abstainer = Abstainer(
        "accuracy", budget=0.2, calibration="temperature", scale="logits", random_state=0
    )
    by_tensor = abstainer.fit(logits, labels, classes=[0, 1, 2]).decide(logits)
    arrays = logits.detach().numpy(), labels.numpy()
    by_array = abstainer.fit(*arrays, classes=[0, 1, 2]).decide(arrays[0])
    assert (by_tensor.abstain == by_array.abstain).all()
    assert (by_tensor.proba == by_array.proba).all()
