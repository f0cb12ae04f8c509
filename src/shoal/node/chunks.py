"""A chunk as a node knows it, and how it can end."""

from typing import Annotated, Any

import msgspec

from shoal.app.iterations import LARGEST, Iterations

Number = Annotated[int, msgspec.Meta(ge=0, lt=LARGEST)]


class Chunk(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """What the server hands out. ``id`` names the attempt, so the same chunk may come under another id."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    job_id: Annotated[str, msgspec.Meta(max_length=100)]
    engine: Annotated[str, msgspec.Meta(max_length=100)]
    config_hash: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    seed: Number = 0
    seed_offset: Number
    iterations: Annotated[int, msgspec.Meta(ge=1, lt=LARGEST)]

    @property
    def range(self) -> Iterations:
        return Iterations(self.seed, self.seed_offset, self.iterations)


class Computed(msgspec.Struct, frozen=True, tag=True):
    """``result`` is what the reducer of the engine made of its values, as JSON values."""

    result: dict[str, Any]


class NotComputed(msgspec.Struct, frozen=True, tag=True):
    """It cannot be computed on this node: another attempt here would end the same way."""

    code: str
    reason: str


Ending = Computed | NotComputed
