"""Random numbers that belong to an iteration, whoever computes it and together with what.

The format is part of what an engine's version promises, and does not change:

* Block *b* of iteration *i* under the seed *s* is Philox4x64-10 (Salmon, Moraes, Dror, Shaw: Parallel
  random numbers: as easy as 1, 2, 3) of the counter ``(i + 1, b, 0, 0)`` under the key ``(s, 0)``: four
  words of 64 bits.
* The *d*-th word drawn in an iteration is word ``d mod 4`` of its block ``d div 4``.
* ``uniform`` is the upper 53 bits of a word, times 2^-53. ``normal`` is the cosine half of Box and Muller,
  from two words. Each draw takes its words from every iteration, needed or not.

NumPy counts the first part of the counter up, so one call fills a block of all iterations in a range.
"""

import numpy as np
from numpy.typing import NDArray

from shoal.app.iterations import Iterations

Numbers = NDArray[np.float64]
Words = NDArray[np.uint64]

WORDS_PER_BLOCK = 4


class Streams:
    """One stream for each of the iterations; a draw is an array with a number for each of them."""

    def __init__(self, iterations: Iterations) -> None:
        self._iterations = iterations
        self._drawn = 0
        self._block: Words = np.empty((0, WORDS_PER_BLOCK), dtype=np.uint64)

    def words(self) -> Words:
        """64 random bits for each iteration: the next word of its stream."""
        block, place = divmod(self._drawn, WORDS_PER_BLOCK)
        if place == 0:
            self._block = self._filled(block)
        self._drawn += 1
        return self._block[:, place]

    def uniform(self) -> Numbers:
        """From 0 up to, and without, 1."""
        return (self.words() >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def normal(self) -> Numbers:
        """With mean 0 and standard deviation 1."""
        radius = np.sqrt(-2.0 * np.log1p(-self.uniform()))
        turned: Numbers = radius * np.cos(2.0 * np.pi * self.uniform())
        return turned

    def _filled(self, block: int) -> Words:
        # NumPy adds one to the counter before it makes a block of it.
        counter = np.array([self._iterations.first, block, 0, 0], dtype=np.uint64)
        key = np.array([self._iterations.seed, 0], dtype=np.uint64)
        made: Words = np.random.Philox(counter=counter, key=key).random_raw(
            WORDS_PER_BLOCK * self._iterations.count
        )
        return made.reshape(self._iterations.count, WORDS_PER_BLOCK)
