"""Simulators with known answers, and the data of the demo."""

from __future__ import annotations

from abstain.datasets._clinic import ScreeningClinic as ScreeningClinic
from abstain.datasets._clinic import screening_clinic
from abstain.datasets._simulations import Simulation as Simulation
from abstain.datasets._simulations import simulate_binary_normal, simulate_four_class_normal

__all__ = [
    "screening_clinic",
    "simulate_binary_normal",
    "simulate_four_class_normal",
]
