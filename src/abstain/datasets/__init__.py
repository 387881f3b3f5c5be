"""Simulators with known answers, and the data of the demo."""

from abstain.datasets._clinic import ScreeningClinic, screening_clinic
from abstain.datasets._simulations import (
    Simulation,
    simulate_binary_normal,
    simulate_four_class_normal,
)

__all__ = [
    "ScreeningClinic",
    "Simulation",
    "screening_clinic",
    "simulate_binary_normal",
    "simulate_four_class_normal",
]
