"""What many numbers come to, in five: how many, their mean, their spread, the least and the greatest.

Parts are merged by the rule of Chan, Golub and LeVeque: nothing is ever squared that was not first taken
relative to a mean. ``Fold`` merges parts of like size, so that rounding grows with the logarithm of their
number; it keeps as many parts as that number has binary digits.

However numbers are divided into parts, and in whatever order these come, count, least and greatest are
the same to the last bit. So are the mean and the standard deviation to 1e-12, relative to themselves, as long
as they are not many digits smaller than the numbers.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from shoal.wire.results import ChunkMoments, JobMoments


@dataclass(frozen=True)
class Moments:
    """``m2`` is the sum of the squared distances from the mean."""

    count: int
    mean: float
    m2: float
    least: float
    greatest: float

    @property
    def deviation(self) -> float:
        """The standard deviation of these numbers: of them all, not of a sample."""
        return math.sqrt(self.m2 / self.count) if self.count else 0.0

    def merged(self, other: "Moments") -> "Moments":
        """The moments of both parts together."""
        if not self.count or not other.count:
            return self if self.count else other
        count = self.count + other.count
        distance = other.mean - self.mean
        least, greatest = min(self.least, other.least), max(self.greatest, other.greatest)
        mean = self.mean + distance * (other.count / count)
        m2 = self.m2 + other.m2 + distance * distance * (self.count * (other.count / count))
        return Moments(count, _between(least, mean, greatest), m2, least, greatest)


NOTHING = Moments(0, 0.0, 0.0, math.inf, -math.inf)


class Fold:
    """Parts that are merged as they come."""

    def __init__(self) -> None:
        self._parts: dict[int, Moments] = {}

    def add(self, part: Moments) -> None:
        """Merge it with the part of its size, and what comes of that with the next, as a carry does."""
        size = 0
        while (like := self._parts.pop(size, None)) is not None:
            part = like.merged(part)
            size += 1
        self._parts[size] = part

    def total(self) -> Moments:
        total = NOTHING
        for size in sorted(self._parts):
            total = total.merged(self._parts[size])
        return total


def moments_of(values: Iterable[float]) -> Moments:
    """Of numbers, their sums rounded once, at the end."""
    numbers = [float(value) for value in values]
    if not numbers:
        return NOTHING
    least, greatest = min(numbers), max(numbers)
    mean = _between(least, math.fsum(numbers) / len(numbers), greatest)
    m2 = math.fsum((number - mean) ** 2 for number in numbers)
    return Moments(len(numbers), mean, m2, least, greatest)


def chunk_moments(moments: Moments) -> ChunkMoments:
    """As a node reports it."""
    return ChunkMoments(
        mean_dps=moments.mean,
        std_dps=moments.deviation,
        min_dps=moments.least,
        max_dps=moments.greatest,
        iterations=moments.count,
    )


def job_moments(moments: Moments) -> JobMoments:
    """As the result of a job says it."""
    return JobMoments(
        mean_dps=moments.mean,
        std_dps=moments.deviation,
        min_dps=moments.least,
        max_dps=moments.greatest,
        total_iterations=moments.count,
    )


def moments_in(result: ChunkMoments) -> Moments:
    """What a reported result says, which was found valid before."""
    return Moments(
        count=result.iterations,
        mean=result.mean_dps,
        m2=result.std_dps * result.std_dps * result.iterations,
        least=result.min_dps,
        greatest=result.max_dps,
    )


def _between(least: float, value: float, greatest: float) -> float:
    """Rounding may carry a mean past the numbers it is the mean of."""
    return min(max(value, least), greatest)
