"""PyTorch: a small network learns digits, and hands the doubtful ones to a person.

Run it with: python examples/pytorch_digits.py
"""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from abstain import Abstainer
from abstain.torch import collect_logits

EPOCHS = 6


def loaders():
    """Split the 1,797 digits of scikit-learn, 8 by 8 pixels each."""
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images / 16, dtype=torch.float32).reshape(-1, 1, 8, 8)
    # A pinch of noise makes the task a little harder than it is.
    images += 0.35 * torch.randn(images.shape)
    order = torch.randperm(len(images))
    train, validation, target = (
        TensorDataset(images[rows], torch.tensor(labels)[rows]) for rows in order.split(600)
    )
    return (
        DataLoader(train, batch_size=32, shuffle=True),
        DataLoader(validation, batch_size=256),
        DataLoader(target, batch_size=256),
    )


def trained(train):
    """Train a convolutional network for a few seconds."""
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten(),
        nn.Dropout(0.2), nn.Linear(32 * 4 * 4, 10),
    )  # fmt: skip
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(EPOCHS):
        for images, labels in train:
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimiser.step()
    return model


def main():
    torch.manual_seed(0)
    train, validation, target = loaders()
    model = trained(train)

    # Evaluation mode, no gradients, and a progress bar where there is a terminal.
    logits_val, y_val = collect_logits(model, validation)
    logits, y = collect_logits(model, target)

    abstainer = Abstainer(
        "accuracy", budget=0.1, calibration="bcts", scale="logits", random_state=0
    )
    decisions = abstainer.fit(logits_val, y_val).decide(logits)

    right = decisions.prediction == y
    print(f"accuracy of all {len(y)} digits:   {np.mean(right):.3f}")
    print(f"accuracy of the kept, expected: {decisions.estimate.after}")
    print(f"accuracy of the kept, realised: {np.mean(right[~decisions.abstain]):.3f}")
    print(f"mistakes caught: {np.sum(~right & decisions.abstain)} of {np.sum(~right)}")


if __name__ == "__main__":
    main()
