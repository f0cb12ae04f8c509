"""Repetitions of one measurement, and their spread."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Samples:
    values: Sequence[float]

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError("nothing was measured")

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def least(self) -> float:
        return min(self.values)

    @property
    def most(self) -> float:
        return max(self.values)

    @property
    def figure(self) -> float:
        """The median with three significant digits more than a machine repeats."""
        return float(f"{self.median:.6g}")
