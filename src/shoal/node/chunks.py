"""A chunk as a node knows it, and how it can end."""

from typing import Any

import msgspec

from shoal.app.iterations import Iterations
from shoal.wire.fleet import HeldChunk


class Computed(msgspec.Struct, frozen=True, tag=True):
    """``result`` is what the reducer of the engine made of its values, as JSON values."""

    result: dict[str, Any]


class NotComputed(msgspec.Struct, frozen=True, tag=True):
    """It cannot be computed on this node: another attempt here would end the same way."""

    code: str
    reason: str


Ending = Computed | NotComputed


def iterations_of(chunk: HeldChunk) -> Iterations:
    return Iterations(chunk.seed, chunk.seed_offset, chunk.iterations)
