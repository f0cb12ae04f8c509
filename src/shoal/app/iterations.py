"""The range of iterations an engine is asked for."""

from collections.abc import Iterator
from dataclasses import dataclass

from shoal.runtime.errors import Invalid

LARGEST = 2**53
"""Numbers travel as JSON, and through programs whose every number is a double."""


@dataclass(frozen=True)
class Iterations:
    """``count`` iterations of a job, from the number ``first`` on. Iterating gives their numbers.

    ``seed`` belongs to the job: with the number of an iteration it decides all that is random in it.
    """

    seed: int
    first: int
    count: int

    def __post_init__(self) -> None:
        if not (0 <= self.seed < LARGEST and self.first >= 0 and self.count >= 0 and self.end <= LARGEST):
            raise Invalid(
                "invalid_iterations",
                f"{self} is no range of iterations: its seed and its numbers lie between 0 and 2^53.",
            )

    @property
    def end(self) -> int:
        return self.first + self.count

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.end))

    def __len__(self) -> int:
        return self.count

    def cut(self, size: int) -> Iterator["Iterations"]:
        """The same iterations in ranges of at most this size, in order."""
        for first in range(self.first, self.end, size):
            yield Iterations(self.seed, first, min(size, self.end - first))
