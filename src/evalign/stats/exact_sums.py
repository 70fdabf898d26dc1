"""Means that come out bit for bit the same however the rows were split up: fixed-point sums.

A float added to floats rounds differently in every order; integers do not. Each value is rounded
once, to a multiple of 2^-80, and summed as a Python integer.
"""

from __future__ import annotations

from dataclasses import dataclass

SCALE = 80


@dataclass
class ExactSum:
    """A sum and a count that merge exactly."""

    total: int = 0
    count: int = 0

    def add(self, value: float) -> None:
        """Takes in one value."""
        numerator, denominator = value.as_integer_ratio()
        self.total += (numerator << SCALE) // denominator
        self.count += 1

    def merge(self, other: ExactSum) -> ExactSum:
        """The sum over both."""
        return ExactSum(self.total + other.total, self.count + other.count)

    @property
    def value(self) -> float:
        """The sum."""
        return self.total / (1 << SCALE)

    @property
    def mean(self) -> float:
        """The mean; 0 of nothing."""
        return self.total / (self.count << SCALE) if self.count else 0.0
