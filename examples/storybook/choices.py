"""Choices that look free and are not: the same seed makes the same ones, on every machine, in any order."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

Option = TypeVar("Option")


class Choices:
    """Every choice hashes the seed with its number: nothing global is read or moved on."""

    def __init__(self, *seed: str) -> None:
        self._seed = "\x1f".join(seed).encode()
        self._made = 0

    def pick(self, options: Sequence[Option]) -> Option:
        digest = blake2b(self._seed + b"\x1f%d" % self._made, digest_size=8).digest()
        self._made += 1
        return options[int.from_bytes(digest) % len(options)]

    def deal(self, options: Sequence[Option], count: int) -> list[Option]:
        """``count`` different options, in the order of the draw."""
        left = list(options)
        drawn: list[Option] = []
        for _ in range(min(count, len(left))):
            drawn.append(self.pick(left))
            left.remove(drawn[-1])
        return drawn
